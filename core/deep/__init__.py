"""Iterative research: a checklist, rounds of search and reading, facts bound to passages, and one answer (S002)."""
