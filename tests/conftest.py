"""For the whole suite: laws are tried on many examples, and never fail for a slow machine."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Fewer than Hypothesis' 100 keep the default suite under three minutes; CI tries more.
EXAMPLES = 50 if os.environ.get("CI") == "true" else 30

# No deadline: the machine may be busy.
settings.register_profile(
    "gorkd", deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("gorkd")
