"""Planted faults: how many meet a veto, and how many true sentences do.

A veto is all that rules have to say: what meets none is left to the judge, true or false. No model is asked.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from core.evidence.passages import EvidenceIndex
from core.evidence.rules.alignment import Force, Veto
from core.evidence.rules.vetoes import find_vetoes
from core.evidence.rules.words import tokenize
from core.evidence.verbatim import find_verbatim, verify_quote
from core.model.source import Source
from core.text.sentences import split_sentences
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


NOTHING = (Veto("passage", Force.DOUBTS, "the source has nothing of it"),)
UNALTERED = (Veto("quote", Force.CONTRADICTS, "the quote is altered"),)


@dataclass
class Tally:
    """How many of `seen` met a veto, how many of these one that contradicts, and how many are verbatim."""

    seen: int = 0
    vetoed: int = 0
    contradicted: int = 0
    verbatim: int = 0

    def add(self, vetoes: Sequence[Veto], *, is_verbatim: bool = False) -> None:
        self.seen += 1
        self.vetoed += bool(vetoes)
        self.contradicted += any(veto.force is Force.CONTRADICTS for veto in vetoes)
        self.verbatim += is_verbatim


@cache
def index_of(source: Source) -> EvidenceIndex:
    return EvidenceIndex(source)


def add(tally: Tally, claim: str, source: Source) -> None:
    """Judge a sentence as an answer's: against the passage found for it."""
    index = index_of(source)
    evidence = index.find(claim)
    found = NOTHING
    if evidence is not None:
        found = find_vetoes(claim, evidence.quote, context=index.context(claim, evidence), before=source.title)
    tally.add(found, is_verbatim=find_verbatim(claim, source.content) is not None)


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
    tallies = {f"fault: {kind}": Tally() for kind in (*FAULTS, "altered quote")}
    for place in chosen:
        for kind, faults in FAULTS.items():
            for fault in faults:
                planted = fault(place, rng)
                if planted and planted != place.sentence:
                    add(tallies[f"fault: {kind}"], planted, place.source)
        _plant_reworded(place, tallies, rng)
        _plant_mixtures(place, tallies)
        altered = alter_quote(place, rng)
        if altered and altered not in place.source.content:
            is_found = verify_quote(altered, place.source.content) is not None
            tallies["fault: altered quote"].add(() if is_found else UNALTERED, is_verbatim=is_found)
    return tallies


def _plant_reworded(place: Place, tallies: dict[str, Tally], rng: random.Random) -> None:
    """The same faults where the sentence is in other words already; one of each kind."""
    reworded = paraphrase(place.sentence, rng).get("several at once")
    if reworded is None:
        return
    for kind, faults in FAULTS.items():
        planted = faults[0](replace(place, sentence=reworded), rng)
        if planted and planted != reworded:
            add(tallies.setdefault(f"fault, reworded: {kind}", Tally()), planted, place.source)


def _plant_mixtures(place: Place, tallies: dict[str, Tally]) -> None:
    """Sentences of the source's own words that it does not say; chance of their own, lest the other faults change."""
    rng = random.Random(f"{SEED} {place.sentence}")
    for kind, mixture in MIXTURES.items():
        planted = mixture(place, rng)
        if planted and planted != place.sentence and planted not in " ".join(place.source.content.split()):
            add(tallies.setdefault(f"mixture: {kind}", Tally()), planted, place.source)


def _good(chosen: Sequence[Place], rng: random.Random) -> dict[str, Tally]:
    tallies: dict[str, Tally] = {"good: all": Tally(), "good: true quote": Tally()}
    for place in chosen:
        for rule, text in paraphrase(place.sentence, rng).items():
            add(tallies.setdefault(f"good: {rule}", Tally()), text.strip(), place.source)
            add(tallies["good: all"], text.strip(), place.source)
        is_found = verify_quote(place.sentence, place.source.content) is not None
        tallies["good: true quote"].add(() if is_found else UNALTERED, is_verbatim=is_found)
    return tallies


def _add(total: Tally, tally: Tally) -> None:
    total.seen += tally.seen
    total.vetoed += tally.vetoed
    total.contradicted += tally.contradicted
    total.verbatim += tally.verbatim


def _print_tallies(tallies: dict[str, Tally]) -> None:
    for kind, tally in tallies.items():
        if tally.seen:
            shares = [count / tally.seen for count in (tally.vetoed, tally.contradicted, tally.verbatim)]
            print(f"  {kind:34} vetoed {shares[0]:6.1%} of {tally.seen:5}", end="")
            print(f"   contradicted {shares[1]:6.1%}   verbatim {shares[2]:6.1%}")
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
                add(tally, sentence.text, source)
    print("the authors' conclusions against their abstract without them (not labelled; most follow from it)")
    _print_tallies({"conclusions": tally})


def _plant_labelled(pairs: Sequence[LabelledPair]) -> dict[str, Tally]:
    rng = random.Random(SEED)
    sources = [_as_source(pair) for pair in pairs]
    tallies = {f"fault: {kind}": Tally() for kind in FAULTS} | {"good: as written": Tally()}
    for pair, source in zip(pairs, sources, strict=True):
        tallies["good: as written"].add(find_vetoes(pair.claim, pair.passage, context=pair.group))
        for kind, faults in FAULTS.items():
            for fault in faults:
                planted = fault(Place(pair.claim, source, [other for other in sources if other is not source]), rng)
                if planted and planted != pair.claim:
                    tallies[f"fault: {kind}"].add(find_vetoes(planted, pair.passage, context=pair.group))
    return tallies


def _as_source(pair: LabelledPair) -> Source:
    any_source = load_abstracts()[0]
    return Source(any_source.id, "", "", pair.passage, "", any_source.read_at, any_source.metadata)
