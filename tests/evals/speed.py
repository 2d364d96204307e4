"""What a check costs: processor time for one claim against one page, index included and apart."""

from __future__ import annotations

import time

from core.evidence.passages import EvidenceIndex
from core.evidence.rules.vetoes import find_vetoes
from core.evidence.verbatim import find_verbatim
from core.model.source import Source
from core.text.sentences import split_sentences
from tests.evals.datasets import load_abstracts, load_pages


def print_speed() -> None:
    pages = load_pages()[:12]
    long_text = "\n".join(source.content for source in load_abstracts())[:100_000]
    long_page = Source("src_1", "", "", long_text, "", pages[0].read_at, pages[0].metadata)
    for name, sources in (("pages", pages), ("a text of 100,000 characters", (long_page,))):
        index_ms, check_ms, claims = _measure(sources)
        size = sum(len(source.content) for source in sources) / len(sources)
        print(f"{name} ({size:,.0f} characters on average), {claims} claims")
        print(f"  index {index_ms:.1f} ms a source, once; check {check_ms:.1f} ms a claim (processor time)")
    print()


def _measure(sources: tuple[Source, ...] | list[Source]) -> tuple[float, float, int]:
    index_s = check_s = 0.0
    claims = 0
    for source in sources:
        begin = time.process_time()
        index = EvidenceIndex(source)
        index.passages  # noqa: B018  # built when it is first asked for
        index_s += time.process_time() - begin
        sentences = [s.text for s in split_sentences(source.content) if s.asserts][:40]
        begin = time.process_time()
        for sentence in sentences:
            claim = sentence[: len(sentence) * 3 // 4]
            find_verbatim(claim, source.content)
            evidence = index.find(claim)
            if evidence is not None:
                find_vetoes(claim, evidence.quote, context=index.context(claim, evidence))
        check_s += time.process_time() - begin
        claims += len(sentences)
    return 1000 * index_s / len(sources), 1000 * check_s / max(1, claims), claims
