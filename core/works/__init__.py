"""What is known of published works: whether they exist, whether they stand, where they are free to read; and of the
references of a file, whether they say what they are cited for.
"""
