"""gorkd's tools for other programs over the Model Context Protocol; imports of the SDK are slow, so import late."""
