"""Receipts: one answer with all that it takes to check it elsewhere, later and without us."""
