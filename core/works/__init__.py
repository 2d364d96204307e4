"""What is known of published works: whether they exist, whether they stand, where they are free to read."""
