"""Every mode in one table, from which all interfaces take their choices. A new mode is one file and one line."""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import InvalidQuery
from core.modes import check, deep, library, quick, section
from core.modes.mode import Mode

MODES: dict[str, Mode] = {mode.name: mode for mode in (quick.MODE, deep.MODE, library.MODE, section.MODE)}

# Not to be chosen: each is what a button or a command of its own does.
_ACTIONS: dict[str, Mode] = {check.MODE.name: check.MODE}


def find_mode(name: str) -> Mode:
    """Raises `InvalidQuery` that names the known modes."""
    mode = MODES.get(name) or _ACTIONS.get(name)
    if mode is None:
        known = ", ".join(MODES)
        raise InvalidQuery(f'There is no mode "{name[:40]}"; known modes: {known}.', rule="unknown-mode")
    return mode


def can_be_steered(modes: Sequence[str]) -> bool:
    """Whether a job of these modes hears what is said to it while it runs."""
    return any(MODES[name].is_steerable for name in modes if name in MODES)
