"""Data of the project that is made from published sources: `make tables` writes it anew."""
