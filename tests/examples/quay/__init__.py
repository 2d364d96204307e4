"""Quay, a chat of our own invention, and gorkd in it: what a third platform takes, as a checked example.

`server.py` is the chat (rooms, threads, buttons over a JSON HTTP API); the rest is what would stand in
`adapters/chat/quay/`, and `__main__.py` the process that would stand in `bots/`.
"""
