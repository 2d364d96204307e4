"""How to ask, in the same words on every platform: each puts in what is typed there, and adds its own markup."""

from __future__ import annotations

from dataclasses import dataclass

from core.model.answer import Verdict
from core.modes import MODES
from core.modes.mode import ASKED
from core.presentation import wording
from core.presentation.render import marks_legend

HOW_TO_ASK = "How to ask me"
HOW_TO_READ = (
    "Every sentence has its source: ✓ means that the source says so, ◐ in part. How sure an answer is, and why, stands "
    "below it."
)


@dataclass(frozen=True)
class Typed:
    """What people type and open on a platform. `reply` says how one goes on below an answer, `options` how they are
    given.
    """

    ask: str
    menu: str
    reply: str
    options: str
    history: str
    settings: str
    library: str = "/library"
    section: str = "/section"


def help_entries(typed: Typed) -> tuple[tuple[str, str], ...]:
    """What can be done, each with how: plain text, commands between backticks."""
    return (
        (
            "Ask",
            f"with `{typed.ask}`, by mentioning me, or in a direct message. I search, read the pages, and answer with "
            "sources; every sentence is checked against what it cites.",
        ),
        ("Check a message", f"open its menu, {typed.menu}, “{wording.RESEARCH_THIS}”."),
        (
            "Go on",
            f"{typed.reply}; I keep the context. “improve: …”, “deeper”, “sources”, “again” and “forget” work as "
            "words.",
        ),
        ("Files and addresses", "in a question become sources of that question only."),
        ("Options", f"{typed.options}: {', '.join(option.name for option in ASKED)}."),
        ("Papers", f"`{typed.library}` talks with this place's papers; its word `help` lists what it knows."),
        ("Sections", f"`{typed.section}` writes a section of a paper from them."),
        ("Marks", "; ".join(f"{mark} {words}" for mark, words in marks_legend(_SHOWN).items()) + "."),
        ("Delete", f"your question and I forget it. `{typed.history}` lists what you asked."),
        ("Settings", f"`{typed.settings}`, for admins."),
    )


def mode_entries() -> tuple[tuple[str, str], ...]:
    """Every mode that can be chosen, and what it does."""
    return tuple((mode.name, mode.description) for mode in MODES.values())


_SHOWN = (Verdict.SUPPORTED, Verdict.PARTIAL, Verdict.MOVED, Verdict.UNCHECKED)
