"""Calls to a model as values: completing, retrying, counting, pricing, and reading JSON as it grows."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.llm.ask_model import (
    MAX_RETRY_WAIT_S,
    AnswerStream,
    DraftAnswer,
    DraftCitation,
    SectionUpdate,
    ask_model,
    complete,
    read_prose,
    retry_once,
    strict,
)
from core.llm.prices import cost_usd, estimate_tokens
from core.model.answer import ModelUsage
from core.model.errors import GorkdError, ModelGarbled, ModelRateLimited, ModelRejected, ModelTimeout, ModelUnavailable
from core.model.job import Json
from core.model.ports import ChatDelta, ChatRequest
from core.text.growing_json import PartialJson, loose_texts, parse_object

REQUEST = ChatRequest("answer", "Cite every claim.", "What is a cygnet?", "answer", {}, max_tokens=9, timeout_s=1.0)
VALUE = {
    "summary": "A cygnet is a young swan [1]. It is grey [2].",
    "detail": 'Called "cygnet" since\n1400 \\ 天鹅 🦢.',
    "citations": [{"claim": "A cygnet is a young swan.", "source_id": "1", "quote": "a young swan"}],
}
DRAFT = DraftAnswer(
    summary=VALUE["summary"],
    detail=VALUE["detail"],
    citations=(DraftCitation("A cygnet is a young swan.", "1", "a young swan"),),
)
ANSWER = json.dumps(VALUE)


class Scripted:
    """A model that sends the given deltas."""

    name = "scripted"

    def __init__(self, *deltas: ChatDelta) -> None:
        self._deltas = deltas

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        for delta in self._deltas:
            yield delta


def fed(*texts: str) -> tuple[AnswerStream, list[SectionUpdate]]:
    """A stream that has been given `texts`, and all updates it made."""
    stream = AnswerStream()
    updates = [update for text in texts for update in stream.feed(ChatDelta(text=text))]
    return stream, updates


async def test_completion_joins_the_pieces_and_keeps_the_usage():
    """One value out of a stream: the text and what it cost."""
    usage = ModelUsage(prompt_tokens=5, completion_tokens=2)

    completion = await complete(Scripted(ChatDelta("{"), ChatDelta("}"), ChatDelta(usage=usage)), REQUEST)

    assert (completion.text, completion.cost(REQUEST)) == ("{}", usage)


async def test_usage_nobody_reports_is_estimated():
    """Cost is never unknown, and an estimate says that it is one."""
    completion = await complete(Scripted(ChatDelta("young swan")), REQUEST)

    usage = completion.cost(REQUEST)
    assert usage.is_estimated
    assert usage.prompt_tokens == estimate_tokens(REQUEST.system) + estimate_tokens(REQUEST.user)
    assert usage.completion_tokens == estimate_tokens("young swan")


class Asked:
    """A model that gives one answer a request, in order, and keeps what it was asked; None is one that never comes."""

    name = "asked"

    def __init__(self, *answers: ChatDelta | GorkdError | None) -> None:
        self._answers = list(answers)
        self.requests: list[ChatRequest] = []

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        self.requests.append(request)
        answer = self._answers.pop(0)
        if answer is None:
            await asyncio.Event().wait()
        elif isinstance(answer, GorkdError):
            raise answer
        else:
            yield answer


NUMBER = replace(REQUEST, schema_name="number", schema=strict({"n": {"type": "integer"}, "why": {"type": "string"}}))
WHOLE, PART = ChatDelta('{"n": 3, "why": "so"}'), ChatDelta('{"n": 3, "wh')
CUT = replace(PART, is_cut=True)


def number_of(fields: Mapping[str, Json]) -> int | None:
    value = fields.get("n")
    return value if isinstance(value, int) else None


@pytest.mark.parametrize(
    ("answers", "is_once", "value", "asked"),
    [
        pytest.param([WHOLE], False, 3, [(9, False)], id="read at once"),
        pytest.param([ChatDelta("three"), WHOLE], False, 3, [(9, False), (9, True)], id="no object: in words"),
        pytest.param([ChatDelta('{"m": 1}'), PART], False, 3, [(9, False), (9, True)], id="the second in part"),
        pytest.param([CUT, WHOLE], False, 3, [(9, False), (18, False)], id="cut: more room"),
        pytest.param([ModelGarbled("empty"), WHOLE], False, 3, [(9, False), (9, True)], id="an empty answer: in words"),
        pytest.param([ChatDelta("a"), ChatDelta("b")], False, None, [(9, False), (9, True)], id="twice nothing"),
        pytest.param([PART], True, 3, [(9, False)], id="once: a part will do"),
        pytest.param([ChatDelta("three")], True, None, [(9, False)], id="once: nothing is nothing"),
    ],
)
async def test_a_model_is_asked_as_what_it_said_before_tells(answers, is_once, value, asked):
    """One way for all that is asked of a model: in words after no object, with more room after a cut (S003-23)."""
    model = Asked(*answers)

    told = await ask_model(model, NUMBER, number_of, is_once=is_once)

    assert told.value == value
    assert [(request.max_tokens, request.in_words) for request in model.requests] == asked
    assert (told.unread is None) == (value is not None)
    assert len(told.usage) == sum(isinstance(answer, ChatDelta) for answer in answers)


async def test_whoever_listens_hears_all_that_comes():
    """Of the second try too, so that searches may begin while a plan is still being written."""
    heard: list[str] = []

    await ask_model(Asked(ChatDelta("three"), WHOLE), NUMBER, number_of, hear=lambda delta: heard.append(delta.text))

    assert heard == ["three", WHOLE.text]


async def test_an_answer_that_does_not_come_in_time_is_a_timeout():
    """S003-24: of both tries together."""
    with pytest.raises(ModelTimeout, match="no answer in"):
        await ask_model(Asked(None), NUMBER, number_of, within_s=0.01)


class Flaky:
    """A call that raises the given errors, then gives "done"; it remembers how long was slept."""

    def __init__(self, *errors: GorkdError) -> None:
        self.errors = list(errors)
        self.calls = 0
        self.slept: list[float] = []

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.mark.parametrize(
    ("errors", "calls", "slept", "is_done"),
    [
        pytest.param([], 1, [], True, id="works"),
        pytest.param([ModelUnavailable("x")], 2, [0.5], True, id="once"),
        pytest.param([ModelUnavailable("x"), ModelGarbled("y")], 2, [0.5], False, id="twice"),
        pytest.param([ModelRejected("x")], 1, [], False, id="not-retryable"),
        pytest.param([ModelRateLimited("x", retry_after_s=3)], 2, [3], True, id="told-to-wait"),
        pytest.param([ModelRateLimited("x", retry_after_s=0)], 2, [0.5], True, id="told-to-hurry"),
        pytest.param([ModelRateLimited("x")], 2, [0.5], True, id="not-told"),
        pytest.param([ModelRateLimited("x", retry_after_s=MAX_RETRY_WAIT_S + 1)], 1, [], False, id="told-too-long"),
    ],
)
async def test_a_retryable_error_is_tried_once_more(errors, calls, slept, is_done):
    """S003-23: retry once, then fail; wait as long as told, unless that is too long."""
    call = Flaky(*errors)
    last = errors[-1] if errors else None

    try:
        outcome: object = await retry_once(call, sleep=call.sleep)
    except GorkdError as exc:
        outcome = exc

    assert (call.calls, call.slept) == (calls, slept)
    assert outcome == ("done" if is_done else last)


@pytest.mark.parametrize(("remaining_s", "calls"), [(0.4, 1), (0.5, 1), (0.6, 2)])
async def test_no_second_try_where_no_time_is_left(remaining_s, calls):
    """S003-24: a retry that could only miss the deadline is not begun."""
    call = Flaky(ModelUnavailable("x"), ModelUnavailable("y"))

    with pytest.raises(ModelUnavailable):
        await retry_once(call, remaining_s=lambda: remaining_s, sleep=call.sleep)

    assert call.calls == calls


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        # Counted with the o200k vocabulary's published rules in mind: words, three digits, one or two CJK characters.
        pytest.param("The quick brown fox jumps over the lazy dog. " * 10, 100, 150, id="english"),
        pytest.param("天鹅是一种大型水鸟", 6, 12, id="chinese"),
        pytest.param("0123456789" * 30, 100, 200, id="digits"),
        pytest.param("Лебедь — крупная птица", 6, 14, id="russian"),
        pytest.param("🦢" * 10, 10, 30, id="emoji"),
        pytest.param("", 0, 0, id="empty"),
    ],
)
def test_tokens_are_estimated_by_script(text, least, most):
    """The estimate errs high, within a factor that still lets a prompt be filled."""
    assert least <= estimate_tokens(text) <= most


@given(st.text(), st.text())
def test_longer_text_never_costs_fewer_tokens(first, second):
    """Cutting a text can only lower its estimate, and parts cost at least the whole."""
    whole = estimate_tokens(first + second)

    assert max(estimate_tokens(first), estimate_tokens(second)) <= whole
    assert whole <= estimate_tokens(first) + estimate_tokens(second)


@pytest.mark.parametrize(
    ("model", "expected"),
    [("small", 0.0055), ("small-2026-03-17", 0.0055), ("smaller", None), ("", None)],
)
def test_cost_is_tokens_times_price_or_unknown(model, expected):
    """Prices are per million tokens of prompt and completion; a dated name belongs to its family."""
    usage = ModelUsage(prompt_tokens=1000, completion_tokens=1000)

    cost = cost_usd(usage, model, {"small": (0.5, 5.0)})

    assert cost == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ANSWER, id="plain"),
        pytest.param(json.dumps(VALUE, ensure_ascii=False, indent=2), id="pretty"),
        pytest.param(f"```json\n{ANSWER}\n```", id="fence"),
        pytest.param(f"Here is the answer:\n\n```json\n{ANSWER}\n```\nI hope {{this}} helps!", id="prose-and-fence"),
        pytest.param(f'<think>Maybe {{"summary": "no"}}?</think>\n{ANSWER}', id="think"),
        pytest.param(f'Let me see. {{"summary": "no"}} </think>{ANSWER}', id="think-unopened"),
        pytest.param(f"The set {{a, b}} is open. {ANSWER}", id="braces-in-prose"),
        pytest.param(ANSWER + ANSWER, id="twice"),
        pytest.param("\ufeff \n" + ANSWER + " }}}", id="blanks-and-brackets"),
        pytest.param(ANSWER.replace("]}", "],}"), id="trailing-comma"),
        pytest.param(ANSWER.replace(r"\n", "\n"), id="raw-line-break"),
    ],
)
def test_object_is_found_in_whatever_surrounds_it(text):
    """Local models wrap their JSON in thoughts, prose and fences, and write it by hand."""
    assert parse_object(text) == VALUE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'{"a": "\d+ \alpha C:\dir"}', r"\d+ \alpha C:\dir"),
        (r'{"a": "\ud83e\udda2 and \ud83e alone"}', "🦢 and � alone"),
        ('{"a": "\ud83e\udda2 and \ud83e alone"}', "🦢 and � alone"),
        (r'{"a": "\u12 cut"}', r"\u12 cut"),
        ('{"a": "tab\there"}', "tab\there"),
    ],
)
def test_slips_inside_strings_are_mended(text, expected):
    """An invalid escape or half a surrogate pair costs that character, not the answer."""
    assert parse_object(text) == {"a": expected}


@pytest.mark.parametrize(
    "text",
    [
        ANSWER[:-1],
        '{"a": {"b": 1}, "c": [',
        '<think>{"a": 1}',
        '<think>{"a": 1}</think>{"a',
        "",
        " ",
        "no",
        "{}",
        "[]",
        '["a"]',
        '"a"',
        "{",
        '{"a": 1',
        '{"a": NaN}',
        "{'a': 1}",
        '{"a":' * 5000,
        "{" * 5000,
    ],
    ids=lambda text: text[:10] or "empty",
)
def test_what_holds_no_object_is_garbled(text):
    """Half an object is none: a plan must not be acted upon when its end is missing.

    The error goes into the log, so it has nothing of the answer.
    """
    with pytest.raises(ModelGarbled) as garbled:
        parse_object(text)

    assert str(garbled.value) == f"no JSON object in {len(text)} characters of answer"


@given(st.text())
@example('{"' * 300)
@example('<think>{"a":')
def test_any_text_is_read_or_refused(text):
    """No text makes the reader fail in another way."""
    try:
        assert isinstance(parse_object(text), dict)
    except ModelGarbled:
        growing = PartialJson()
        growing.feed(text)
        assert isinstance(growing.value, dict)


JSON_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
ANSWERS = st.fixed_dictionaries(
    {
        "summary": JSON_TEXT,
        "detail": JSON_TEXT,
        "citations": st.lists(
            st.fixed_dictionaries({"claim": JSON_TEXT, "source_id": JSON_TEXT, "quote": JSON_TEXT}), max_size=3
        ),
    }
)


@given(ANSWERS, st.booleans(), st.sampled_from(["", "```json\n", "Sure: ", "<think>{hm}</think>"]), st.data())
def test_any_prefix_of_an_answer_gives_a_prefix_of_each_section(value, ascii_only, before, data):
    """What is shown while streaming never has to be taken back, wherever the stream ends."""
    text = before + json.dumps(value, ensure_ascii=ascii_only)
    cut = data.draw(st.integers(0, len(text)))

    stream, _ = fed(text[:cut])
    draft = stream.finish()

    assert value["summary"].startswith(draft.summary)
    assert value["detail"].startswith(draft.detail)
    assert draft.is_complete == (cut == len(text))


@given(ANSWERS, st.data())
def test_sections_only_grow_and_end_as_written(value, data):
    """However an answer is cut into deltas, each update continues the one before, and the last is the section."""
    text = json.dumps(value)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    stream, updates = fed(*pieces)
    draft = stream.finish()

    for section in ("summary", "detail"):
        texts = [update.text for update in updates if update.section == section]
        assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
        assert texts[-1] == value[section] == getattr(draft, section)


def test_sections_come_word_by_word_and_say_when_they_are_done():
    """A section is final as soon as its text is closed; nobody waits for the name of what follows."""
    _, updates = fed('{"summary": "A', " cygnet", '.", "detail": "', "Grey.", '"', "}")

    assert updates == [
        SectionUpdate("summary", "A", is_final=False),
        SectionUpdate("summary", "A cygnet", is_final=False),
        SectionUpdate("summary", "A cygnet.", is_final=True),
        SectionUpdate("detail", "", is_final=False),
        SectionUpdate("detail", "Grey.", is_final=False),
        SectionUpdate("detail", "Grey.", is_final=True),
    ]


@pytest.mark.parametrize(
    "pieces",
    [('{"detail": "He said "', "yes", '" and', ' left."}'), ('{"detail": ["One [1].",', ' "Tw', "o [1].")],
    ids=["a quote that is not escaped", "a list"],
)
def test_a_text_that_may_go_on_is_not_final(pieces):
    """The half of a sentence says something else than the whole one."""
    _, updates = fed(*pieces)

    assert not any(update.is_final for update in updates)


def test_thoughts_are_never_shown():
    """An answer drafted inside a thought is not the answer."""
    stream, updates = fed("<think>", '{"summary": "No"}', "</think>", '{"summary": "Yes"')

    assert [update.text for update in updates] == ["Yes"]
    assert stream.finish() == DraftAnswer("Yes", "", is_complete=False)


def test_whole_answer_becomes_a_draft():
    """S003-17: summary, detail and citations as the model gave them."""
    stream, _ = fed(*ANSWER)

    assert stream.finish() == DRAFT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"summary": ["One.", "Two."]}', DraftAnswer("One.\nTwo.", ""), id="list"),
        pytest.param('{"summary": [{"text": "One."}, null, 2]}', DraftAnswer("One.\n2", ""), id="list-of-objects"),
        pytest.param('{"summary": null, "detail": 3.5}', DraftAnswer("", "3.5"), id="null-and-number"),
        pytest.param('{"summary": "One.", "detail": true}', DraftAnswer("One.", ""), id="boolean"),
        pytest.param('{"answer": {"summary": "One."}}', DraftAnswer("One.", ""), id="wrapped"),
        pytest.param('{"detail": "D.", "summary": "S."}', DraftAnswer("S.", "D."), id="other-order"),
        pytest.param('{"other": 1}', DraftAnswer("", "", is_complete=False), id="no-section"),
        pytest.param("I do not know.", DraftAnswer("", "", is_complete=False), id="prose"),
        pytest.param(
            '{"summary": "S.", "citations": [{"claim": "c", "source_id": 1}, "x", 3, {"source_id": "src_2"}]}',
            DraftAnswer("S.", "", (DraftCitation("c", "1", ""), DraftCitation("", "src_2", ""))),
            id="odd-citations",
        ),
        pytest.param(
            '{"summary": "S.", "citations": {"claim": "c", "source_id": " 1 ", "quote": null}}',
            DraftAnswer("S.", "", (DraftCitation("c", "1", ""),)),
            id="one-citation",
        ),
    ],
)
def test_wrong_types_are_made_the_best_of(text, expected):
    """A model that misses the schema still gives an answer, as far as there is text in it."""
    stream, _ = fed(text)

    assert stream.finish() == expected


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    ("behind", "detail", "is_complete"),
    [('is old.", "citations": []}', 'The word "cygnet" is old.', True), ("is old", "The word ", False)],
    ids=["whole", "cut off"],
)
def test_text_before_a_fault_is_kept(size, behind, detail, is_complete):
    """Unescaped quotes end what can be read of an answer that is cut off; of a whole one they cost nothing."""
    text = '{"summary": "A cygnet is a young swan.", "detail": "The word "cygnet" ' + behind
    stream, _ = fed(*(text[start : start + size] for start in range(0, len(text), size)))

    draft = stream.finish()

    assert draft == DraftAnswer("A cygnet is a young swan.", detail, is_complete=is_complete)


@pytest.mark.parametrize(
    "text",
    [
        "{'summary': 'It\\'s a \\u5929 \\ud83d\\ude00.', 'detail': \"More.\", 'citations': []}",
        "{“summary”: “It’s a \\u5929 😀.”, “detail”: “More.”}",
        '```\n{summary: "It\'s a 天 😀.",\n detail: "More."}\n```',
        '{"Zusammenfassung": "It is a \\u5929 😀.", "Einzelheiten": "More of it is known."}',
    ],
    ids=["python", "curly", "bare", "translated"],
)
def test_what_only_looks_like_an_answer_is_read_to_its_end(text):
    """N-05: quotes and names as a model likes them."""
    stream, _ = fed(text)

    draft = stream.finish()

    assert draft.is_complete
    assert draft.summary.replace("’", "'").replace("It's", "It is") == "It is a 天 😀."
    assert draft.detail.startswith("More")


def test_of_drafts_that_overlap_nothing_is_taken():
    """A part of one sentence glued to another says what nobody wrote."""
    text = '{"summary": "A cyg{"summary": "A cygnet is{"summary": "A cygnet is young."}'

    assert loose_texts(text, ("summary", "detail")) == {}


def test_questions_in_front_of_the_answer_do_not_end_it():
    """Who writes them first goes on with the summary, which is not broken off then."""
    stream, _ = fed('{"follow_ups": ["Why is')
    assert not stream.is_asking_on

    stream, _ = fed('{"summary": "A cygnet is a young swan.", "follow_ups": ["Why is')
    assert stream.is_asking_on


@pytest.mark.parametrize("tag", ["think", "Thinking", "reasoning"])
def test_what_a_model_thinks_within_a_text_of_its_answer_is_none_of_it(tag: str):
    """Not while it is written either: a sentence of it would be judged, and quoted where deep research is offered."""
    thought = f"<{tag}>Let me see. Is a swan grey? It may be.</{tag}>\\n"
    text = f'{{"summary": "{thought}A cygnet is a young swan [1].", "detail": "Tags are written <think> there."}}'

    stream, updates = fed(*(text[at : at + 3] for at in range(0, len(text), 3)))

    assert {update.text for update in updates if "Let me see" in update.text} == set()
    assert (stream.finish().summary, stream.finish().detail) == (
        "A cygnet is a young swan [1].", "Tags are written <think> there.",
    )  # fmt: skip


def test_usage_of_the_stream_is_kept():
    """The last delta carries the usage and no text."""
    stream = AnswerStream()
    stream.feed(ChatDelta("{"))

    updates = stream.feed(ChatDelta(usage=ModelUsage(3, 4)))

    assert updates == []
    assert stream.heard.usage == ModelUsage(3, 4)


@pytest.mark.parametrize(
    ("chars", "deltas", "limit_s"),
    [
        # CPU time, several times what was measured, so that only a change of order fails.
        pytest.param(8_000, 500, 0.15, id="usual"),
        pytest.param(200_000, 50_000, 2.0, id="200-kB-in-tokens"),
    ],
)
def test_reading_while_streaming_costs_little(chars, deltas, limit_s):
    """S003-24: reading a growing answer stays linear in its length."""
    words = 'Die Schwäne \\"ziehen\\" im Herbst [1].\\n' * (chars // 40)
    text = f'{{"summary": "{words[: len(words) // 4]}", "detail": "{words}", "citations": []}}'
    size = math.ceil(len(text) / deltas)
    started = time.process_time()

    stream, updates = fed(*(text[start : start + size] for start in range(0, len(text), size)))
    draft = stream.finish()

    assert time.process_time() - started < limit_s
    assert draft.is_complete
    assert len(updates) > 200


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("<think>Who?</think>\nClara Voss built it [1].", "Clara Voss built it [1]."),
        ("<think>Who may have built it", None),
        ("Here is the answer.\n\nClara built it [1].\n\nIt is tall [2].", "Clara built it [1]."),
        ("In Lund:\n\nClara built it [1].\n\nIt is tall [2].", "In Lund:\n\nClara built it [1]."),
        ("Clara Voss built it.\n\nIt is tall.", "Clara Voss built it."),
    ],
)
def test_what_a_model_thinks_is_no_part_of_its_prose_and_what_leads_to_it_is(written, said):
    draft = read_prose(written)

    assert (draft.summary if draft else None) == said
