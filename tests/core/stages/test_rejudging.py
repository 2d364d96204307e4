"""What leans on a cut sentence: what becomes of it, and how many calls of the judge a reader waits for in turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from core.evidence.grounding import Grounder
from core.evidence.judge import AnswerRuling, Hear, Judgement, Judging, Pair, Ruling, Rulings, unheard
from core.evidence.structure import Judged, before_of
from core.model.answer import Verdict
from core.model.source import Source
from core.pipeline.limits import ComputingTurns, Nearness
from core.pipeline.work import Progress
from core.stages.rejudging import settle
from core.stages.writing import Writing
from core.text.sentences import split_sentences
from tests.fakes import make_deps, make_job, make_source

SOURCES = [
    make_source(1, "The wide strait between the towns freezes in most winters, as harbour masters have noted."),
    make_source(
        2, "Hart, a smith, went over the strait, founded a school for girls, wrote six books, and was buried poor."
    ),
]
QUESTION = "Who was the smith of the strait?"
STRAIT = "The strait between the towns is frozen in most winters [1]."
SMITH = "Hart was a smith of the strait who lived in a palace [2]."
CROSSED, SCHOOL, BOOKS = (
    "He also crossed the strait [2].",
    "He also founded a girls' school [2].",
    "He also wrote a total of six books [2].",
)
NILS = "Nils Hart was a smith who lived in a palace [2]."
OF_HART = ("He crossed the strait in 1849 [2].", "He founded a school for girls [2].", "He wrote six books [2].")
CHAIN = (STRAIT, SMITH, CROSSED, SCHOOL, BOOKS)
TURNS_UNTIL_QUIET = 60  # of the loop; nothing here waits for a thread or a clock


class AtOnce(ComputingTurns):
    """Computes where it stands, so that a quiet loop is one that waits for the judge alone."""

    async def take(self, work: Callable, *args: object, nearness: Nearness = Nearness.LATER) -> object:  # type: ignore[type-arg]
        return work(*args)


Knows = Callable[[Pair], bool]


def unless_alone(*cut: str) -> Knows:
    """Nothing that was `cut`, nor what leans on somebody whom nobody names before it."""
    return lambda pair: not _says(pair, *cut) and ("palace" in pair.before or not pair.claim.startswith("He "))


def _says(pair: Pair, *sentences: str) -> bool:
    return any(pair.claim.rstrip(".") == sentence[: sentence.index(" [")] for sentence in sentences)


@dataclass
class InRounds:
    """A judge whose calls are all answered together once nothing else goes on; `rounds` has the pairs of each time."""

    knows: Knows
    rounds: list[list[Pair]] = field(default_factory=list)
    _held: list[tuple[Sequence[Pair], asyncio.Event]] = field(default_factory=list)

    async def judge(self, pairs: Sequence[Pair], *, timeout_s: float, hear: Hear = unheard) -> Rulings:
        self._held.append((pairs, answered := asyncio.Event()))
        await answered.wait()
        word = {True: Judgement(Ruling.SUPPORTED), False: Judgement(Ruling.UNSUPPORTED, "not there")}
        return Rulings(tuple(word[self.knows(pair)] for pair in pairs))

    async def judge_answer(self, question: str, text: str, *, timeout_s: float, hear: Hear = unheard) -> AnswerRuling:
        return AnswerRuling(True)

    async def until(self, done: asyncio.Task[list[Judged]]) -> list[Judged]:
        while not done.done():
            while not (self._held or done.done()):  # noqa: ASYNC110  # nothing tells of it
                await asyncio.sleep(0)
            for _ in range(TURNS_UNTIL_QUIET):
                await asyncio.sleep(0)
            held, self._held = self._held, []
            if held:
                self.rounds.append([pair for pairs, _ in held for pair in pairs])
            for _, answered in held:
                answered.set()
        return await done


async def written(
    judge: InRounds, summary: Sequence[str], detail: Sequence[str] = (), *, sources: Sequence[Source] = SOURCES
) -> list[Judged]:
    deps = make_deps()
    job = await deps.jobs.save(make_job(QUESTION), dedupe_key="")
    grounder = Grounder(sources, QUESTION)
    writing = Writing(grounder, Progress(job, deps), Judging(judge, lambda: 90.0), QUESTION, turns=AtOnce())
    await writing._take("summary", " ".join(summary), is_final=True)
    await writing._take("detail", " ".join(detail), is_final=True)
    judged = await judge.until(asyncio.create_task(writing.decided()))
    await writing.aclose()
    return judged


async def settled(
    judge: InRounds, summary: Sequence[str], detail: Sequence[str] = (), *, sources: Sequence[Source] = SOURCES
) -> list[Judged]:
    grounder = Grounder(sources, QUESTION)
    judged: list[Judged] = []
    for section, said in (("summary", summary), ("detail", detail)):
        for place, sentence in enumerate(split_sentences(" ".join(said))):
            gap = " " if place else ""
            before = before_of(judged, section, sentence.text, gap)
            judged.append(grounder.propose(section, place, sentence.text, gap=gap, before=before))
    return await judge.until(asyncio.create_task(settle(judged, grounder, Judging(judge, lambda: 90.0))))


def shown(judged: Sequence[Judged]) -> list[str]:
    return [entry.text for entry in judged if entry.shown is not None]


EITHER_WAY = pytest.mark.parametrize("way", [written, settled])


@EITHER_WAY
@pytest.mark.parametrize(
    ("cut", "names", "left"),
    [
        pytest.param([SMITH], (), [STRAIT], id="all of them are cut"),
        pytest.param([SMITH], (CROSSED,), [STRAIT, CROSSED, SCHOOL, BOOKS], id="the first stands by itself"),
        pytest.param([SMITH], (SCHOOL,), [STRAIT, SCHOOL, BOOKS], id="the second does"),
        pytest.param([SMITH], (BOOKS,), [STRAIT, BOOKS], id="the last does"),
        pytest.param([SMITH, SCHOOL], (), [STRAIT], id="one among them was cut at once"),
        pytest.param([SMITH, SCHOOL], (CROSSED,), [STRAIT, CROSSED], id="one was, behind one that stands by itself"),
    ],
)
async def test_a_row_of_sentences_behind_a_cut_one_costs_one_call_more(
    way: Callable,
    cut: list[str],
    names: tuple[str, ...],
    left: list[str],  # type: ignore[type-arg]
) -> None:
    """N-02: each would be a second and more, one behind the other, after the last word was written."""
    alone = unless_alone(*cut)
    judge = InRounds(lambda pair: _says(pair, *names) or alone(pair))

    judged = await way(judge, CHAIN)

    assert shown(judged) == left
    assert len(judge.rounds) == 2


@EITHER_WAY
async def test_rows_in_both_texts_are_judged_again_at_once(way: Callable) -> None:  # type: ignore[type-arg]
    """The detail is shown behind the summary; what the judge is to say of it waits for nothing."""
    judge = InRounds(unless_alone(SMITH))

    judged = await way(judge, CHAIN[:3], CHAIN[1:])

    assert shown(judged) == [STRAIT]
    assert len(judge.rounds) == 2


@EITHER_WAY
async def test_words_of_a_source_are_no_less_somebody_elses_behind_a_cut_sentence(way: Callable) -> None:  # type: ignore[type-arg]
    """D18: "He founded a school" stands there of him whom nobody names any more."""
    source = make_source(2, f"Nils Hart, a smith, was born in Ystad. {' '.join(OF_HART).replace(' [2]', '')}")
    judge = InRounds(unless_alone(NILS))

    judged = await way(judge, (STRAIT, NILS, *OF_HART), sources=[SOURCES[0], source])

    assert shown(judged) == [STRAIT]
    assert len(judge.rounds) == 2


@EITHER_WAY
async def test_nobody_is_asked_ahead_where_nothing_was_cut(way: Callable) -> None:  # type: ignore[type-arg]
    judge = InRounds(unless_alone())

    judged = await way(judge, CHAIN)

    assert shown(judged) == list(CHAIN)
    assert len(judge.rounds) == 1


@EITHER_WAY
async def test_what_leans_on_a_cut_sentence_has_no_mark_that_it_was_not_asked_for_anew(way: Callable) -> None:  # type: ignore[type-arg]
    """Whatever was asked ahead: a ✓ is for the sentence as it stands behind what is shown."""
    judge = InRounds(lambda pair: not _says(pair, SMITH))

    judged = await way(judge, CHAIN)

    (again,) = judge.rounds[1:]
    crossed = next(entry for entry in judged if entry.text == CROSSED)
    assert crossed.claim.verdict is Verdict.SUPPORTED
    assert {pair.before for pair in again if _says(pair, CROSSED)} == {STRAIT.removesuffix(" [1].") + "."}
