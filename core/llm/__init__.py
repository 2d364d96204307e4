"""Language models: asked in one way, kept for the job, priced, and led through a loop of searches."""
