"""How to ask, in the same words on every platform: each puts in what is typed there, and adds its own markup."""

from __future__ import annotations

from dataclasses import dataclass

from core.model.answer import Verdict
from core.modes import MODES
from core.modes.mode import ASKED
from core.presentation import wording
from core.presentation.render import marks_legend
from core.text.saying import say

HOW_TO_ASK = "How to ask me"
HOW_TO_READ = (
    "Every sentence has its source: ✓ means that the source says so, ◐ in part. How sure an answer is, and why, stands "
    "below it."
)


ASK = (
    "with `{command}`, by mentioning me, or in a direct message. I search, read the pages, and answer with sources; "
    "every sentence is checked against what it cites."
)
GO_ON = "{how}; I keep the context. “improve: …”, “deeper”, “sources”, “again” and “forget” work as words."
PAPERS = "`{command}` talks with this place's papers; its word `help` lists what it knows."


@dataclass(frozen=True)
class Typed:
    """What people type and open on a platform; `reply` is how one goes on below an answer, `options` how to choose."""

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
        (say("Ask"), say(ASK, command=typed.ask)),
        (
            say("Check a message"),
            say("open its menu, {menu}, “{button}”.", menu=typed.menu, button=say(wording.RESEARCH_THIS)),
        ),
        (say("Go on"), say(GO_ON, how=say(typed.reply))),
        (say("Files and addresses"), say("in a question become sources of that question only.")),
        (say("Options"), f"{say(typed.options)}: {', '.join(option.name for option in ASKED)}."),
        (say("Papers"), say(PAPERS, command=typed.library)),
        (say("Sections"), say("`{command}` writes a section of a paper from them.", command=typed.section)),
        (say("Marks"), "; ".join(f"{mark} {words}" for mark, words in marks_legend(_SHOWN).items()) + "."),
        (
            say("Delete"),
            say("your question and I forget it. `{command}` lists what you asked.", command=typed.history),
        ),
        (say("Settings"), say("`{command}`, for admins.", command=typed.settings)),
    )


def mode_entries() -> tuple[tuple[str, str], ...]:
    """Every mode that can be chosen, and what it does."""
    return tuple((mode.name, say(mode.description)) for mode in MODES.values())


_SHOWN = (Verdict.SUPPORTED, Verdict.PARTIAL, Verdict.MOVED, Verdict.UNCHECKED)
