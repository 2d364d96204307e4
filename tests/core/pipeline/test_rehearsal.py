"""What is slow with its first use has been used before the first question comes."""

from __future__ import annotations

import subprocess
import sys

from tests.shared_data import ROOT

# In a process of its own, since here other tests have loaded all of it.
CODE = """
import sys
from core.evidence.rules.vetoes import find_vetoes
from core.pipeline.runner import rehearse
from core.text import language
rehearse()
modules = set(sys.modules)
read = language._load_identifier.cache_info().currsize
find_vetoes("The mill grinds barley by night.", "By day the mill crushes grain; it rests at night.")
language.detect_language("Quelle est la plus haute marée du monde ?")
print(read, sorted(set(sys.modules) - modules))
"""


def test_nothing_is_read_in_after_the_rehearsal():
    """Above all not the model of languages, which took most of the first answer's time."""
    ran = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "1 []"
