"""A job as JSON and Markdown, verdict marks, and what is safe to print."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from core.evidence.citations import MARKS
from core.model.answer import Claim, Confidence, ConfidencePart, Evidence, JobResult, Verdict
from core.model.job import JobStatus
from core.presentation import wording
from core.presentation.bibliography import answer_markdown
from core.presentation.render import (
    cut,
    for_others,
    iso_utc,
    job_json,
    marked_section,
    marked_text,
    one_line,
    printable,
    sources_json,
)
from tests.golden import samples

_MARKS = "".join(MARKS.values())


def claim(text: str, *cited: tuple[int, Verdict]) -> Claim:
    evidence = tuple(Evidence(f"src_{number}", "q", 0, 1, verdict) for number, verdict in cited)
    return Claim("summary-0", text, Verdict.SUPPORTED, evidence)


def test_json_has_every_field_of_s003_and_the_additions():
    """S003-19: each key with its name and type as given; and what else readers may rely on: verdicts, offsets,
    reasons, the sum of the confidence, conflicts, what was removed, cost. No mark keeps a citation grammar from it.
    """
    parts = (ConfidencePart("support", 0.9, "mean over 2 claims"), ConfidencePart("score", 0.9, "high from 0.8"))
    summed = replace(samples.RESULT, answer=replace(samples.ANSWER, confidence_sum=parts))

    document = job_json(samples.COMPLETED, summed, samples.SOURCES)

    answer, metadata = document["answer"], document["metadata"]
    assert isinstance(answer, dict)
    assert isinstance(metadata, dict)
    head = ("job_id", "status", "question", "mode", "error", "result")
    assert [document[key] for key in head] == [
        samples.COMPLETED.id, "completed", samples.QUESTION, "quick", None, None,
    ]  # fmt: skip
    assert {key: answer[key] for key in ("summary", "detail", "confidence", "limitations")} == {
        "summary": samples.ANSWER.summary,
        "detail": samples.ANSWER.detail,
        "confidence": "medium",
        "limitations": list(samples.ANSWER.limitations),
    }
    assert answer["confidence_reasons"] == list(samples.ANSWER.confidence_reasons)
    assert answer["confidence_sum"] == [
        {"name": "support", "value": 0.9, "note": "mean over 2 claims"},
        {"name": "score", "value": 0.9, "note": "high from 0.8"},
    ]
    assert [(one["id"], one["verdict"], one["strength"]) for one in answer["claims"]] == [
        (claim.id, claim.verdict.value, claim.strength) for claim in samples.ANSWER.claims
    ]
    assert answer["conflicts"][0]["positions"][1]["source_id"] == "src_3"
    assert answer["removed"] == [{"text": "It was painted green in 1990.", "reason": "no source says it"}]
    first, third = document["citations"][0], document["citations"][2]
    assert [first[key] for key in ("claim", "source_id", "quote")] == [
        "The Eddystone lighthouse is 49 metres tall", "src_1", "It is 49 metres tall and built of granite blocks.",
    ]  # fmt: skip
    assert (first["verdict"], first["start"], first["end"], first["page"]) == ("supported", 40, 89, None)
    assert third["quote"] is None
    source = document["sources"][0]
    assert [source[key] for key in ("id", "url", "title", "domain", "published_at")] == [
        "src_1", "https://trinity.example/eddystone", "Eddystone Lighthouse", "trinity.example", "2024-05-01T00:00:00Z",
    ]  # fmt: skip
    assert [one["used"] for one in document["sources"]] == [True, True, True, False]
    assert (metadata["duration_ms"], metadata["sources_considered"], metadata["cached"]) == (12340, 15, False)
    assert metadata["created_at"] == metadata["completed_at"] == "2026-03-14T12:00:00Z"
    assert (metadata["model"], metadata["tokens"], metadata["cost_usd"]) == ("gpt-test", 5120, 0.004)
    assert (metadata["queries"], metadata["providers"]) == (list(samples.RESULT.queries), ["tavily", "wikipedia"])
    assert not regex.search(rf"\][{_MARKS}]", json.dumps(document, ensure_ascii=False))


@pytest.mark.parametrize(
    "job", [samples.PENDING, samples.RUNNING, samples.FAILED, samples.CANCELLED], ids=lambda j: j.status
)
def test_json_of_a_job_without_answer_keeps_its_shape(job):
    """`answer` is null until complete; lists are empty, never missing; a failure says why."""
    document = job_json(job, None, [])

    full = job_json(samples.COMPLETED, samples.RESULT, samples.SOURCES)
    assert document.keys() == full.keys()
    assert document["metadata"].keys() == full["metadata"].keys()
    assert document["answer"] is None
    assert document["citations"] == document["sources"] == []
    assert (document["error"] is not None) == (job.status is JobStatus.FAILED)
    assert json.loads(json.dumps(document)) == document


def test_cached_answer_says_when_it_was_made():
    result = replace(samples.RESULT, cached_at="2026-03-10T08:30:00+00:00")

    document = job_json(samples.COMPLETED, result, samples.SOURCES)

    assert document["metadata"]["cached"] is True
    assert "answered 10 March 2026, 08:30 UTC" in wording.footer(result, 4)


def test_sources_json_previews_the_text_as_read():
    """G-01: the first 500 characters, and whether the answer cites it."""
    long = replace(samples.SOURCES[3], content="word " * 400)

    entries = sources_json(samples.COMPLETED, samples.RESULT, [samples.SOURCES[0], long])["sources"]

    assert entries[0]["content_preview"] == samples.SOURCES[0].content
    assert [entry["used_in_citations"] for entry in entries] == [True, False]
    assert len(entries[1]["content_preview"]) <= 500


def test_json_names_no_folder_of_this_machine():
    """Of a file its name and heading: neither as a source nor in a mode's own view."""
    file = "file:///srv/secret%20folder/handbook.md#Notice"
    source = replace(samples.SOURCES[0], url=file)
    result = replace(samples.RESULT, details={"sources": [{"url": file}], "text": f"See <{file}>, and it."})

    shown = for_others(job_json(samples.COMPLETED, result, [source]))

    assert shown["sources"][0]["url"] == "file:handbook.md#Notice"
    assert shown["result"] == {
        "sources": [{"url": "file:handbook.md#Notice"}],
        "text": "See <file:handbook.md#Notice>, and it.",
    }
    assert "secret" not in json.dumps([shown, for_others(sources_json(samples.COMPLETED, result, [source]))])


def test_times_are_iso_8601_in_utc():
    eastern = datetime(2026, 1, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))

    assert iso_utc(eastern) == "2025-12-31T23:30:00Z"
    assert iso_utc(datetime(2026, 1, 1)) == "2026-01-01T00:00:00Z"  # noqa: DTZ001 -- the case at hand
    assert iso_utc(None) is None


@pytest.mark.parametrize(
    ("text", "claims", "expected"),
    [
        pytest.param("A is B [1].", [claim("A is B.", (1, Verdict.SUPPORTED))], "A is B [1]✓.", id="one"),
        pytest.param(
            "A is B [1][2]. C is D [2].",
            [claim("A is B.", (1, Verdict.SUPPORTED), (2, Verdict.PARTIAL)), claim("C is D.", (2, Verdict.MOVED))],
            "A is B [1]✓[2]◐. C is D [2]↪.",
            id="each its own",
        ),
        pytest.param(
            "A is B. [1] C is D.", [claim("A is B.", (1, Verdict.PARTIAL))], "A is B. [1]◐ C is D.", id="after the stop"
        ),
        pytest.param("[1] says A.", [claim("says A.", (1, Verdict.SUPPORTED))], "[1]✓ says A.", id="in front"),
        pytest.param(
            "A is B [1, 2].",
            [claim("A is B.", (1, Verdict.SUPPORTED), (2, Verdict.PARTIAL))],
            "A is B [1, 2]◐.",
            id="group shows the weakest",
        ),
        pytest.param("A is B [3].", [claim("A is B.", (1, Verdict.SUPPORTED))], "A is B [3]◐.", id="no evidence"),
        pytest.param("x = row[1] + 2", [], "x = row[1] + 2", id="code"),
        pytest.param(
            "甲は乙だ[1]。丙も。", [claim("甲は乙だ。", (1, Verdict.SUPPORTED))], "甲は乙だ[1]✓。丙も。", id="cjk"
        ),
    ],
)
def test_marks_stand_behind_their_bracket(text: str, claims: list[Claim], expected: str):
    assert marked_text(text, claims) == expected


_words = st.lists(st.sampled_from(["tower", "rock", "49 m", "[1]", "[2]", "[1, 3]", ".", "。", "\n"]), max_size=30)
_claims = st.lists(
    st.builds(
        claim,
        st.sampled_from(["tower rock", "rock 49 m.", "49 m tower", ""]),
        st.tuples(st.integers(1, 3), st.sampled_from(Verdict)),
    ),
    max_size=5,
)


@given(_words, _claims)
def test_marks_are_only_inserted(words: list[str], claims: list[Claim]):
    """Taking the marks out gives back the text, whatever the claims."""
    text = " ".join(words)

    marked = marked_text(text, claims)

    assert regex.sub(rf"(?<=\])[{_MARKS}]", "", marked) == text


def test_marks_of_a_section_come_from_its_own_claims():
    assert marked_section(samples.ANSWER, "summary") == "The Eddystone lighthouse is 49 metres tall [1]✓[2]◐."
    assert "on its rock [2]◐." in marked_section(samples.ANSWER, "detail")


@given(st.text(st.characters()), st.integers(1, 80))
def test_cut_keeps_the_limit_and_never_splits_a_grapheme(text: str, limit: int):
    """At most `limit` code points, and what is left is a run of whole graphemes."""
    shorter = cut(text, limit)

    assert len(shorter) <= limit
    if shorter != text:
        kept = shorter.removesuffix("…")
        whole = regex.findall(r"\X", text)
        assert any("".join(whole[:count]).rstrip() == kept for count in range(len(whole) + 1))


def test_cut_leaves_a_family_whole():
    family = "👩‍👩‍👧‍👦"

    assert cut(family * 3, len(family) + 3) == family + "…"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("\x1b[1;31mred\x1b[0m", "red", id="colour"),
        pytest.param("\x1b]8;;https://evil.test\x1b\\label\x1b]8;;\x1b\\", "label", id="hyperlink"),
        pytest.param("\x1b]0;title\x07rest", "rest", id="window title"),
        pytest.param("\x1b]never ended", "never ended", id="unfinished string keeps the text"),
        pytest.param("\x9b31mred", "red", id="8-bit control"),
        pytest.param("exe.\u202egpj", "exe.gpj", id="bidi override"),
        pytest.param("a\u2066b\u2069", "ab", id="isolate"),
        pytest.param("a\r\nb\u2028c\rd", "a\nb\ncd", id="line ends"),
        pytest.param("a\x00b\x7f", "ab", id="controls"),
        pytest.param("a\ud800b", "a\ufffdb", id="lone surrogate"),
        pytest.param("می\u200cخواهم 👩‍👧", "می\u200cخواهم 👩‍👧", id="joiners stay"),
    ],
)
def test_printable_takes_out_what_acts_or_hides(text: str, expected: str):
    assert printable(text) == expected


@given(st.text(st.characters()))
def test_printable_text_can_always_be_written(text: str):
    """Encodable, free of controls, and stable under a second pass."""
    safe = printable(text)

    safe.encode("utf-8")
    assert not [char for char in safe if ord(char) < 0x20 and char not in "\n\t"]
    assert "\x1b" not in safe
    assert "\n" not in one_line(text)


def test_markdown_keeps_the_answer_without_marks():
    """Saved Markdown parses by every citation grammar and lists sources and what was removed."""
    document = answer_markdown(samples.COMPLETED, samples.RESULT, samples.SOURCES)

    assert document.startswith(f"# {samples.QUESTION}\n")
    assert "49 metres tall [1][2]." in document
    assert not regex.search(rf"\][{_MARKS}]", document)
    assert "[1] Eddystone Lighthouse. trinity.example, 1 May 2024. <https://trinity.example/eddystone>" in document
    assert "## Removed: could not be confirmed\n\n- It was painted green in 1990. (no source says it)" in document
    assert "| 51 metres | [3] |" in document
    assert "\n\n## Read, not cited\n\n[4] " in document


def test_a_title_that_asks_keeps_its_own_stop():
    asking = replace(samples.SOURCES[0], title="How tall is it?")

    document = answer_markdown(samples.COMPLETED, samples.RESULT, [asking])

    assert "[1] How tall is it? trinity.example, 1 May 2024. <https://" in document


def test_markdown_forms_no_link_of_a_title_and_keeps_the_folders_of_files_to_itself():
    """Whoever is handed the document learns the file's name, not where the operator keeps it."""
    hostile = replace(samples.SOURCES[0], title="[fda.gov](https://evil.test) | x")
    local = replace(samples.SOURCES[1], url="file:///srv/secret/my%20notes.md#How", title="")

    document = answer_markdown(samples.COMPLETED, samples.RESULT, [hostile, local])

    assert "](https://evil.test)" not in document.replace("\\]", "")
    assert "File my notes.md\n" in document
    assert "secret" not in document


@pytest.mark.parametrize(
    ("result", "count", "expected"),
    [
        pytest.param(samples.RESULT, 8, "12.3 s · 8 sources · $0.004", id="as the documents show it"),
        pytest.param(samples.INSUFFICIENT_RESULT, 1, "0.8 s · 1 source", id="free"),
        pytest.param(JobResult(None, duration_s=200.4), 0, "3 min 20 s · 0 sources", id="minutes"),
        pytest.param(JobResult(None, duration_s=59.97), 0, "1 min 0 s · 0 sources", id="no 60.0 s"),
    ],
)
def test_footer(result: JobResult, count: int, expected: str):
    assert wording.footer(result, count) == expected


@pytest.mark.parametrize(
    ("answer", "headline"),
    [
        pytest.param(
            replace(samples.ANSWER, confidence=Confidence.HIGH),
            "High (3 corroborating sources)",
            id="as S003-20 shows it",
        ),
        pytest.param(
            replace(samples.ANSWER, citations=samples.ANSWER.citations[:1]), "Medium (1 cited source)", id="one"
        ),
        pytest.param(replace(samples.ANSWER, corroborating=2), "Medium (2 corroborating sources)", id="one a copy"),
        pytest.param(replace(samples.ANSWER, corroborating=0), "Medium (3 cited sources)", id="one voice"),
        pytest.param(
            replace(samples.ANSWER, citations=samples.ANSWER.citations[2:3], confidence=Confidence.LOW),
            "Low (citations unchecked)",
            id="unchecked",
        ),
        pytest.param(samples.INSUFFICIENT_RESULT.answer, "Insufficient (no source answers this)", id="none"),
    ],
)
def test_confidence_headline(answer, headline: str):
    """S003-20: unchecked citations corroborate nothing."""
    assert wording.confidence_headline(answer) == headline


def test_every_status_and_verdict_shown_has_words():
    assert set(wording.STATUS_MESSAGES) == set(JobStatus)
    assert set(wording.CONFIDENCE_WORDS) == set(Confidence)
    assert set(wording.MARK_MEANINGS) == set(Verdict)


def test_titles_tell_the_endings_apart():
    """D11: not enough sources is never mixed up with a failure."""
    titles = [
        wording.title(samples.COMPLETED, samples.RESULT),
        wording.title(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT),
        wording.title(samples.FAILED, None),
        wording.title(samples.CANCELLED, None),
        wording.title(samples.RUNNING, None),
    ]

    assert titles == ["Research Complete", "Not Enough Sources", "Research Failed", "Research Cancelled", "Searching"]


LIMITATION_LINES = {
    "sentences": (
        ("All is from 2019.", "No primary source was found."),
        "All is from 2019. No primary source was found.",
    ),
    "quoted": (("It says: “No figure.”", "All is from 2019."), "It says: “No figure.” All is from 2019."),
    "remarks": (("newest is from May", "a.test: forbidden"), "newest is from May; a.test: forbidden"),
    "both": (("a.test: forbidden", "All is from 2019."), "a.test: forbidden; All is from 2019."),
}


@pytest.mark.parametrize(("limitations", "line"), LIMITATION_LINES.values(), ids=LIMITATION_LINES)
def test_limitations_on_one_line_read_as_sentences(limitations: tuple[str, ...], line: str):
    """No semicolon stands behind a full stop."""
    assert wording.limitations_line(limitations) == line
