"""Text as such: its language and its numbers. Nothing here knows of sources or answers."""
