"""Values, and the ports between research and the outside: imports nothing else of the core but core/text."""
