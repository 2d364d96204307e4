"""Writing sections of a paper from the library: evidence gathered by an agent, prose with checked citations (S001)."""
