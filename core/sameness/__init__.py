"""Whether two questions ask for the same: rules that can only say no.

`guard.py` decides; `question.py` reads a question so that ways of asking fall away and what is asked stays.
"""
