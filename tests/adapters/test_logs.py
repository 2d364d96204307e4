"""Log lines carry the job's id and never a secret (S003-25)."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import logging
import re
import time
from datetime import datetime
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.observability import _PATTERNS, REDACTED, Redactor, configure_logging
from core.model.ports import job_id_var

logger = logging.getLogger("core.pipeline.runner")
PLANTED = 'p"4ss wörd\\/+9'  # every character that some encoding changes


@pytest.fixture(autouse=True)
def _restored_logging():
    """Each test leaves the process's logging as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(False)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def configured(level="DEBUG", **options) -> io.StringIO:
    stream = io.StringIO()
    configure_logging(level, stream=stream, **options)
    return stream


def test_line_carries_time_level_logger_event_and_extra_fields():
    """S003-25: a machine can read when, where, what and how long."""
    stream = configured()

    logger.info("stage %s ended", "plan", extra={"stage": "plan", "duration_s": 0.25, "counts": {"timeout": 2}})

    (line,) = lines(stream)
    assert datetime.fromisoformat(str(line.pop("ts"))).tzinfo is not None
    assert line == {
        "level": "info",
        "logger": "core.pipeline.runner",
        "event": "stage plan ended",
        "stage": "plan",
        "duration_s": 0.25,
        "counts": {"timeout": 2},
    }


def test_a_terminal_is_shown_lines_for_people_and_nothing_that_moves_its_cursor():
    """`gorkd all` is started by hand, too; secrets stay out, and what a page or a peer wrote is no command to it."""
    stream = io.StringIO()
    stream.isatty = lambda: True
    configure_logging("info", stream=stream, secrets=["a-secret-word"])

    logger.warning("page \x1b[2J of a-secret-word", extra={"url": "https://a.test/\x9b1", "seconds": 0.25})
    try:
        raise ValueError("no\x07 answer")
    except ValueError:
        logger.exception("job broke")

    first, *rest = stream.getvalue().splitlines()
    assert re.fullmatch(
        r"\d\d:\d\d:\d\d warning page \\x1b\[2J of \[redacted\] url=https://a\.test/\\x9b1 seconds=0\.25", first
    )
    assert rest[0].endswith("error job broke")
    assert rest[1] == "Traceback (most recent call last):"
    assert rest[-1] == "ValueError: no\\x07 answer"


async def test_lines_of_concurrent_jobs_carry_their_own_id():
    """S003-25: whatever is logged while a job runs names it; outside a job there is none."""
    stream = configured()

    async def run(job_id: str) -> None:
        job_id_var.set(job_id)
        await asyncio.sleep(0)
        logger.info("working", extra={"expected": job_id})

    await asyncio.gather(run("job_1"), run("job_2"))
    logger.info("idle")

    *working, idle = lines(stream)
    assert [line["job_id"] for line in working] == [line["expected"] for line in working] == ["job_1", "job_2"]
    assert "job_id" not in idle


def test_exception_is_one_line_with_its_traceback():
    """A traceback stays with its line."""
    stream = configured()

    try:
        raise RuntimeError("broken")
    except RuntimeError:
        logger.exception("job failed")

    (line,) = lines(stream)
    assert "RuntimeError: broken" in str(line["exception"])
    assert "test_logs.py" in str(line["exception"])


def test_extra_called_event_does_not_replace_the_message():
    """Both are kept."""
    stream = configured()

    logger.info("sent", extra={"event": "status"})

    assert [(line["event"], line["extra_event"]) for line in lines(stream)] == [("sent", "status")]


def test_level_is_a_floor_and_vendors_speak_from_warning_on():
    """A vendor's debug lines carry whole requests, so they stay out even at DEBUG."""
    stream = configured("DEBUG")

    for vendor in ("httpx", "openai._base_client", "discord.gateway", "slack_bolt.App", "slack_sdk.web"):
        logging.getLogger(vendor).info("request sent")
        logging.getLogger(vendor).warning("trouble")
    logger.debug("ours")

    assert [line["event"] for line in lines(stream)] == ["trouble"] * 5 + ["ours"]


def test_configuring_again_replaces_and_does_not_double():
    """The second stream gets the line once, the first one none."""
    first = configured()

    second = configured("INFO")
    logger.info("once")
    logger.debug("not at all")

    assert first.getvalue() == ""
    assert [line["event"] for line in lines(second)] == ["once"]


def test_unknown_level_is_refused():
    with pytest.raises(ValueError, match="LOUD"):
        configure_logging("loud", stream=io.StringIO())


def test_a_message_is_redacted_as_fields_are():
    stream = configured(secrets=[PLANTED])

    logger.warning("refused: %s", PLANTED, extra={"stage": "search"})

    assert "search" in stream.getvalue()
    assert REDACTED in stream.getvalue()
    assert PLANTED not in stream.getvalue()


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(PLANTED, id="plain"),
        pytest.param(json.dumps({"key": PLANTED}), id="in JSON"),
        pytest.param(json.dumps(json.dumps([PLANTED], ensure_ascii=False)), id="in JSON in JSON"),
        pytest.param(repr([PLANTED]), id="in a repr"),
        pytest.param(ascii([PLANTED]), id="in an ASCII repr"),
        pytest.param(repr(PLANTED.encode()), id="in a repr of bytes"),
        pytest.param(f"https://example.org/?x={quote(PLANTED, safe='')}", id="percent-encoded"),
        pytest.param(f"https://example.org/?x={quote_plus(PLANTED).lower()}", id="percent-encoded in lower case"),
        pytest.param(base64.b64encode(PLANTED.encode()).decode(), id="Base64"),
        pytest.param(base64.urlsafe_b64encode(f"user:{PLANTED}:".encode()).decode(), id="Base64 among others"),
    ],
)
@pytest.mark.parametrize("level", [logging.DEBUG, logging.ERROR], ids=["debug", "error"])
def test_known_secret_is_in_no_part_of_a_line(form, level):
    """As it is or encoded; in the message, its arguments, extras however deep, their names, and exceptions."""
    stream = configured(secrets=[PLANTED])

    try:
        raise ValueError(f"cannot use {form}")
    except ValueError as error:
        fields = {"url": form, "deep": {"list": [{"inner": form}], form: 1}, "error": error, "raw": form.encode()}
        logger.log(level, "before %s after", form, extra=fields, exc_info=True)

    (line,) = lines(stream)
    written = json.dumps(line, ensure_ascii=False) + stream.getvalue()
    core = base64.b64encode(PLANTED.encode()).decode()[3:-4]
    for trace in (PLANTED, PLANTED[3:], "4ss w", "4ss%20w", "4ss+w", core):
        assert trace not in written
    assert str(line["event"]).startswith("before ")
    assert REDACTED in str(line["event"])


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-Ab3_9xYz-0123456789",
        "tvly-dev-0123456789abcdef",
        "xoxb-1234567890-abcdefghij",
        "xapp-1-A0123-456-abcdef0123",
        "xoxe.xoxp-1-Mi0yLTEyMzQ1Ng",
        "MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDe.abcdefghijklmnopqrstuvwxyz0",
        "Bearer abc.def-ghi",
        "authorization: Basic dXNlcjpwYXNz",
        "x-api-key: 1b9d6bcd-bbfd-4b2d",
        "{'Authorization': 'Bot whatever1'}",
        "https://example.org/a?key=hunter2-value&page=2",
        "https://example.org/a?page=2&token=hunter2-value",
        "https://example.org/a?api_key=hunter2-value#top",
        "https://example.org/jobs/job_1?sig=hunter2-value",
        "next=%2Fjobs%3Fsig%3Dhunter2-value",
        '{"client_secret": "hunter2-value"}',
        "redis://:hunter2-value@host:6379/0",
        "postgresql://gorkd:hunter2-value@host/db",
    ],
)
def test_what_looks_like_a_secret_is_removed_although_nobody_named_it(text):
    """Keys of the vendors in use, authorization headers, signed links, passwords in addresses."""
    secret = max(text.replace("#top", "").replace("&page=2", "").split("hunter2-value"), key=len)
    gone = "hunter2-value" if "hunter2-value" in text else secret.strip("{}'\"").split(" ")[-1]

    redacted = Redactor().redact(f"could not call {text} in 10 s")

    assert gone not in redacted
    assert REDACTED in redacted
    assert redacted.startswith("could not call ")
    assert redacted.endswith(" in 10 s")


NAMED = """
sk-abcdefgh12345;tvly-abcdefgh1234;xoxb-12345678-abcdefgh;xapp-1-A123456789;xoxe.xoxp-1-abcdefghij;Bearer abcdefgh
bearer%20abcd1234;basic dXNlcjpwYXNz1;bot 12345678;bot%20MTIz4567890;authorization: Token abcdef;authorization=abcdef
x-api-key: abcdef;"x-api-key":"abcdef";?api_key=abcdef;&apikey=abcdef;api-key%3Dabcdef;?token=abcdef;x_token%3dabcdef
&sig=abcdef;signature=abcdef;my-secret=abcdef;password=abcdef;'key': 'abcdef';"api_key" : "abcdef";%26sig%3Dabcdef
"client_secret":"abcdef";'password':'abcdef';'sig':'abcdef';https://user:abcdef@host/;redis://:abcdef@host
"""


@pytest.mark.parametrize("letters", ["", "upper", "i\u0131", "i\u0130", "k\u212a", "s\u017f"])
def test_no_secret_is_passed_over_for_how_its_name_is_written(letters: str):
    """Each pattern is tried only where one of its marks stands: that must be wherever it would find something."""
    for form in NAMED.strip().replace("\n", ";").split(";"):
        text = f"so {form.upper() if letters == 'upper' else form.replace(*letters) if letters else form} it is"
        found = text
        for _, pattern, replacement in _PATTERNS:
            found = re.sub(pattern, replacement, found)

        assert Redactor().redact(text) == found
        assert letters or REDACTED in found


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/a?q=why+is+the+sky+blue&page=2",
        "no provider answered in 10 s: tavily (timeout), exa (429)",
        "4096 tokens used, monkey=7, the bot is running quickly, basic research continues",
        "job_8Jr1wq3 src_1 task-list-item 2026-03-01T12:00:00+00:00",
    ],
)
def test_ordinary_text_stays_as_it_is(text):
    """Redaction must not eat what the log is for."""
    assert Redactor(["", "ab", "the"]).redact(text) == text


def test_field_named_like_a_secret_loses_its_text_but_counts_stay():
    """`token` is one, `tokens` are counted."""
    redactor = Redactor()

    assert redactor.redact_field("slack_bot_token", "opaque") == REDACTED
    assert redactor.redact_field("headers", {"Authorization": "opaque"}) == {"Authorization": REDACTED}
    assert redactor.redact_field("tokens", 120) == 120


@given(
    secret=st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=6),
    before=st.binary(max_size=5),
    after=st.binary(max_size=5),
)
def test_base64_of_a_secret_among_other_bytes_cannot_be_decoded_back(secret, before, after):
    """Law: what is left of the Base64 text does not hold the secret's digits."""
    encoded = base64.b64encode(before + secret.encode() + after).decode()

    redacted = Redactor([secret]).redact(encoded)

    assert REDACTED in redacted
    for piece in redacted.split(REDACTED):
        for start in range(4):
            digits = piece[start:].rstrip("=")
            assert secret.encode() not in base64.b64decode(digits[: len(digits) // 4 * 4])


@given(st.dictionaries(st.text(), st.floats() | st.text() | st.none() | st.lists(st.text())))
def test_every_line_is_one_line_of_strict_json(fields):
    """Whatever an extra holds, the line can be parsed, also by readers that know no NaN."""
    stream = configured()

    logger.info("measured", extra={"fields": fields})

    (line,) = stream.getvalue().splitlines()
    assert json.loads(line, parse_constant=pytest.fail)["event"] == "measured"


def test_faulty_log_call_does_not_print_its_arguments(capsys):
    """The standard library would show them on standard error, secrets and all."""
    logging.getLogger().handlers[:] = []  # the test runner's own handler fails on purpose
    stream = configured()

    logger.info("%d pages", "sk-0123456789abcdef")

    assert stream.getvalue() == ""
    assert "could not be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    ["a-" * 50_000, "bearer " * 20_000, "authorization" + " " * 100_000, "://a:" * 20_000, "key" * 30_000],
    ids=["hyphens", "bearer", "blanks", "addresses", "key"],
)
def test_hostile_text_is_redacted_in_little_time(text):
    """Web text ends up in error messages; no pattern may take more than linear time on it."""
    began = time.process_time()

    Redactor(["secret-value"]).redact(text)

    assert time.process_time() - began < 1.0
