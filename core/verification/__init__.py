"""Checking that a source says what it is cited for: rules, cheapest first, and a small calibrated model.

`check.py` judges a claim against a passage, `sources.py` against whole sources, and
`model_check.py` asks a language model about what the rules leave open. Each rule is a file of its own.
"""
