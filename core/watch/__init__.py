"""Watching questions: asked again at times, and told of only when the answer means something else."""
