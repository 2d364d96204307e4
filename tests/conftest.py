"""For the whole suite: laws are tried on many examples, and never fail for a slow machine."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# No deadline: the machine may be busy. Fewer examples than Hypothesis' 100 keep the default suite under three minutes.
settings.register_profile(
    "gorkd", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("gorkd")
