"""Answers with planted faults: how many are caught, and how many good sentences are cut by mistake.

Caught means cut: the verdict is `unsupported` and the sentence is not shown. No model is asked.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from core.answer import Verdict
from core.evidence.passages import EvidenceIndex
from core.evidence.verbatim import verify_quote
from core.evidence.words import tokenize
from core.sentences import split_sentences
from core.source import Source
from core.verification.check import check_claim, settle
from core.verification.sources import check_source_exists, examine
from tests.evals.datasets import (
    DataAbsent,
    LabelledPair,
    load_abstracts,
    load_begin,
    load_conclusions,
    load_extracts,
    load_pages,
    load_papers,
    load_wice,
)
from tests.evals.faults import FAULTS, Place, alter_quote
from tests.evals.mixtures import MIXTURES
from tests.evals.paraphrases import paraphrase

SEED = 7
SENTENCES_PER_SOURCE = {"abstracts": 2, "pages": 8, "papers": 25, "web extracts": 2}
MIN_WORDS, MAX_WORDS = 8, 45  # content and other words of a sentence that an answer might hold
LOADERS: dict[str, Callable[[], tuple[Source, ...]]] = {
    "abstracts": load_abstracts,
    "pages": load_pages,
    "papers": load_papers,
    "web extracts": load_extracts,
}


@dataclass
class Tally:
    """How many of `seen` were cut, and how many were marked supported."""

    seen: int = 0
    cut: int = 0
    marked: int = 0

    def add(self, verdict: Verdict) -> None:
        self.seen += 1
        self.cut += verdict is Verdict.UNSUPPORTED
        self.marked += verdict is Verdict.SUPPORTED


@cache
def index_of(source: Source) -> EvidenceIndex:
    return EvidenceIndex(source)


def verdict_of(claim: str, source: Source) -> Verdict:
    return settle(examine(claim, index_of(source))[1])


def places(sources: Sequence[Source], per_source: int, rng: random.Random) -> Iterator[Place]:
    """True sentences with their source, chosen at random."""
    for source in sources:
        sentences = [s.text for s in split_sentences(source.content) if s.asserts and _is_plain(s.text)]
        for sentence in rng.sample(sentences, min(per_source, len(sentences))):
            others = [other for other in sources if other is not source]
            yield Place(" ".join(sentence.split()), source, others)


def _is_plain(text: str) -> bool:
    """A whole sentence of prose."""
    words = text.split()
    return (
        MIN_WORDS <= len(words) <= MAX_WORDS
        and text[0].isupper()
        and text.rstrip()[-1] in ".!?"
        and sum(token.is_content for token in tokenize(text)) >= 5
        and not any(mark in text for mark in ("|", "::", ">>>", "==", "http", "{", "_"))
    )


def print_planted() -> None:
    total: dict[str, Tally] = {}
    for name, load in LOADERS.items():
        try:
            sources = load()
        except DataAbsent as exc:
            print(f"{name}: skipped, no data at {exc}\n")
            continue
        rng = random.Random(SEED)
        chosen = list(places(sources, SENTENCES_PER_SOURCE[name], rng))
        tallies = {**_plant(chosen, rng), **_good(chosen, rng)}
        print(f"{name}: {len(chosen)} sentences of {len(sources)} sources")
        _print_tallies(tallies)
        for kind, tally in tallies.items():
            _add(total.setdefault(kind, Tally()), tally)
    print("all of these")
    _print_tallies(total)
    print_people()


def _plant(chosen: Sequence[Place], rng: random.Random) -> dict[str, Tally]:
    tallies = {f"fault: {kind}": Tally() for kind in FAULTS}
    tallies |= {
        f"fault: {kind}": Tally() for kind in ("wrong source", "invented source", "unread source", "altered quote")
    }
    for place in chosen:
        for kind, faults in FAULTS.items():
            for fault in faults:
                planted = fault(place, rng)
                if planted and planted != place.sentence:
                    tallies[f"fault: {kind}"].add(verdict_of(planted, place.source))
        _plant_reworded(place, tallies, rng)
        _plant_mixtures(place, tallies)
        tallies["fault: wrong source"].add(verdict_of(place.sentence, rng.choice(place.others)))
        for kind, source_id in (("invented source", "src_9999"), ("unread source", place.others[0].id)):
            problem = check_source_exists(source_id, {place.source.id: index_of(place.source)})
            tallies[f"fault: {kind}"].add(Verdict.UNSUPPORTED if problem else Verdict.SUPPORTED)
        altered = alter_quote(place, rng)
        if altered and altered not in place.source.content:
            found = verify_quote(altered, place.source.content)
            tallies["fault: altered quote"].add(Verdict.SUPPORTED if found else Verdict.UNSUPPORTED)
    return tallies


def _plant_reworded(place: Place, tallies: dict[str, Tally], rng: random.Random) -> None:
    """The same faults where the sentence is in other words already; one of each kind."""
    reworded = paraphrase(place.sentence, rng).get("several at once")
    if reworded is None:
        return
    for kind, faults in FAULTS.items():
        planted = faults[0](replace(place, sentence=reworded), rng)
        if planted and planted != reworded:
            tallies.setdefault(f"fault, reworded: {kind}", Tally()).add(verdict_of(planted, place.source))


def _plant_mixtures(place: Place, tallies: dict[str, Tally]) -> None:
    """Sentences of the source's own words that it does not say; chance of their own, lest the other faults change."""
    rng = random.Random(f"{SEED} {place.sentence}")
    for kind, mixture in MIXTURES.items():
        planted = mixture(place, rng)
        if planted and planted != place.sentence and planted not in " ".join(place.source.content.split()):
            tallies.setdefault(f"mixture: {kind}", Tally()).add(verdict_of(planted, place.source))


def _good(chosen: Sequence[Place], rng: random.Random) -> dict[str, Tally]:
    tallies: dict[str, Tally] = {"good: all": Tally(), "good: true quote": Tally()}
    for place in chosen:
        for rule, text in paraphrase(place.sentence, rng).items():
            verdict = verdict_of(text.strip(), place.source)
            tallies.setdefault(f"good: {rule}", Tally()).add(verdict)
            tallies["good: all"].add(verdict)
        found = verify_quote(place.sentence, place.source.content)
        tallies["good: true quote"].add(Verdict.SUPPORTED if found else Verdict.UNSUPPORTED)
    return tallies


def _add(total: Tally, tally: Tally) -> None:
    total.seen, total.cut, total.marked = total.seen + tally.seen, total.cut + tally.cut, total.marked + tally.marked


def _print_tallies(tallies: dict[str, Tally]) -> None:
    for kind, tally in tallies.items():
        if tally.seen:
            share, marked = tally.cut / tally.seen, tally.marked / tally.seen
            word = "caught" if kind.startswith("fault") else "cut   "
            print(f"  {kind:34} {word} {share:7.2%} of {tally.seen:5}   marked supported {marked:6.1%}")
    print()


def print_people() -> None:
    """The same faults in sentences that people wrote from the source in their own words."""
    wice = {pair.claim: pair for pair in load_wice() if pair.is_supported}
    begin = {pair.claim: pair for pair in load_begin() if pair.is_supported}
    for name, pairs in (("WiCE, supported claims", wice), ("BEGIN, attributable answers", begin)):
        print(f"faults in people's own wording: {name}")
        _print_tallies(_plant_labelled(list(pairs.values())))
    tally = Tally()
    for conclusion, source in load_conclusions():
        for sentence in split_sentences(conclusion):
            if sentence.asserts and _is_plain(sentence.text):
                tally.add(verdict_of(sentence.text, source))
    print("the authors' conclusions against their abstract without them (not labelled; most follow from it)")
    _print_tallies({"conclusions": tally})


def _plant_labelled(pairs: Sequence[LabelledPair]) -> dict[str, Tally]:
    rng = random.Random(SEED)
    sources = [_as_source(pair) for pair in pairs]
    tallies = {f"fault: {kind}": Tally() for kind in FAULTS} | {"good: as written": Tally()}
    for pair, source in zip(pairs, sources, strict=True):
        tallies["good: as written"].add(settle(check_claim(pair.claim, pair.passage)))
        for kind, faults in FAULTS.items():
            for fault in faults:
                planted = fault(Place(pair.claim, source, [other for other in sources if other is not source]), rng)
                if planted and planted != pair.claim:
                    tallies[f"fault: {kind}"].add(settle(check_claim(planted, pair.passage)))
    return tallies


def _as_source(pair: LabelledPair) -> Source:
    any_source = load_abstracts()[0]
    return Source(any_source.id, "", "", pair.passage, "", any_source.read_at, any_source.metadata)
