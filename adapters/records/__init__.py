"""What is kept: each store once, over sql.py, in SQLite or PostgreSQL; what processes share for a while, in Redis."""
