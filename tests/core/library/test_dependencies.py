"""What the library stands on."""

from __future__ import annotations

import subprocess
import sys

from tests.shared_data import ROOT

LOADED = """
import sys
import adapters.store.jobs, core.modes.quick, core.embedding
before = set(sys.modules)
import adapters.store.library, core.modes.library, core.library.session
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(loaded - {name.partition(".")[0] for name in before} - set(sys.stdlib_module_names)))
print("core.library.funnel" in before, "adapters.store.library" in before)
"""


def test_a_library_needs_nothing_that_a_question_to_the_web_does_not() -> None:
    """S000-49: no vector store, no framework; a page as a picture is drawn elsewhere, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True)

    third_party, was_loaded = done.stdout.splitlines()

    assert third_party == ""
    assert was_loaded == "False False"
