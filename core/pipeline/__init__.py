"""The way of a job: the only door inward, the spine, and what every stage is handed."""
