"""Research itself: types, ports, the five stages, modes, evidence and confidence.

No I/O, no vendor, no environment lives here; `adapters` bring the outside, `bots` build and run.
"""
