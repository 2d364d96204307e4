"""The one comparison: what an answer, or a page, says otherwise than before, claim by claim.

Rules settle what they can: the same in the same words, or one value that is another. The rest are candidates on which
a judge votes (`vote`). Other words, another order, other things on the page are no change.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log

import regex

from core.evidence.authority import PRIMARY_KINDS
from core.evidence.citations import Grammar, strip_markers
from core.evidence.differences import find_difference
from core.evidence.judge import Judgement, Pair, Ruling, SupportJudge
from core.evidence.rules.alignment import align
from core.evidence.rules.vetoes import says_same
from core.model.answer import Conflict, ModelUsage, ResearchAnswer
from core.model.errors import ModelError
from core.text.sentences import split_sentences
from core.text.terms import terms
from core.watch.watch import Carrier, Change, WatchedPage

MIN_SAID = 20  # characters; a shorter sentence is not compared by meaning
NEAR = 0.3  # share of the shorter sentence's words that another has, from which one may stand in the other's place
MIN_ON_TOPIC = 2  # words that a sentence shares with what is watched; what shares fewer is beside it
MAX_NEAR = 3  # sentences that are looked at beside one
WHOLLY = 0.95  # of a sentence's words that another has; with one of twenty exchanged, a judge is asked
MAX_AROUND, LITTLE = 5, 0.05
MAX_NEWS = 3  # sentences of one page that are taken for new: the first that are on the topic


@dataclass(frozen=True)
class ChangedClaim:
    """What the earlier answer said, and what is said instead."""

    before: str
    now: str


@dataclass(frozen=True)
class AnswerChanges:
    """Sentences without markers, in the order of their answers. All empty: both say the same.

    `confidence` are the levels before and now where they differ, `conflicts` what sources newly disagree on.
    """

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    contradicted: tuple[ChangedClaim, ...] = ()
    confidence: ChangedClaim | None = None
    conflicts: tuple[ChangedClaim, ...] = ()

    @property
    def is_nothing(self) -> bool:
        return not (self.added or self.dropped or self.contradicted or self.confidence or self.conflicts)


def compare_answers(before: ResearchAnswer, now: ResearchAnswer) -> AnswerChanges:
    """A sentence of the one is found in the other when that says it, in nearly the same words."""
    old, new = _claims(before), _claims(now)
    contradicted = [
        ChangedClaim(earlier, later)
        for later in new
        for earlier in old
        if later not in old and find_difference(earlier, later) is not None
    ]
    settled_before = {pair.before for pair in contradicted}
    settled_now = {pair.now for pair in contradicted}
    levels = ChangedClaim(before.confidence.value, now.confidence.value)
    return AnswerChanges(
        added=tuple(text for text in new if text not in settled_now and not is_said(text, old)),
        dropped=tuple(text for text in old if text not in settled_before and not is_said(text, new)),
        contradicted=tuple(contradicted),
        confidence=levels if levels.before != levels.now else None,
        conflicts=tuple(new_conflicts(before, now)),
    )


def new_conflicts(before: ResearchAnswer, now: ResearchAnswer) -> Iterator[ChangedClaim]:
    """The first two sides of what sources did not disagree on before."""
    known = {_plain(side.position) for conflict in before.conflicts for side in conflict.positions}
    for conflict in now.conflicts:
        sides = list(conflict.sides)
        if len(sides) > 1 and not {_plain(side) for side in sides} <= known:
            yield ChangedClaim(_side(conflict, sides[0]), _side(conflict, sides[1]))


def is_said(text: str, others: Iterable[str]) -> bool:
    """Whether one of the others says it, in nearly the same words."""
    said = [other for other in others if other]
    if _plain(text) in {_plain(other) for other in said}:
        return True
    return len(text) >= MIN_SAID and any(says_same(text, other) for other in said if len(other) >= MIN_SAID)


def restates(one: str, other: str) -> bool:
    """Whether `other` says what `one` says beyond doubt: each of its words, in their order, and with no veto."""
    return align(one, other).matched >= WHOLLY and says_same(one, other)


@dataclass(frozen=True)
class PageDifference:
    """What became of a page: its candidates, and the page as it is if they come to nothing."""

    candidates: tuple[Change, ...]
    page: WatchedPage


def compare_page(page: WatchedPage, text: str, topic: frozenset[str]) -> PageDifference:
    """What a page says otherwise: `text` as it reads now, `topic` the words of the question and of what was told.

    Of a page that is new (`page.text` is empty) all sentences on the topic count as new; whoever calls then looks only
    at those that differ from what was told.
    """
    old, new = _sentences(page.text), _sentences(text)
    whole = f" {' '.join(new)} "
    added = [said for plain, said in new.items() if plain not in old and f" {plain} " not in f" {' '.join(old)} "]
    removed = [said for plain, said in old.items() if plain not in new]
    found: list[Change] = []
    carriers: list[Carrier] = []
    nearness = Nearness([*old.values(), *new.values()])
    used: set[str] = set()
    for carrier in page.carriers:
        if f" {_plain(carrier.sentence)} " in whole:
            carriers.append(carrier)
            continue
        change, instead = _instead(page, carrier, added, nearness)
        used.update(instead)
        carriers.append(replace(carrier, sentence=instead[0]) if instead else carrier)
        found += [change] if change else []
    fresh = [said for said in added if said not in used and _is_on_topic(said, topic)]
    news = [said for said in fresh if not any(restates(other, said) for other in nearness.nearest(said, removed))]
    of_page = Change("new", now_url=page.url, places=(page.url,), is_primary=page.kind in PRIMARY_KINDS)
    found += [replace(of_page, now=said, now_quote=said) for said in news[:MAX_NEWS]]
    return PageDifference(tuple(found), replace(page, text=text, carriers=tuple(carriers), away_since=None))


def _instead(
    page: WatchedPage, carrier: Carrier, added: Sequence[str], nearness: Nearness
) -> tuple[Change | None, list[str]]:
    """What a page says in the place of a told claim: the change it may be, and the sentences that were looked at."""
    near = nearness.nearest(carrier.sentence, added) or nearness.nearest(carrier.claim, added)
    same = [said for said in near if restates(carrier.sentence, said)]
    if same:
        return None, same
    change = Change(
        "gone", before=carrier.claim, before_quote=carrier.sentence, before_url=page.url, now_url=page.url,
        places=(page.url,), is_primary=page.kind in PRIMARY_KINDS,
    )  # fmt: skip
    if not near:
        return change, []
    for said in near:
        if find_difference(carrier.sentence, said) or find_difference(carrier.claim, said):
            return replace(change, kind="value", now=said, now_quote=said, is_certain=True), [said]
    return replace(change, kind="value", now=near[0], now_quote=near[0]), near[:1]


def carriers_of(answer: ResearchAnswer, source_id: str, text: str) -> tuple[Carrier, ...]:
    """The claims that sentences of a source carry: those that are cited for it and share what tells it from others."""
    nearness = Nearness([*sentences_in(text), *map(bare, told_claims(answer))])
    found: dict[str, Carrier] = {}
    for claim in answer.claims:
        said = bare(claim.text)
        quotes = [" ".join(one.quote.split()) for one in claim.evidence if one.source_id == source_id]
        near = nearness.nearest(said, quotes, most=1)
        if near and claim.verdict.carries:
            found.setdefault(said, Carrier(said, near[0]))
    return tuple(found.values())


def told_claims(answer: ResearchAnswer | None) -> list[str]:
    return _claims(answer) if answer else []


def topic_of(question: str, claims: Iterable[str]) -> frozenset[str]:
    return frozenset(terms(" ".join([question, *claims])))


def _is_on_topic(sentence: str, topic: frozenset[str]) -> bool:
    words = set(terms(sentence))
    return len(sentence) >= MIN_SAID and len(words & topic) >= min(MIN_ON_TOPIC, max(1, len(words)))


class Nearness:
    """Which sentences may say the same: those that share words which few others of `corpus` have.

    What all of them are about, such as the subject's name, tells nothing.
    """

    def __init__(self, corpus: Iterable[str]) -> None:
        self._terms = {sentence: frozenset(terms(sentence)) for sentence in corpus}  # each is asked of by all others
        seen = Counter(word for words in self._terms.values() for word in words)
        self._rarest = log(1 + len(self._terms))  # what a word tells that no sentence has
        self._tells = {word: self._rarest - log(1 + count) for word, count in seen.items()}
        self._weights: dict[str, float] = {}

    def of(self, one: str, other: str) -> float:
        """0…1: the weight of shared words, of that of the lighter sentence."""
        shared = self._words(one) & self._words(other)
        lighter = min(self._weigh(one), self._weigh(other)) if shared else 0.0
        return self._sum(shared) / lighter if lighter else 0.0

    def nearest(self, sentence: str, others: Iterable[str], *, most: int = MAX_NEAR, least: float = NEAR) -> list[str]:
        """The nearest first; none that is further than `least`."""
        scored = [(self.of(sentence, other), place, other) for place, other in enumerate(dict.fromkeys(others))]
        scored = [entry for entry in scored if entry[0] >= least]
        return [other for _, _, other in sorted(scored, key=lambda entry: (-entry[0], entry[1]))[:most]]

    def around(self, sentence: str, others: Iterable[str]) -> list[str]:
        """What a judge is shown beside it: also what shares little."""
        return self.nearest(sentence, others, most=MAX_AROUND, least=LITTLE)

    def _words(self, sentence: str) -> frozenset[str]:
        return self._terms.get(sentence) or self._terms.setdefault(sentence, frozenset(terms(sentence)))

    def _weigh(self, sentence: str) -> float:
        if sentence not in self._weights:
            self._weights[sentence] = self._sum(self._words(sentence))
        return self._weights[sentence]

    def _sum(self, words: frozenset[str]) -> float:
        return sum(self._tells.get(word, self._rarest) for word in words)


def sentences_in(text: str) -> list[str]:
    return list(_sentences(text).values())


def stands_in(sentence: str, text: str) -> bool:
    """Whether a page still says it, letter by letter but for marks and blanks."""
    return f" {_plain(sentence)} " in f" {' '.join(_sentences(text))} "


def bare(text: str) -> str:
    return " ".join(strip_markers(text, Grammar.NUMBER).split())


_WORD = regex.compile(r"(?:(?<!\w)[-−+±<>≤≥]\s?)?\p{N}+(?:[.,:/]\p{N}+)*\s?[%‰°]?|[\p{L}\p{N}]+")


def _plain(text: str) -> str:
    """Its words alone: neither marks, nor blanks, nor capitals are a change."""
    return " ".join(word.replace(" ", "") for word in _WORD.findall(text.casefold()))


def _sentences(text: str) -> dict[str, str]:
    """By their words, in the order of the text."""
    found = (" ".join(one.plain.split()) for one in split_sentences(text))
    return {plain: said for said in found if (plain := _plain(said))}


def _claims(answer: ResearchAnswer) -> list[str]:
    """The answer's claims, each once; detail often repeats the summary."""
    return list(dict.fromkeys(" ".join(claim.text.split()) for claim in answer.claims if claim.text.strip()))


def _side(conflict: Conflict, position: str) -> str:
    return f"{conflict.subject}: {position}" if conflict.subject else position


# Whether a candidate is a change. A judge errs, and errs the same way when it is asked the same; so each candidate is
# put to it in several ways, in one call, and what it says is counted.


SUSPECTS = 2  # votes for a change, of the first four, from which it is researched
CONFIRMS = 0.6  # share of all votes, from which it is one: a judge that errs in one of ten pairs errs here in 0.1 %
MAX_PAIRS = 40  # of one call; some 6,000 tokens
VOTE_TIMEOUT_S = 60.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Votes:
    """The candidates with what was said of each so far; `calls` that it took, and their cost."""

    changes: tuple[Change, ...]
    calls: int = 0
    usage: tuple[ModelUsage, ...] = ()


# Questions to the judge: each is a vote for a change, unless the passages say the claim.
BallotMaker = Callable[[Change], list[Pair]]


def on_pages(known: Sequence[str], now: Sequence[str]) -> BallotMaker:
    """Of a look at pages: `known` are the told claims and the sentences read before, `now` those on the pages now."""
    nearness = Nearness([*known, *now])

    def ballots(change: Change) -> list[Pair]:
        was = list(dict.fromkeys((change.before, change.before_quote)))
        if not change.now:
            return [pair for said in was for pair in _asked(said, nearness.around(said, now))]
        is_known = _asked(change.now, nearness.around(change.now, known))
        if change.kind == "new":
            return is_known
        return [*(Pair(said, (change.now,)) for said in was), Pair(change.now, tuple(was)), *is_known]

    return ballots


def on_answer(claims: Sequence[str], known: Sequence[str]) -> BallotMaker:
    """Of a new answer: whether it says no more what was, and says in words of its own what was not `known`."""
    nearness = Nearness([*claims, *known])

    def ballots(change: Change) -> list[Pair]:
        found = _asked(change.before, nearness.around(change.before, claims))[:2] if change.before else []
        said = nearness.nearest(change.now, claims, most=1) if change.now else []
        return [*found, *(pair for one in said for pair in _asked(one, nearness.around(one, known))[:2])]

    return ballots


async def vote(changes: Sequence[Change], ballots: BallotMaker, judge: SupportJudge | None) -> Votes:
    """Each candidate that is not certain gets its votes, in one call. A judge that is away says nothing."""
    asked = [[] if change.is_certain else ballots(change) for change in changes]
    pairs = list(dict.fromkeys(one for some in asked for one in some if one.passages))[:MAX_PAIRS]
    said: dict[Pair, Judgement | None] = {}
    usage: tuple[ModelUsage, ...] = ()
    if judge is not None and pairs:
        try:
            rulings = await judge.judge(pairs, timeout_s=VOTE_TIMEOUT_S)
        except ModelError as exc:
            _log.warning("nobody could be asked whether it changed", extra={"error": str(exc)})
        else:
            said, usage = dict(zip(pairs, rulings.judgements, strict=True)), rulings.usage
    voted = [
        replace(change, votes=(*change.votes, *_counted(some, said)))
        for change, some in zip(changes, asked, strict=True)
    ]
    return Votes(tuple(voted), calls=int(bool(usage)), usage=usage)


def _counted(ballots: Sequence[Pair], said: dict[Pair, Judgement | None]) -> list[bool]:
    """Nothing to compare with speaks for a change. Nobody votes where nobody was asked.

    A judge that is not believed has its confirmations taken back, so an open pair speaks for no change.
    """
    told = [(one, said.get(one)) for one in dict.fromkeys(ballots)] if said else []
    carried = (Ruling.SUPPORTED, Ruling.PARTIAL)
    return [not one.passages or (its is not None and its.ruling not in carried) for one, its in told]


def is_suspect(change: Change) -> bool:
    """Worth research; without any vote, too: there is no judge, or it is away."""
    return change.is_certain or not change.votes or sum(change.votes) >= min(SUSPECTS, len(change.votes))


def is_confirmed(change: Change) -> bool:
    """Without a judge, only what rules are certain of."""
    return change.is_certain or (bool(change.votes) and sum(change.votes) >= CONFIRMS * len(change.votes))


def _asked(claim: str, passages: Sequence[str]) -> list[Pair]:
    """Beside the nearest passages in several ways: a judge that errs on one of them may not on the next."""
    ways = dict.fromkeys(map(tuple, (passages[:3], passages, passages[::-1], [*passages[1:], *passages[:1]])))
    return [Pair(claim, way) for way in ways]
