"""Evaluations that people run on questions of their own: what an answer must hold, runs, comparisons, calibration."""
