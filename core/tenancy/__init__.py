"""Who may ask how much, what a workspace has set, and what is forgotten."""
