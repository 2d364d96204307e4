"""Any answer whatsoever, for laws like "never longer than the platform allows"."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from core.model.answer import (
    Citation,
    Claim,
    Confidence,
    Conflict,
    ConflictPosition,
    Evidence,
    JobResult,
    RemovedSentence,
    ResearchAnswer,
    SynthesisMetadata,
    Verdict,
)
from core.model.job import JobError, JobStatus, ResearchJob
from core.model.source import Source
from tests.golden import samples

_PIECES = [
    "@everyone ",
    "<@123456789012345678>",
    "<!channel>",
    "[x](https://evil.test)",
    "https://evil.test/?q=1 ",
    "discord.gg/abc",
    "&amp;",
    "```",
    "||",
    "\n# ",
    "[1]",
    "[1, 2]",
    "x" * 700,
    "word " * 300,
    "A sentence ends here. ",
    "e" + "\u0301" * 80,
    "👩‍👩‍👧‍👦" * 40,
    "\u202e",
    "\x1b[31m",
    "漢字。" * 200,
    "<" * 900,
    "*" * 900,
    "",
]
texts = st.one_of(
    st.text(st.characters(), max_size=40),
    st.lists(st.sampled_from(_PIECES), max_size=8).map("".join),
)
_urls = st.one_of(texts, texts.map(lambda text: f"https://ok.test/{text}"), texts.map(lambda text: f"http://{text}/"))
_ids = st.integers(1, 12).map(lambda number: f"src_{number}")
_verdicts = st.sampled_from(Verdict)


@st.composite
def _sources(draw: st.DrawFn) -> list[Source]:
    return [
        samples.source(number, url=draw(_urls), title=draw(texts), domain=draw(texts))
        for number in range(1, draw(st.integers(0, 6)) * 4 + 1)
    ]


_evidence = st.builds(Evidence, _ids, texts, st.just(0), st.just(1), _verdicts)
_answers = st.builds(
    ResearchAnswer,
    summary=texts,
    detail=texts,
    confidence=st.sampled_from(Confidence),
    confidence_reasons=st.lists(texts, max_size=5).map(tuple),
    citations=st.lists(st.builds(Citation, texts, _ids, st.none() | texts, _verdicts), max_size=12).map(tuple),
    claims=st.lists(
        st.builds(Claim, st.just("summary-0"), texts, _verdicts, st.lists(_evidence, max_size=2).map(tuple)), max_size=4
    ).map(tuple),
    limitations=st.lists(texts, max_size=8).map(tuple),
    conflicts=st.lists(
        st.builds(
            Conflict, texts, st.lists(st.builds(ConflictPosition, texts, _ids, texts, texts), max_size=3).map(tuple)
        ),
        max_size=3,
    ).map(tuple),
    removed=st.lists(st.builds(RemovedSentence, texts, texts), max_size=3).map(tuple),
    notice=texts,
    stopped_because=texts,
    metadata=st.builds(SynthesisMetadata, cost_usd=st.none() | st.floats(0, 9)),
)


@st.composite
def outcomes(draw: st.DrawFn) -> tuple[ResearchJob, JobResult | None, list[Source]]:
    """A job that ended, however it ended, with its result and sources."""
    status = draw(st.sampled_from([JobStatus.COMPLETED, JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED]))
    error = JobError("LLM_FAILED", draw(texts)) if status is JobStatus.FAILED else None
    request = replace(samples.COMPLETED.request, query=draw(texts))
    result = JobResult(draw(st.none() | _answers), duration_s=draw(st.floats(0, 600)), queries=(draw(texts),))
    return replace(samples.COMPLETED, status=status, error=error, request=request), result, draw(_sources())
