"""Published works: whether they exist, stand, are free to read, and say what a file's references cite them for."""
