"""Reference lists: what they name, whether it exists and stands, and whether it says what it is cited for."""
