"""Sentences that lean on one that was cut, judged again behind what is shown; all that may come to it are asked about
at once.

Whether a sentence needs it hangs on what becomes of the one before it. Were each asked about once that is known, a
reader would wait for as many calls, one behind the other, as such sentences stand in a row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from core.evidence.grounding import Grounder
from core.evidence.judge import Judging, Pair
from core.evidence.structure import Judged, leans_on_cut, said_before
from core.model.answer import Claim, Verdict
from core.pipeline.limits import ComputingTurns

LEANS_ON_CUT = "it leans on a sentence that could not be confirmed"
MAX_COURSES = 4  # that a section may take are asked about; what happens in another is asked about then

Course = tuple[Judged, ...]


@dataclass
class Rejudging:
    """What is judged again of one draft, proposed once for each text behind which it may stand, and what was read."""

    grounder: Grounder
    judging: Judging
    turns: ComputingTurns = field(default_factory=ComputingTurns)
    _proposed: dict[tuple[str, str, str, int], Judged] = field(default_factory=dict)

    async def foreseen(self, own: Sequence[Judged]) -> list[Pair]:
        """The pairs of a section that may have to be judged again, so that all are asked about at once.

        `own` are its sentences in order; what is undecided, or was cut after the judge was asked, counts as shown.
        """
        if self.judging.judge is None or not any(entry.is_cut for entry in own):
            return []
        likely = [replace(entry, shown=entry.text) if entry.is_cut and entry.asked else entry for entry in own]
        again = [await self.turns.take(self._again, entry, earlier) for entry, earlier in self._leaning(likely)]
        return [asked.pair for entry in again for asked in entry.asked]

    async def rejudged(self, judged: Judged, earlier: Sequence[Judged]) -> Judged:
        """A sentence that leans on one that was cut, judged again behind the last one that is shown."""
        if not leans_on_cut(judged, earlier):
            return judged
        again = self._again(judged, earlier)
        rulings = await self.judging.rule([asked.pair for asked in again.asked])
        return kept_behind(self.grounder.conclude(again, rulings), earlier)

    def _again(self, judged: Judged, earlier: Sequence[Judged]) -> Judged:
        read = len(self.grounder.read_sources)  # others come while the answer is written
        key = judged.id, judged.text, _said_behind(judged, earlier, self.grounder), read
        if key not in self._proposed:
            self._proposed[key] = behind_shown(judged, earlier, self.grounder)
        return self._proposed[key]

    def _leaning(self, own: Sequence[Judged]) -> list[tuple[Judged, Course]]:
        """What leans on a cut sentence, or may when those that do are cut in their turn, behind what stands then."""
        found: list[tuple[Judged, Course]] = []
        courses: list[Course] = [()]
        for entry in own:
            further: list[Course] = []
            for earlier in courses:
                if leans_on_cut(entry, earlier) and entry.before != _said_behind(entry, earlier, self.grounder):
                    found.append((entry, earlier))
                    further.append((*earlier, replace(entry, shown=None, asked=())))
                further.append((*earlier, entry))
            courses = further if len(further) == 1 else _unlike(entry, further)[:MAX_COURSES]
        return found


def behind_shown(judged: Judged, earlier: Sequence[Judged], grounder: Grounder) -> Judged:
    """The sentence, to be judged behind the last one of its section that is shown; behind the question without one."""
    return grounder.propose_again(judged, before=_said_behind(judged, earlier, grounder))


def _said_behind(judged: Judged, earlier: Sequence[Judged], grounder: Grounder) -> str:
    shown = shown_before(judged, earlier)
    return said_before(shown) if shown else f"{grounder.question.rstrip(' ?？')}?"


def _unlike(last: Judged, courses: Iterable[Course]) -> list[Course]:
    """One of those that end alike for whatever comes behind them."""
    return list({(course[-1].is_cut, said_before(shown_before(last, course))): course for course in courses}.values())


async def settle(judged: Sequence[Judged], grounder: Grounder, judging: Judging) -> list[Judged]:
    """Sentences that are all there, judged at once; their order and the undecided ones' places stay."""
    judging.hurry()
    rulings = await asyncio.gather(*(judging.rule([asked.pair for asked in entry.asked]) for entry in judged))
    concluded = [grounder.conclude(entry, said) for entry, said in zip(judged, rulings, strict=True)]
    rejudging = Rejudging(grounder, judging)
    sections = dict.fromkeys(entry.section for entry in judged)
    ahead = [await rejudging.foreseen([entry for entry in concluded if entry.section == one]) for one in sections]
    await judging.rule([pair for pairs in ahead for pair in pairs], needs_reason=False)
    settled: list[Judged] = []
    for entry in concluded:
        settled.append(await rejudging.rejudged(entry, settled))
    return settled


def shown_before(judged: Judged, earlier: Sequence[Judged]) -> list[Claim]:
    """What is shown of its section before it."""
    own = (entry for entry in earlier if entry.section == judged.section)
    return [entry.claim for entry in own if entry.claim and entry.shown is not None]


def kept_behind(judged: Judged, earlier: Sequence[Judged]) -> Judged:
    """The sentence, judged again; behind the question alone it is shown where it was confirmed, else cut."""
    claim = judged.claim
    if claim is None or claim.verdict in (Verdict.SUPPORTED, Verdict.MOVED) or shown_before(judged, earlier):
        return judged
    cut = replace(claim, verdict=Verdict.UNSUPPORTED, evidence=(), reasons=(LEANS_ON_CUT,))
    return replace(judged, claim=cut, shown=None, asked=())
