"""Ideas, implementations and reports as Slack blocks: lists with their sources, code as preformatted text. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adapters.chat.code import about, excerpt, rest_of
from adapters.chat.fitting import fit
from adapters.chat.slack.blocks import SECTION_LIMIT, Block, context, escaped, plain, preformatted, section
from adapters.chat.slack.places import place_of
from core.answer import ResearchAnswer
from core.findings.results import TITLES
from core.findings.viewing import MAX_CODE_CHARS, FindingsView, FoundItem, OtherAnswer, fits_in_chat
from core.render import marked_text, printable
from core.source import Source
from core.wording import counted

ITEM_ROOM = 600
ABOUT_ROOM = 400
SHOWN_ITEMS = 10  # of a mode: three blocks each, and a message has fifty
LONG_CODE = 400  # of code that comes as a file, its beginning


def finding_blocks(view: FindingsView, answer: ResearchAnswer, sources: Sequence[Source]) -> list[Block]:
    """Everything that was found, mode by mode in the order asked for; at most 40 blocks."""
    by_id = {source.id: source for source in sources}
    room = SHOWN_ITEMS // max(1, sum(bool(view.found(mode)) for mode in view.findings.modes))
    blocks = [block for other in view.before for block in _other(other, answer)]
    for mode in view.findings.modes:
        if mode == "freeform":
            blocks += _report(view, answer)
            continue
        found = view.found(mode)
        blocks += [section(f"*{TITLES[mode]}*")] if found else []
        for item in found[:room]:
            blocks += _item(item, view, answer, by_id)
        if len(found) > room:
            blocks.append(context(f"and {counted(len(found) - room, 'more result')} on the page"))
    blocks += [block for other in view.after for block in _other(other, answer)]
    if view.unverified:
        blocks.append(context(f"Not verified, not shown: {counted(len(view.unverified), 'result')}"))
    return blocks


def _other(other: OtherAnswer, answer: ResearchAnswer) -> list[Block]:
    """What a mode of another kind answered."""
    text = printable(marked_text(other.summary, answer.claims)).strip() or "…"
    return [section(f"*{plain(other.title, 80)}*"), section(fit(text, SECTION_LIMIT, escaped))]


def _item(item: FoundItem, view: FindingsView, answer: ResearchAnswer, sources: Mapping[str, Source]) -> list[Block]:
    """`*1.* What it says [1]✓`, its code, and the place with what checking found."""
    source = sources.get(item.source_id)
    said = plain(marked_text(item.text, answer.claims), ITEM_ROOM)
    said = said or (f"Code of {plain(source.title, 100)}" if source else "…")
    blocks = [section(f"*{item.number}.* {said}")]
    rest = ""
    if item.code:
        shown = excerpt(item.code, MAX_CODE_CHARS if fits_in_chat(item.code) else LONG_CODE)
        blocks.append(preformatted(shown.text))
        rest = rest_of(item, shown.left_out, view)
    place = place_of(source) if source else ""
    said_of_it = [plain(rest, ABOUT_ROOM), place, plain(about(item), ABOUT_ROOM)]
    blocks.append(context(" · ".join(filter(None, said_of_it)) or "…"))
    return blocks


def _report(view: FindingsView, answer: ResearchAnswer) -> list[Block]:
    """The abstract, and what else is on the page."""
    texts = dict(view.sections)
    if not texts:
        return []
    abstract = fit(printable(marked_text(texts.get("Abstract", ""), answer.claims)).strip(), SECTION_LIMIT, escaped)
    others = " · ".join(plain(title, 40) for title in texts if title not in ("", "Abstract"))
    return [
        section(f"*{TITLES['freeform']}*"),
        *([section(abstract)] if abstract else []),
        *([context(f"On the page: {others}")] if others else []),
    ]
