"""Every function that reads text from outside, by name: what people, pages, files and models write passes through them.

Each takes the text alone and may raise what it raises on ordinary text. A new parser belongs into this table; then
`tests/test_hostile_text.py` proves that no text makes it slow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from adapters.chat.discord.markup import code_block, rich
from adapters.chat.discord.markup import plain as discord_plain
from adapters.chat.discord.markup import prose as discord_prose
from adapters.chat.discord.translate import question_of as discord_question
from adapters.chat.fitting import excerpt, true_link
from adapters.chat.slack.blocks import markdown as slack_markdown
from adapters.chat.slack.blocks import message, sentence_text
from adapters.chat.slack.blocks import plain as slack_plain
from adapters.chat.slack.render import SlackVoice
from adapters.chat.slack.translate import question_of as slack_question
from adapters.chat.slack.translate import read_options
from adapters.observability import Redactor
from adapters.pages.body import decode_page
from adapters.pages.extract import extract, extract_html
from adapters.pages.extraction import PageDocument
from adapters.pages.fetch import RobotsRules
from adapters.pages.pdf.markdown import _joined
from adapters.search import service
from adapters.search.corpus import read_listing
from adapters.search.service import clean_line, clean_text, is_web_address, strip_tags
from adapters.web.preview import discord_markdown, mrkdwn
from adapters.web.prose import prose as web_prose
from adapters.web.prose import quoted, safe_link
from core.deep.searching import checked_pubmed_query, plain_words
from core.evidence.answering import expected_answer
from core.evidence.authority import pmid_of, registrable_domain
from core.evidence.citations import (
    Grammar,
    brackets,
    keep_markers,
    parse_markers,
    rewrite_markers,
    strip_markers,
)
from core.evidence.conflicts import find_conflicts
from core.evidence.differences import find_difference
from core.evidence.grounding import Grounder
from core.evidence.judge import read_rulings
from core.evidence.links import without_addresses, without_foreign_links
from core.evidence.passages import PassageIndex
from core.evidence.quoting import cited, quote_answer
from core.evidence.rules.alignment import align
from core.evidence.rules.vetoes import find_vetoes
from core.evidence.rules.words import read, tokenize
from core.evidence.same_question import read_question, veto
from core.evidence.verbatim import quotations_in, verify_quote
from core.findings.composing import in_fence, split_sections, with_addresses
from core.findings.opening import addresses_in as model_addresses
from core.findings.opening import parse_research_result, read_output, with_plain_addresses
from core.findings.results import check_code, code_blocks, dependencies_of, prose_of, split_fences, without_code
from core.library.desk import bibtex_entries, bibtex_names, ris_entries
from core.library.ingest import published_of
from core.library.paper import PageGrounder, Paper, format_research_result
from core.library.states import read_addition, read_command, read_words
from core.library.talk import slug
from core.llm.prices import estimate_tokens
from core.model.answer import Claim, Confidence, Evidence, ResearchAnswer, Verdict
from core.model.job import LOCAL
from core.modes import read_modes
from core.modes.check import split_claims
from core.pipeline.conversation import Turn, needs_context, read_reply, read_steering, standalone_by_rules
from core.presentation.bibliography import latex_text, names_in
from core.presentation.render import cut, marked_text, one_line, printable
from core.section.prose import Quotations, as_prose, with_keys, with_labels
from core.section.sections import asks_for_section, is_order, read_brief, sections_in
from core.stages.cache import normalise_question
from core.stages.gathering import addresses_in
from core.stages.gathering import without_addresses as without_given_addresses
from core.stages.intake import parse_intent, read_query, read_quoted
from core.stages.plan import keywords
from core.stages.prompting import fenced, passage_tokens
from core.tenancy.settings import DEFAULTS, FIELDS, read_setting
from core.text.chunking import chunk_text, passage_terms, select_passages, split_passages
from core.text.formulas import plain_formulas
from core.text.growing_json import PartialJson, parse_object
from core.text.injection import instructions_in
from core.text.language import detect_language
from core.text.sentences import code_spans, is_settled, split_sentences
from core.text.terms import question_terms, terms, words
from core.text.urls import ascii_host, canonical_url, is_web_url
from core.watch.comparison import compare_page
from core.watch.watch import Carrier, WatchedPage
from core.watch.words import read_rhythm, read_wish
from core.works.reading import read_references, without_markers
from tests.fakes import make_source
from tests.golden import samples

Reader = Callable[[str], object]
_PROSE = "The tide at [1] rises because the Moon pulls at the sea (see https://a.example/b). "
_ASKED, _SEA = "What pulls at the sea?", "The Moon pulls at the sea."
_REDACTOR = Redactor(["a-secret-of-ours"])
_REFERENCES = "\n".join(f"[{number}] Moore A. (2024). Tides, part {number}." for number in range(1, 40))
_WATCHED = WatchedPage("https://a.example/", "Tides", _SEA, carriers=(Carrier(_SEA, _SEA),))
_PAPER = Paper("2401.00001", "Tides", "hash", samples.COMPLETED.created_at, authors=("Ann Moore",), published="2024")


def _claim(text: str) -> Claim:
    return Claim("detail-0", text, Verdict.SUPPORTED, (Evidence("src_1", "", 0, 0, Verdict.SUPPORTED),))


def _grow(text: str) -> object:
    """As a model's answer comes in: in 64 pieces, few enough that each is read at once."""
    growing, size = PartialJson(), len(text) // 64 + 1
    for start in range(0, len(text), size):
        growing.feed(text[start : start + size])
    return growing.finish()


def _judge_of_papers(text: str) -> object:
    """A library's sentence, which cites papers by id, author or page."""
    source = make_source(1, _SEA)
    return PageGrounder([source], _ASKED, papers={source.id: _PAPER}).propose("detail", 0, text)


def _conflicts(text: str) -> object:
    sources = [make_source(1, _SEA), make_source(2, text)]
    return find_conflicts([_claim("The Moon pulls at the sea [1].")], sources, _ASKED)


def _passages(text: str) -> object:
    sources = [make_source(1, text)]
    return select_passages(sources, _ASKED, max_tokens=2_000, count_tokens=passage_tokens)


def _settings(text: str) -> object:
    """The values of every field; each may refuse its own."""
    for key in FIELDS:
        _or_refused(partial(read_setting, key), text, DEFAULTS)
    return None


def _or_refused(reading: Callable[..., object], *given: object) -> object:
    try:
        return reading(*given)
    except ValueError:
        return None


def _slack_answer(text: str) -> object:
    """What of an answer becomes Slack's Markdown, its table and its title."""
    answer = ResearchAnswer(text, text, Confidence.LOW)
    return SlackVoice(samples.LINKS).outcome(samples.COMPLETED, replace(samples.RESULT, answer=answer), [])


READERS: Mapping[str, Reader] = {
    # citations, links, addresses
    "brackets": lambda text: list(brackets(text)),
    "parse_markers": parse_markers,
    "parse_markers of keys": lambda text: parse_markers(text, keys={"smith2024a"}),
    "strip_markers": strip_markers,
    "keep_markers": lambda text: keep_markers(text, {1, 2}),
    "keep_markers of keys": lambda text: keep_markers(text, {"smith2024a"}, Grammar.KEY, keys={"smith2024a"}),
    "rewrite_markers": lambda text: rewrite_markers(text, Grammar.NUMBER, lambda group: f"[{group[0].written}]"),
    "marked_text": lambda text: marked_text(text, [_claim(text[:200])]),
    "cited": lambda text: cited(text, "1"),
    "format_research_result": lambda text: format_research_result(text, [_PAPER]),
    "with_keys": lambda text: with_keys(text, {"src_1": "smith2024a"}),
    "with_keys before prose": lambda text: with_keys(f"{text}{_PROSE}", {"src_1": "smith2024a"}),
    "with_labels": lambda text: with_labels(text, {"smith2024a": "Smith, 2024"}),
    "with_addresses": lambda text: with_addresses(text, {1: "https://a.example/"}),
    "without_foreign_links": lambda text: without_foreign_links(text, {"https://a.example/": 1}),
    "without_addresses": without_addresses,
    "addresses_in a question": addresses_in,
    "a question without_addresses": without_given_addresses,
    "addresses_in a model's words": model_addresses,
    "with_plain_addresses": with_plain_addresses,
    "read_listing": lambda text: read_listing("https://a.example/", text.encode(errors="replace")),
    "read_listing of a feed": lambda text: read_listing("https://a.example/", f"<rss>{text}".encode(errors="replace")),
    "canonical_url": canonical_url,
    "canonical_url of a path": lambda text: canonical_url(f"https://a.example/{text}"),
    "canonical_url of a query": lambda text: canonical_url(f"https://a.example/?{text}"),
    "ascii_host": ascii_host,
    "is_web_url": is_web_url,
    "is_web_address": is_web_address,
    "registrable_domain": registrable_domain,
    "pmid_of": pmid_of,
    "true_link": true_link,
    "true_link of a path": lambda text: true_link(f"https://a.example/{text}"),
    "safe_link": safe_link,
    # pages and what is cut out of them
    "split_sentences": split_sentences,
    "split_sentences in prose": lambda text: split_sentences(_PROSE + text),
    "code_spans": code_spans,
    "is_settled": lambda text: is_settled(text, 0, len(text) // 2),
    "split_passages": split_passages,
    "passage_terms": passage_terms,
    "select_passages": _passages,
    "chunk_text": chunk_text,
    "instructions_in": instructions_in,
    "a file of text": lambda text: extract(PageDocument("attachment:a.txt", "text", "utf-8", text.encode())),
    "extract_html": lambda text: extract_html(f"<html><body><p>{text}</p></body></html>", "http://a.example/"),
    "a paragraph of a PDF": lambda text: _joined([text[at : at + 80] for at in range(0, len(text), 80)], Counter()),
    "decode_page": lambda text: decode_page(text.encode() + b"\xff", ""),
    "robots.txt": lambda text: RobotsRules.parse(f"User-agent: *\nDisallow: /{text}", "gorkd").allows(
        "https://a.example/b"
    ),
    "clean_text": clean_text,
    "clean_line": clean_line,
    "strip_tags": strip_tags,
    "names_in": names_in,
    "list of references": lambda text: read_references([("a.md", f"# References\n\n{text}")]),
    "printed list of references": lambda text: read_references([("a.pdf", f"References\n{text}\f")]),
    "text with references": lambda text: read_references([("a.md", f"{text}\n\n# References\n\n{_REFERENCES}")]),
    "without_markers": without_markers,
    "bibtex_names": bibtex_names,
    "bibtex_entries": lambda text: list(bibtex_entries(f"@misc{{a, title = {{{text}")),
    "ris_entries": lambda text: list(ris_entries(f"TY  - JOUR\n{text}")),
    "a watched page": lambda text: compare_page(_WATCHED, f"{_PROSE}{text}", frozenset({"sea"})),
    "published_of": lambda text: published_of("a", text, latest=2030),
    "detect_language": detect_language,
    "words": words,
    "terms": terms,
    "expected_answer": expected_answer,
    "estimate_tokens": estimate_tokens,
    "fenced": fenced,
    "printable": printable,
    "one_line": one_line,
    "cut": lambda text: cut(text, len(text) // 2),
    "latex_text": latex_text,
    "plain_formulas": plain_formulas,
    "as_prose": lambda text: as_prose(text, title="Introduction", authors={"smith2024a": "Smith"}),
    "as_prose of a command": lambda text: as_prose(f"\\{text}", title="Introduction", authors={}),
    # evidence
    "tokenize": tokenize,
    "read": read,
    "PassageIndex": PassageIndex,
    "verify_quote in a page": lambda text: verify_quote(f"{_PROSE}and more", text),
    "verify_quote of a model": lambda text: verify_quote(text[:400], f"{text} and more"),
    "quotations_in": quotations_in,
    "quote_answer": lambda text: quote_answer(_ASKED, [make_source(1, text)]),
    "judge a sentence": lambda text: Grounder([make_source(1, _SEA)], _ASKED).propose("detail", 0, text),
    "judge a sentence of papers": _judge_of_papers,
    "judge against a page": lambda text: Grounder([make_source(1, text)], _ASKED).propose(
        "detail", 0, f"{_SEA[:-1]} [1]."
    ),
    "find_conflicts": _conflicts,
    "find_difference": lambda text: find_difference(text[:1_000], f"{_PROSE}{text[:1_000]}"),
    "align": lambda text: align(_SEA, text),
    "find_vetoes": lambda text: find_vetoes(_SEA, text),
    "read_question": lambda text: read_question(text[:2_000]),
    "veto": lambda text: veto(text[:2_000], _ASKED),
    "quotations in prose": lambda text: Quotations([text], longest=7).in_sentence(_PROSE),
    # what models write
    "parse_object": parse_object,
    "parse_object begun": lambda text: parse_object('{"summary": "' + text),
    "growing_json": _grow,
    "growing_json begun": lambda text: _grow('{"summary": "' + text),
    "growing_json in an object": lambda text: _grow('{"summary": ' + text),
    "read_rulings": lambda text: list(read_rulings(text, 8)),
    "read_output of ideas": lambda text: read_output(text, "idea"),
    "read_output of a report": lambda text: read_output(text, "freeform"),
    "read_output of code": lambda text: read_output(f"<research_result><research_item>{text}", "implementation"),
    "parse_research_result": lambda text: parse_research_result(f"<research_result>{text}", "idea", "What?", 5),
    "split_sections": split_sections,
    "code_blocks": code_blocks,
    "split_fences": split_fences,
    "prose_of": prose_of,
    "without_code": without_code,
    "dependencies_of": dependencies_of,
    "check_code": lambda text: [check_code(block, ()) for block in code_blocks(f"```python\n{text}\n```")],
    "in_fence": lambda text: in_fence(text, "python"),
    "checked_pubmed_query": checked_pubmed_query,
    "plain_words": plain_words,
    # what people write
    "read_query": read_query,
    "read_quoted": read_quoted,
    "parse_intent": lambda text: parse_intent(text[:2_000]),
    "normalise_question": normalise_question,
    "keywords": keywords,
    "keywords of a search": service.keywords,
    "question_terms": question_terms,
    "split_claims": split_claims,
    "read_reply": read_reply,
    "needs_context": needs_context,
    "standalone_by_rules": lambda text: standalone_by_rules(text[:2_000], [Turn("What is the capital of France?", "")]),
    "read_steering": read_steering,
    "read_wish": read_wish,
    "read_rhythm": read_rhythm,
    "read_modes": read_modes,
    "read_command": read_command,
    "read_addition": lambda text: read_addition(text, has_files=False),
    "read_addition of papers": lambda text: read_addition(f"add {text}", has_files=False),
    "read_words": lambda text: read_words(text, None),
    "slug": slug,
    "sections_in": sections_in,
    "asks_for_section": lambda text: asks_for_section(text, ()),
    "is_order": is_order,
    "read_brief": lambda text: read_brief([("context.yaml", f"concept:\n  description: {text}\n")]),
    "read_setting": _settings,
    "question of Slack": lambda text: slack_question(text, "U012345"),
    "options of Slack": lambda text: read_options(text, LOCAL, LOCAL),
    "question of Discord": lambda text: discord_question(text, 12345),
    # what is shown
    "web prose": lambda text: web_prose(text, lambda number, claim: None),
    "web quoted": quoted,
    "preview of Slack": mrkdwn,
    "preview of Discord": discord_markdown,
    "Discord plain": lambda text: discord_plain(text, 4_000),
    "Discord prose": lambda text: discord_prose(text, 4_000),
    "Discord prose, all": lambda text: discord_prose(text, 10**6),
    "Discord rich": lambda text: rich(text, 4_000),
    "Discord rich, all": lambda text: rich(text, 10**6),
    "Discord rich, cited": lambda text: rich(text, 4_000, cite=lambda number, words: "https://gorkd.test"),
    "Discord code_block": lambda text: code_block(text, "python"),
    "Slack Markdown": lambda text: slack_markdown(text, 3_000),
    "Slack answer": _slack_answer,
    "Slack plain": lambda text: slack_plain(text, 3_000),
    "Slack sentence": sentence_text,
    "Slack message": lambda text: message(text, []),
    "excerpt": lambda text: excerpt(text, 3_000),
    "log redaction": _REDACTOR.redact,
}
