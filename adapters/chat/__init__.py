"""Chats: desk.py decides what a word or a button means, live.py keeps the message; discord/ and slack/ translate."""
