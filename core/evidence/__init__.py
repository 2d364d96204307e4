"""What holds an answer up: passages, the judge and its vetoes, citations, conflicts, confidence."""
