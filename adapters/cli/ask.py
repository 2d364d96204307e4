"""`gorkd ask`: one question, answered here.

The answer goes to stdout, progress and errors to stderr.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, unquote

import typer
from rich import box
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from adapters.cli.running import Exit, OpenResearcher, follow, print_json, say, say_failure
from adapters.cli.settings import JobId
from core.evidence.citations import MARKS
from core.evidence.structure import RULE, cells
from core.library.paper import PAPER_SCHEME, with_marks
from core.model.answer import Citation, Confidence, Conflict, JobResult, ResearchAnswer
from core.model.errors import InvalidQuery, say_place
from core.model.job import LOCAL, Depth, JobStatus, ResearchJob, ResearchRequest
from core.model.source import Source
from core.modes import DEFAULT_MODE, MODES, check_modes, option_words, read_modes
from core.modes.mode import CONTEXT, DEPTH, FRESH, MODE, ROUNDS, TOP_K
from core.pipeline.conversation import following
from core.pipeline.researcher import Renewal, Researcher
from core.presentation import wording
from core.presentation.card import AnswerCard, answer_card
from core.presentation.render import (
    BEFORE_UNIT,
    BETWEEN_CELLS,
    MARKER,
    cut,
    job_json,
    marked_section,
    marks_legend,
    one_line,
    printable,
)
from core.text.saying import say as said
from core.text.saying import say_again, say_published, speaking, spoken

READ_FIRST_S = 20.0  # of own pages of the web; what is not read then is read before the next question
_AsJson = Annotated[bool, typer.Option("--json", help="Print the job as JSON.")]


async def ask_command(
    open_researcher: OpenResearcher,
    question: Annotated[list[str], typer.Argument(help="The question.", metavar="QUESTION", show_default=False)],
    *,
    mode: Annotated[
        str, typer.Option("--mode", metavar="M[,M]", help=f"{said(MODE.description)}: {', '.join(MODES)}.")
    ] = DEFAULT_MODE,
    depth: Annotated[Depth, typer.Option("--depth", help=f"{option_words(DEPTH)}.")] = DEPTH.default,
    top_k: Annotated[
        int, typer.Option("--top-k", metavar="N", min=TOP_K.least, max=TOP_K.most, help=f"{option_words(TOP_K)}.")
    ] = TOP_K.default,
    max_iterations: Annotated[
        int,
        typer.Option(
            "--max-iterations", metavar="N", min=ROUNDS.least, max=ROUNDS.most, help=f"{option_words(ROUNDS)}."
        ),
    ] = ROUNDS.default,
    context: Annotated[str, typer.Option("--context", metavar="TEXT", help=f"{said(CONTEXT.description)}.")] = "",
    follow_up: Annotated[
        str, typer.Option("--follow", metavar="JOB", help="The job that the question follows and may lean on.")
    ] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help=f"{said(FRESH.description)}.")] = False,
    as_json: _AsJson = False,
) -> Exit:
    """Raises `InvalidQuery` for an unknown mode and for bytes that are no text."""
    query, modes = " ".join(question), read_modes(mode)
    check_modes(modes)
    if any("\ud800" <= char <= "\udfff" for char in query + context):  # what Python makes of bytes that are not UTF-8
        raise InvalidQuery(said("The question is not readable text (invalid UTF-8)."), rule="not-text")
    request = ResearchRequest(
        query, modes=modes, depth=depth, top_k=top_k, context=context, max_iterations=max_iterations, is_fresh=fresh
    )
    async with open_researcher() as researcher:
        if follow_up.strip():
            request = following(await researcher.job(follow_up.strip()), request)
        await researcher.read_first(request, READ_FIRST_S, say)
        return await _answer(researcher, await researcher.submit(request), as_json=as_json)


async def retry_command(open_researcher: OpenResearcher, job: JobId, *, as_json: _AsJson = False) -> Exit:
    return await _renew(open_researcher, "retry", job, as_json=as_json)


async def refresh_command(open_researcher: OpenResearcher, job: JobId, *, as_json: _AsJson = False) -> Exit:
    return await _renew(open_researcher, "refresh", job, as_json=as_json)


async def improve_command(
    open_researcher: OpenResearcher,
    job: JobId,
    wish: Annotated[
        list[str] | None, typer.Argument(help="What should be better?", metavar="WISH", show_default=False)
    ] = None,
    *,
    as_json: _AsJson = False,
) -> Exit:
    return await _renew(open_researcher, "improve", job, " ".join(wish or ()), as_json=as_json)


async def _renew(open_researcher: OpenResearcher, how: Renewal, job_id: str, wish: str = "", *, as_json: bool) -> Exit:
    async with open_researcher() as researcher:
        await researcher.read_first(ResearchRequest((await researcher.job(job_id.strip())).query), READ_FIRST_S, say)
        job = await researcher.renewed(how, job_id.strip(), tenant=LOCAL.tenant, feedback=wish)
        return await _answer(researcher, job, as_json=as_json)


async def _answer(researcher: Researcher, job: ResearchJob, *, as_json: bool) -> Exit:
    """Follow the job to its end, and print what became of it."""
    with speaking(job.request.language, job.intent.language, spoken()):
        job = await follow(researcher, job.id)
        result, sources = await researcher.result(job.id), await researcher.sources(job.id)
        if as_json:
            print_json(job_json(job, result, sources))
        return _conclude(job, result, sources, is_printed=as_json)


def _conclude(job: ResearchJob, result: JobResult | None, sources: list[Source], *, is_printed: bool) -> Exit:
    """Show what became of the job, unless stdout already has it, and say how to exit."""
    if job.status is not JobStatus.COMPLETED or result is None or result.answer is None:
        if sources and not is_printed:
            print_sources(Console(stderr=True, highlight=False), said(wording.FOUND_SO_FAR), sources)
        return say_failure(job)
    if not is_printed:
        print_answer(Console(highlight=False), job, result, result.answer, sources)
    is_insufficient = result.answer.confidence is Confidence.INSUFFICIENT
    return Exit.INSUFFICIENT if is_insufficient else Exit.ANSWERED


# The answer on paper: readable at 80 columns, on a terminal and when piped


MAX_COLUMNS = 96  # longer lines are hard to follow
QUOTE_CHARS = 220  # enough to recognise the passage
_MARK_STYLES = {"✓": "green", "◐": "yellow", "↪": "cyan"}


def print_answer(
    console: Console, job: ResearchJob, result: JobResult, answer: ResearchAnswer, sources: Sequence[Source]
) -> None:
    """The whole of `result.answer`, best part first."""
    paper, card = _Paper(console), answer_card(job, result, sources)
    paper.write(Text(one_line(job.query), style="bold"))
    _print_notices(paper, card)
    library = _library_text(result)
    for section in (library,) if library else (marked_section(answer, "summary"), card.part("detail").text):
        _print_prose(paper, section)
    _print_standing(paper, answer)
    if not library:
        _print_cited(paper, answer, card.cited)
    _print_rest(paper, card, job, result, answer)


def print_standing(console: Console, job: ResearchJob, result: JobResult, sources: Sequence[Source]) -> None:
    """What is to be known of an answer that stands above: how sure it is, what was left out, who wrote it."""
    if result.answer is not None:
        paper, card = _Paper(console), answer_card(job, result, sources)
        _print_notices(paper, card)
        _print_standing(paper, result.answer)
        _print_rest(paper, card, job, result, result.answer)


def _library_text(result: JobResult) -> str:
    """The answer of a library with its `[PAPER_ID, page N]✓` and its references; "" for any other answer."""
    view = result.details.get("query_result")
    return with_marks(str(view.get("content") or ""), result) if isinstance(view, dict) else ""


def _print_notices(paper: _Paper, card: AnswerCard) -> None:
    notices = [line for name in ("earlier", "notice") if (line := card.part(name).line)]
    if notices:
        paper.gap()
    for notice in notices:
        paper.write(Text(one_line(notice), style="italic"))


def _print_standing(paper: _Paper, answer: ResearchAnswer) -> None:
    if answer.claims or answer.stopped_because:
        paper.gap()
    if answer.claims:  # a refusal has said it
        sentence = one_line(wording.confidence_sentence(answer))
        paper.write(Text.assemble((f"{said(wording.CONFIDENCE)}  ", "bold"), sentence))
    if answer.stopped_because:
        paper.write(Text(said("Ended early: {why}", why=one_line(say_again(answer.stopped_because))), style="dim"))


def _print_rest(paper: _Paper, card: AnswerCard, job: ResearchJob, result: JobResult, answer: ResearchAnswer) -> None:
    for conflict in answer.conflicts:
        _print_conflict(paper, conflict, {source.id: source for source in card.sources})
    _print_list(paper, said(wording.REMOVED_HEADING), wording.removed_lines(answer))
    _print_list(paper, said(wording.LIMITATIONS), card.limitations)
    _print_list(paper, said("Read, not cited"), [_label(source) for source in card.uncited])
    _print_foot(paper, job, result, card)
    _print_legend(paper, answer, _library_text(result))


def print_sources(console: Console, heading: str, sources: Sequence[Source]) -> None:
    """Titles and addresses under a heading."""
    paper = _Paper(console)
    paper.heading(heading)
    for source in sources:
        _print_source(paper, source, quotes=())


class _Paper:
    """Wraps by itself, so that a pipe gets no trailing blanks and an address is never broken."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.columns = max(min(console.width, MAX_COLUMNS), 30)

    def gap(self) -> None:
        self.console.print()

    def heading(self, words: str) -> None:
        self.gap()
        self.write(Text(words, style="bold"))

    def write(self, text: Text, *, first: str = "", rest: str = "") -> None:
        """`first` stands before the first line, `rest` before the others."""
        text.plain = _NO_LINE_END.sub(_KEPT, text.plain)
        for number, line in enumerate(text.wrap(self.console, self.columns - max(len(first), len(rest)))):
            line.rstrip()
            line.plain = line.plain.replace(_KEPT, " ")
            self.write_unbroken(Text(rest if number else first) + line)

    def write_unbroken(self, text: Text) -> None:
        self.console.print(text, soft_wrap=True)


def _print_prose(paper: _Paper, prose: str) -> None:
    """Paragraphs and list items, wrapped; marks in colour."""
    is_code = False
    for paragraph in printable(prose).strip().split("\n\n"):
        if paragraph.strip():
            paper.gap()
        for line in paragraph.splitlines():
            body = line.lstrip()
            indent = " " * (len(line) - len(body))
            is_fence = body.startswith(("```", "~~~"))
            is_code ^= is_fence
            if is_code and not is_fence:
                paper.write_unbroken(Text(f"    {line}"))
            if is_code or is_fence:
                continue
            if body.startswith("|"):
                if RULE.fullmatch(body):
                    continue
                body = " · ".join(cells(body)).rstrip("· ")
            sign = _SIGN.match(body)
            hanging = "> " if body.startswith("> ") else " " * len(sign[0]) if sign else ""
            paper.write(_coloured(indent + body), rest=(indent + hanging)[:20])


def _coloured(line: str) -> Text:
    text = _rendered(line)
    text.highlight_regex(r"\[\d[\d, ]*\]", "cyan")
    for mark in MARKS.values():
        text.highlight_regex(rf"(?<=\]){re.escape(mark)}", _MARK_STYLES.get(mark, ""))
    return text


_KEPT = "\ue000"  # private use: a line is parted at every white space
_NO_LINE_END = re.compile(rf"{BEFORE_UNIT}| (?=\[\d)")  # nor before a citation, which is read as the next sentence's
_SIGN = re.compile(r"(?:[-*•]|\d{1,3}[.)]) ")  # of a list's item, whose other lines stand below its words
_MARKUP = re.compile(
    r"\*\*(?P<bold>\S(?:.*?\S)?)\*\*|(?<![\w*])\*(?P<italic>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"
    rf"|(?P<fence>`+)(?P<code>.+?)(?P=fence)|(?P<bar>{BETWEEN_CELLS})"
)


_HEADING = re.compile(r"#{1,6} +(?=\S)")


def _rendered(line: str) -> Text:
    """A line without the signs of its Markdown; a table's bars become dots."""
    if heading := _HEADING.match(line):
        return Text(line[heading.end() :], style="bold")
    text, at = Text(), 0
    for found in _MARKUP.finditer(line):
        text.append(line[at : found.start()])
        shown = found["bold"] or found["code"]
        text.append(shown or found["italic"] or "·", style="bold" if shown else "italic" if found["italic"] else "")
        at = found.end()
    return text.append(line[at:])


def _print_cited(paper: _Paper, answer: ResearchAnswer, sources: Sequence[Source]) -> None:
    if not sources:
        return
    paper.heading(said(wording.SOURCES))
    shown = _letters(f"{answer.summary} {answer.detail}")
    for source in sources:
        citations = [citation for citation in answer.citations if citation.source_id == source.id and citation.quote]
        quotes = {(one_line(citation.quote or ""), _where_in(source, citation)) for citation in citations[:1]}
        _print_source(paper, source, quotes=[one for one in quotes if _letters(one[0]) not in shown])


def _where_in(source: Source, citation: Citation) -> str:
    if citation.page:
        return ", " + said("page {page}", page=citation.page)
    section = source.section_at(citation.start) if citation.start is not None else ""
    return ", " + said("in “{section}”", section=one_line(section)) if section else ""


def _letters(text: str) -> str:
    """What two texts have in common where one carries markers, marks and markup."""
    return "".join(filter(str.isalnum, MARKER.sub("", text).casefold()))


def _print_source(paper: _Paper, source: Source, *, quotes: Sequence[tuple[str, str]]) -> None:
    """`quotes` are words and where they stand."""
    number = f"{source.number:>3}  "
    margin = " " * len(number)
    link = _link(source.url)
    paper.write(Text(_label(source), style=Style(link=link) if link else ""), first=number, rest=margin)
    remarks = [] if source.url.startswith("file:") else [say_place(source.metadata.provider)]
    if source.metadata.published_at:
        remarks.append(say_published(source.metadata.published_at))
    remarks += wording.caveats(source)
    where = (_where(source.url), Style(dim=True, link=link) if link else "dim")
    paper.write_unbroken(Text.assemble(margin, where, (f"  {one_line(' · '.join(remarks))}".rstrip(), "dim")))
    for words, where_in in quotes:
        quote = Text.assemble("“", _rendered(cut(words, QUOTE_CHARS)), f"”{where_in}", style="italic")
        paper.write(quote, first=margin, rest=margin)


def _print_conflict(paper: _Paper, conflict: Conflict, sources: dict[str, Source]) -> None:
    paper.heading(said("Sources disagree on: {subject}", subject=one_line(conflict.subject)))
    table = Table(box=box.SIMPLE_HEAD, width=paper.columns, pad_edge=False, header_style="dim")
    table.add_column(said("Position"), ratio=3, overflow="fold")
    table.add_column(said("Source"), max_width=24, no_wrap=True, overflow="ellipsis")
    if is_dated := any(side.date for side in conflict.positions):
        table.add_column(said("Date"), no_wrap=True)
    table.add_column(said("Quote"), ratio=4, overflow="fold")
    for side in conflict.positions:
        source = sources.get(side.source_id)
        name = f"[{source.number}] {source.metadata.domain or _where(source.url)}" if source else side.source_id
        date = (side.date,) if is_dated else ()
        cells = (side.position, name, *date, f"“{cut(one_line(side.quote), QUOTE_CHARS)}”")
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    paper.console.print(table)


def _print_list(paper: _Paper, heading: str, entries: Sequence[str]) -> None:
    if entries:
        paper.heading(heading)
    for entry in entries:
        paper.write(Text(one_line(entry)), first="  - ", rest="    ")


def _print_foot(paper: _Paper, job: ResearchJob, result: JobResult, card: AnswerCard) -> None:
    paper.gap()
    if card.offers:
        offer = card.part("offer").text
        offer = offer[: offer.rfind(". ") + 1]  # without its question: there is no button here
        paper.write(Text(f"{offer} {said('Ask again with --mode deep.')}"))
        paper.gap()
    if searched := wording.searched_beside(result):
        paper.write(Text(said("Searched for {queries}", queries=one_line(searched)), style="dim"))
    paper.write(Text(f"{card.footer} · {job.id}", style="dim"))


def _print_legend(paper: _Paper, answer: ResearchAnswer, library: str) -> None:
    """The marks that are shown: an answer of the library may keep fewer."""
    verdicts = {evidence.verdict for claim in answer.claims for evidence in claim.evidence}
    legend = marks_legend(verdicts).items()
    meanings = [f"{mark} {words}" for mark, words in legend if not library or mark in library]
    if meanings:
        paper.write(Text(said("Citations: {marks}", marks=" · ".join(meanings)), style="dim"))


def _label(source: Source) -> str:
    """`nejm.org – Lecanemab in Early Alzheimer's Disease`; the domain is the true one."""
    name = one_line(source.title) or _where(source.url)
    domain = one_line(source.metadata.domain)
    return f"{domain} – {name}" if domain else name


def _where(url: str) -> str:
    """The address as a person reads it: a file relative to the working folder, with its heading."""
    if not url.startswith("file://"):
        return one_line(url.removeprefix(PAPER_SCHEME))
    address, _, fragment = url.removeprefix("file://").partition("#")
    path = Path(unquote(address))
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    heading = unquote(fragment)
    return one_line(f"{path} § {heading}" if heading else str(path))


def _link(url: str) -> str:
    """What a terminal may open on a click, or "": web addresses and files, every odd character encoded."""
    if not url.startswith(("https://", "http://", "file://")):
        return ""
    return quote(one_line(url), safe="%/:=&?~#+!$,;'@()*[]")
