"""What each workspace or guild decides for itself: what can be set, and who has changed it."""
