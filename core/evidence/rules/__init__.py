"""What rules may say against a claim: its words beside those of its source, and vetoes on where they differ."""
