"""Does the level agree with a careful person? Forty mixes of sources, verdicts and conflicts, with level and why.

The levels were written from the decisions D22 to D24 alone, before the code was run on any of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from core.evidence.confidence import ConfidenceReport, score_confidence
from core.model.answer import Claim, Confidence, Conflict, ConflictPosition, Evidence, Verdict
from core.model.job import QuestionType
from core.model.source import Source, SourceKind, SourceMetadata

NOW = datetime(2026, 11, 20, tzinfo=UTC)
HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW
QUESTION = "How tall is the Eddystone lighthouse?"
_VERDICTS = {"✓": Verdict.SUPPORTED, "↪": Verdict.MOVED, "½": Verdict.PARTIAL, "?": Verdict.UNCHECKED}
_VERDICTS["✗"] = Verdict.UNSUPPORTED
_SENTENCES = (
    "The Eddystone lighthouse is 49 metres tall.",
    "It was finished in 1882.",
    "Its light is seen for 22 miles.",
    "It is built of granite.",
)
_DETAIL = ("Its keepers left in 1982.", "The stump of the old tower stands beside it.", "A helipad was built on top.")


@dataclass(frozen=True)
class Mix:
    """`sources` are kinds, with `@domain`, `=text` for copies of one text and `~days` of age where they matter.

    A sentence is its mark and the numbers of its sources: `✓ 1 2`. `conflict` is the claim's id, who says what the
    answer says, who says otherwise, and what that is.
    """

    level: Confidence
    why: str
    sources: str
    summary: tuple[str, ...]
    detail: tuple[str, ...] = ()
    conflict: tuple[str, str, str, str, str] | None = None
    unanswered: str = ""
    is_current: bool = False
    is_checked: bool = True
    papers: str = ""  # one title and author of all of them


TALL = ("summary-0", "1 2", "3", "49 m", "51 m")
MIXES = (
    Mix(HIGH, "two makers say it", "official official", ("✓ 1 2",)),
    Mix(HIGH, "a maker and the press say it", "official established_press", ("✓ 1 2",)),
    Mix(HIGH, "press and encyclopedia agree on both", "established_press reference", ("✓ 1 2", "✓ 1 2")),
    Mix(HIGH, "the answer has two sources, what is beside it one each", "official press", ("✓ 1 2", "✓ 1", "✓ 2")),
    Mix(HIGH, "moved is confirmed", "standards reference", ("↪ 1 2",)),
    Mix(HIGH, "a study and another group's preprint", "peer_reviewed preprint", ("✓ 1 2",)),
    Mix(HIGH, "an encyclopedia and a site of somebody else", "reference unknown", ("✓ 1 2",)),
    Mix(HIGH, "more detail takes nothing away", "official press unknown", ("✓ 1 2",), ("✓ 3", "✓ 3", "✓ 3")),
    Mix(HIGH, "nor does detail that nobody confirmed", "official press forum", ("✓ 1 2", "✓ 1"), ("? 3", "½ 3")),
    Mix(HIGH, "two reports of this week", "press~2 press~4", ("✓ 1 2",), is_current=True),
    Mix(HIGH, "a third source that nobody cited says it too", "press unknown reference", ("✓ 1 2 3", "✓ 1")),
    Mix(HIGH, "one's own file and the maker", "local official", ("✓ 1 2",)),
    Mix(HIGH, "the maker and a forum that found the same", "official forum", ("✓ 1 2",)),
    Mix(MEDIUM, "one strong source", "official", ("✓ 1", "✓ 1")),
    Mix(MEDIUM, "one report", "established_press", ("✓ 1",)),
    Mix(MEDIUM, "one's own file", "local", ("✓ 1",)),
    Mix(MEDIUM, "two sites of whom nothing is known", "unknown unknown", ("✓ 1 2",)),
    Mix(MEDIUM, "three forums", "forum forum forum", ("✓ 1 2 3",)),
    Mix(MEDIUM, "many weak ones are still weak", "unknown unknown unknown unknown", ("✓ 1 2 3 4",)),
    Mix(MEDIUM, "one sentence of the summary is not confirmed", "official press", ("✓ 1 2", "? 1")),
    Mix(MEDIUM, "one sentence of the summary holds in part", "official press", ("✓ 1 2", "✓ 1", "½ 2")),
    Mix(MEDIUM, "one owner with two domains", "press@bbc.com press@bbc.co.uk", ("✓ 1 2",)),
    Mix(MEDIUM, "a mirror", "reference@en.wikipedia.org unknown@wikiwand.com", ("✓ 1 2",)),
    Mix(MEDIUM, "one agency's text in two papers", "press=agency press=agency", ("✓ 1 2",)),
    Mix(MEDIUM, "a lone forum against two makers", "official official forum", ("✓ 1 2",), conflict=TALL),
    Mix(MEDIUM, "a lone unknown page against two reports", "press press unknown", ("✓ 1 2",), conflict=TALL),
    Mix(
        MEDIUM,
        "they disagree on a detail that was not asked for",
        "official press reference",
        ("✓ 1 2",),
        ("✓ 1",),
        ("detail-0", "1", "3", "1982", "1981"),
    ),
    Mix(
        MEDIUM,
        "three sources, but the answer itself has one",
        "official press reference",
        ("✓ 1", "✓ 2 3", "✓ 2 3"),
    ),
    Mix(
        MEDIUM,
        "a paper and its preprint",
        "preprint@arxiv.org peer_reviewed@nature.com",
        ("✓ 1 2",),
        papers="Heights of towers at sea measured from above",
    ),
    Mix(MEDIUM, "a report and a forum, where anyone writes", "press forum", ("✓ 1 2",)),
    Mix(LOW, "one page of which nothing is known", "unknown", ("✓ 1",)),
    Mix(LOW, "one forum", "forum", ("✓ 1", "✓ 1")),
    Mix(LOW, "makers disagree on what was asked", "official official official", ("✓ 1 2",), conflict=TALL),
    Mix(LOW, "one against one", "press press", ("✓ 1",), conflict=("summary-0", "1", "2", "49 m", "51 m")),
    Mix(LOW, "it does not say how tall", "official official", ("✓ 1 2",), unanswered="no height is given"),
    Mix(LOW, "nobody confirmed the answer itself", "official press", ("? 1 2", "✓ 1 2")),
    Mix(LOW, "the answer itself holds in part", "official press", ("½ 1 2", "✓ 1 2")),
    Mix(LOW, "only a forum says it, two makers say otherwise", "forum official official", ("✓ 1",),
        conflict=("summary-0", "1", "2 3", "49 m", "51 m")),
    Mix(LOW, "two reports, and the maker says otherwise", "press press official", ("✓ 1 2",), conflict=TALL),
    Mix(LOW, "one report from last year on what is happening", "press~400", ("✓ 1",), is_current=True),
)  # fmt: skip


def rate(mix: Mix) -> ConfidenceReport:
    sources = [_source(number, spec, mix.papers) for number, spec in enumerate(mix.sources.split(), 1)]
    claims = [_claim("summary", place, said, _SENTENCES[place]) for place, said in enumerate(mix.summary)]
    claims += [_claim("detail", place, said, _DETAIL[place]) for place, said in enumerate(mix.detail)]
    return score_confidence(
        claims,
        sources,
        conflicts=[_conflict(mix.conflict, claims)] if mix.conflict else [],
        question_type=QuestionType.CURRENT_EVENT if mix.is_current else QuestionType.FACTUAL,
        now=NOW,
        question=QUESTION,
        unanswered=mix.unanswered,
        is_checked=mix.is_checked,
    )


def disagreements(mixes: Sequence[Mix] = MIXES) -> list[str]:
    """One line for each mix whose level is another than a careful person's."""
    rated = [(mix, rate(mix)) for mix in mixes]
    return [
        f"{mix.level}, because {mix.why}; computed: {report.confidence}: {', '.join(report.reasons)}"
        for mix, report in rated
        if report.confidence is not mix.level
    ]


def print_confidence() -> None:
    """Agreement with the levels of a careful person, and every mix where there is none."""
    wrong = disagreements()
    print(f"{len(MIXES) - len(wrong)} of {len(MIXES)} mixes of sources get the level that a careful person gives")
    print("".join(f"  {line}\n" for line in wrong))


def _source(number: int, spec: str, paper: str) -> Source:
    spec, _, age = spec.partition("~")
    spec, _, copied = spec.partition("=")
    name, _, domain = spec.partition("@")
    kind = SourceKind.ESTABLISHED_PRESS if name == "press" else SourceKind(name)
    domain = "" if kind is SourceKind.LOCAL else domain or f"site{number}.example"
    content = " ".join(f"{copied or f'text{number}'}{place}" for place in range(60))
    published = NOW - timedelta(days=int(age)) if age else None
    author = "A. Moore, B. Lee" if paper else None
    return Source(
        f"src_{number}",
        f"https://{domain}/{number}" if domain else f"file:///{number}.md",
        paper or f"Title {number}",
        content,
        hashlib.sha256(content.encode()).hexdigest(),
        NOW,
        SourceMetadata(domain, 60, "fake", kind, published, author),
    )


def _claim(section: str, place: int, said: str, text: str) -> Claim:
    mark, *numbers = said.split()
    verdict = _VERDICTS[mark]
    evidence = tuple(Evidence(f"src_{number}", f"Words {number}.", 0, 8, verdict) for number in numbers)
    return Claim(f"{section}-{place}", text, verdict, evidence)


def _conflict(told: tuple[str, str, str, str, str], claims: Sequence[Claim]) -> Conflict:
    claim_id, ours, theirs, first, second = told
    text = next(claim.text for claim in claims if claim.id == claim_id)
    positions = [
        ConflictPosition(said, f"src_{number}", "", text)
        for said, numbers in ((first, ours), (second, theirs))
        for number in numbers.split()
    ]
    return Conflict(text, tuple(positions), (claim_id,))
