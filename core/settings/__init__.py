"""What each workspace or guild decides for itself: what can be set, who changed it, and what it means for a question."""
