"""The modals of the library: which command with which paper, and what is to be better. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from adapters.chat.slack.blocks import LABEL_LIMIT, Block, entry, label, modal, text_input
from core import wording
from core.library.paper import Paper
from core.library.states import COMMANDS

ASK, WISH = "library_ask", "library_wish"  # callback ids
COMMAND, ARGUMENT, PAPER = "library_command", "library_argument", "library_paper"
ADD = "add"
OPTIONS_LIMIT = 100  # of a select
OPTION_VALUE_LIMIT = 150
ARGUMENT_LIMIT = 1000
OF_A_PAPER = tuple(
    name for name, rule in COMMANDS.items() if rule.takes_paper and name != "summarize"
)  # of the library
DOES = {ADD: "add a paper by arXiv id, DOI or address", **{name: rule.does for name, rule in COMMANDS.items()}}


@dataclass(frozen=True)
class Asked:
    """Where a modal was opened, kept in it: a submission does not say. `thread` is "" for the place's own talk, `about`
    the tag of what a button stood under.
    """

    channel: str
    thread_ts: str = ""
    thread: str = ""
    response_url: str = ""
    about: str = ""

    @property
    def metadata(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, view: Mapping[str, Any]) -> Asked:
        kept = json.loads(str(view.get("private_metadata") or "{}"))
        return cls(**{name: str(kept.get(name) or "") for name in cls.__dataclass_fields__})


def ask_modal(asked: Asked) -> Block:
    """Any command, with a paper of the library or with words."""
    options: list[Block] = [_option(f"{name}: {does}", name) for name, does in DOES.items()]
    research = next(option for option in options if option["value"] == "research")
    command: Block = {"type": "static_select", "options": [*options], "initial_option": research}
    words = text_input(ARGUMENT_LIMIT, "A question, feedback, an arXiv id, or page 3", is_long=False)
    paper: Block = {"type": "external_select", "min_query_length": 0}
    paper["placeholder"] = label("Find by id or title", 150)
    blocks = [
        entry(COMMAND, "What to do", command),
        entry(ARGUMENT, "Words", words, is_optional=True),
        entry(PAPER, f"Paper (for {', '.join(OF_A_PAPER[:2])} and the like)", paper, is_optional=True),
    ]
    return modal(ASK, "Paper library", blocks, submit="Go", metadata=asked.metadata)


def wish_modal(asked: Asked) -> Block:
    """What `improve` is to mind."""
    field = entry(ARGUMENT, wording.IMPROVE_LABEL, text_input(ARGUMENT_LIMIT, wording.IMPROVE_HINT))
    return modal(WISH, wording.IMPROVE_TITLE, [field], submit=wording.IMPROVE, metadata=asked.metadata)


def said_in_modal(view: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """What was said, as one would type it; and what is missing by block id, as Slack shows it beside the field."""
    words = _given(view, ARGUMENT)
    if view.get("callback_id") == WISH:
        return f"improve {words}".strip(), {}
    command, paper = _given(view, COMMAND), _given(view, PAPER)
    takes_paper = command in OF_A_PAPER
    argument = f"{paper} {words}".strip() if takes_paper else words
    rule = COMMANDS.get(command)
    needs = command == ADD or (rule is not None and bool(rule.argument) and rule.needs_argument)
    if needs and not argument:
        return "", ({PAPER: "Pick a paper, or write its number above."} if takes_paper else {ARGUMENT: "Say what."})
    return f"{command} {argument}".strip(), {}


def paper_options(papers: Sequence[Paper], wanted: str) -> list[Block]:
    """Papers whose id or title has `wanted` in it; those whose id Slack cannot take are left out."""
    wanted = wanted.casefold().strip()
    fitting = [paper for paper in papers if wanted in f"{paper.id} {paper.title}".casefold()]
    kept = [paper for paper in fitting if len(paper.id) <= OPTION_VALUE_LIMIT]
    return [_option(f"{paper.id} {paper.title}", paper.id) for paper in kept[:OPTIONS_LIMIT]]


def _given(view: Mapping[str, Any], field: str) -> str:
    """A field's value, "" where nothing was given."""
    values = (view.get("state") or {}).get("values") or {}
    given: Mapping[str, Any] = (values.get(field) or {}).get(field) or {}
    return str((given.get("selected_option") or {}).get("value") or given.get("value") or "").strip()


def _option(text: str, value: str) -> Block:
    return {"text": label(text, LABEL_LIMIT), "value": value}
