"""What an operator sees of a process: log lines, each with its job's id and none with a secret, and figures.

The project logs with the standard library's `logging`; fields given as `extra={…}` become fields of
the line. Redaction runs on every field and traceback before anything is written.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TextIO
from urllib.parse import quote, quote_plus

import structlog
from prometheus_client import CollectorRegistry, Gauge, Histogram, disable_created_metrics, generate_latest
from structlog.typing import EventDict, Processor

from core.model.ports import Measurement, MeasurementName, job_id_var

REDACTED = "[redacted]"
MIN_SECRET_CHARS = 6  # a shorter "secret" is a word of ordinary text

_VENDORS = (  # chatty below WARNING, and their debug lines carry whole requests
    "aiohttp", "asyncio", "discord", "exa_py", "httpcore", "httpx", "httpx2", "openai", "slack_bolt", "slack_sdk",
    "tavily", "urllib3",
)  # fmt: skip
_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_SECRET_FIELD = re.compile(r"(?i)^(.*[-_])?(api[-_]?key|authorization|cookie|password|secret|sig|signature|token)$")
_NAMES = ("key", "token", "sig", "signature", "secret", "password")
_PARAMETER = rf"(?:[\w-]{{0,40}}[-_])?(?:api[-_]?key|{'|'.join(_NAMES)})"
# What looks like a secret, and what takes its place; tried only on text that holds, in whatever case, one of the marks.
_PATTERNS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("sk-", "tvly-"), r"\b(?:sk|tvly)-[A-Za-z0-9_-]{8,}", REDACTED),  # OpenAI and its kin, Tavily
    (("xox", "xapp"), r"\b(?:xox[a-z]|xapp)(?:\.xox[a-z])?-[A-Za-z0-9-]{8,}", REDACTED),  # Slack
    (("",), r"\b[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,}", REDACTED),  # Discord
    (("bearer",), r"(?i)\b(bearer(?:\s+|%20))[A-Za-z0-9._~+/=%-]{4,}", rf"\1{REDACTED}"),
    (("basic", "bot"), r"(?i)\b((?:basic|bot)(?:\s+|%20))(?=[^\s\"',]*\d)[A-Za-z0-9._~+/=%-]{8,}", rf"\1{REDACTED}"),
    (
        ("authorization", "x-api-key"),
        r"(?i)((?:authorization|x-api-key)[\"']?\s*[:=]\s*[\"']?(?:\w+\s+)?)[^\s\"',;}\[]+",
        rf"\1{REDACTED}",
    ),
    (
        tuple(f"{name}{sign}" for name in _NAMES for sign in ("=", "%3d")),
        rf"(?i)((?:\b|%[0-9a-f]{{2}}){_PARAMETER}(?:=|%3D))[^&\s\"'<>#\[]+",
        rf"\1{REDACTED}",
    ),
    (
        tuple(f"{name}{sign}" for name in _NAMES for sign in "\"'"),
        rf"(?i)([\"']{_PARAMETER}[\"']\s*:\s*[\"'])[^\"'\[]+",
        rf"\1{REDACTED}",
    ),
    (("://",), r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)", REDACTED),  # user:password@host
)


def configure_logging(level: str, *, stream: TextIO, secrets: Iterable[str] = ()) -> None:
    """Send everything from `level` (`DEBUG` … `ERROR`) on to `stream`, one line of JSON an entry; to a terminal, words.

    `secrets` are the values that must appear in no line, in whatever encoding; things that look like
    keys are removed in any case. Replaces an earlier configuration. Raises `ValueError` on an
    unknown level.
    """
    redactor = Redactor(secrets)
    handler = _RedactingHandler(stream)
    handler.setFormatter(_formatter(redactor, _line if stream.isatty() else structlog.processors.JSONRenderer()))
    root = logging.getLogger()
    root.setLevel(level.upper())
    for previous in root.handlers[:]:
        if isinstance(previous, _RedactingHandler):
            root.removeHandler(previous)
    root.addHandler(handler)
    logging.captureWarnings(True)
    for vendor in _VENDORS:
        logging.getLogger(vendor).setLevel(logging.WARNING)


class Redactor:
    """Takes secrets out of text that leaves the process. Known ones shorter than `MIN_SECRET_CHARS` are ignored.

    A known secret is found as it is and as it looks percent-encoded, in Base64 at any offset, and
    escaped in JSON. What merely looks like a key, a token or a signed link is removed as well.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= MIN_SECRET_CHARS for form in _forms(secret)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def redact(self, text: str) -> str:
        """The text with every secret replaced by `[redacted]`."""
        if self._known is not None:
            text = self._known.sub(REDACTED, text)
        folded = text.casefold().replace("i\u0307", "i").replace("\u0131", "i")  # patterns take İ and ı for an i
        for marks, pattern, replacement in _PATTERNS:
            if any(mark in folded for mark in marks):
                text = re.sub(pattern, replacement, text)
        return text

    def redact_field(self, name: str, value: object) -> object:
        """A field as JSON can hold it: text redacted, containers gone through, other things as their redacted text.

        A field that is named like a secret (`api_key`, `token`) loses its text altogether.
        """
        if isinstance(value, str | bytes) and _SECRET_FIELD.match(name):
            return REDACTED
        if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        if isinstance(value, Mapping):
            return {self.redact(str(key)): self.redact_field(str(key), inner) for key, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.redact_field(name, inner) for inner in value]
        if isinstance(value, bytes):
            value = value.decode(errors="backslashreplace")
        return self.redact(value if isinstance(value, str) else str(value))


class _RedactingHandler(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # the standard library's name
        """The default prints the arguments of the faulty call, secrets included."""
        print(f"a log line could not be written: {record.pathname}:{record.lineno}", file=sys.stderr)  # noqa: T201


def _formatter(redactor: Redactor, render: Processor) -> structlog.stdlib.ProcessorFormatter:
    def redact(_: object, __: str, event_dict: EventDict) -> EventDict:
        return {key: redactor.redact_field(key, value) for key, value in event_dict.items()}

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            _add_extras,
            _add_job_id,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            redact,
            render,
        ],
    )


def _line(_: object, __: str, event_dict: EventDict) -> str:
    """For people: when, how bad, what, and the fields; nothing in it moves a cursor."""
    at, traceback = event_dict.pop("ts"), event_dict.pop("exception", "")
    said = [at[11:19], event_dict.pop("level"), event_dict.pop("event")]
    said += [f"{name}={value}" for name, value in event_dict.items() if name != "logger"]
    lines = [" ".join(map(str, said)), *traceback.splitlines()]
    return "\n".join("".join(char if char.isprintable() else ascii(char)[1:-1] for char in line) for line in lines)


def _add_extras(_: object, __: str, event_dict: EventDict) -> EventDict:
    """Take over `extra={…}`; one that is called `event` does not replace the message."""
    for name, value in vars(event_dict["_record"]).items():
        if name not in _OF_EVERY_RECORD:
            event_dict["extra_event" if name == "event" else name] = value
    return event_dict


def _add_job_id(_: object, __: str, event_dict: EventDict) -> EventDict:
    if job_id := job_id_var.get():
        event_dict.setdefault("job_id", job_id)
    return event_dict


def _forms(secret: str) -> set[str]:
    raw = secret.encode()
    escaped = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    escaped |= {secret, repr(secret)[1:-1], ascii(secret)[1:-1], repr(raw)[2:-1]}
    twice = {json.dumps(form)[1:-1] for form in escaped}
    percent = {quote(secret), quote(secret, safe=""), quote_plus(secret)}
    percent |= {re.sub(r"%[0-9A-F]{2}", lambda code: code[0].lower(), form) for form in percent}
    return escaped | twice | percent | _base64_forms(raw)


def _base64_forms(raw: bytes) -> set[str]:
    """What stays the same in Base64 whatever stands before and after the secret, for each of the three offsets."""
    forms = set()
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + raw).decode()
        first = (0, 2, 3)[offset]  # digits before it mix with what stands before the secret
        last = (offset + len(raw)) * 8 // 6  # the digit after it mixes with what comes after
        forms |= {encoded[first:last], encoded[first:last].replace("+", "-").replace("/", "_")}
    return forms


# The figures of S003-26 for Prometheus, under exactly the names given there; all others begin with `gorkd_`. Rates are
# of everything since the process began. Sums are gauges, since to a counter's name the client would append `_total`.


log = logging.getLogger(__name__)

MAX_LABELS = 100  # series a metric; what comes beyond is summed up as `other`
MAX_LABEL_CHARS = 80
# Seconds: the targets of S003-24 (0.5, 5, 15, 30, 60) and steps between them.
BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, math.inf)


class _Figure(NamedTuple):
    """How a measurement is shown. Of a level the last value counts, of a rate the mean; both are NaN until the first.

    Values of several `labels` stand in a measurement's label with colons between them.
    """

    kind: Literal["seconds", "sum", "level", "rate"]
    name: str
    text: str
    labels: tuple[str, ...] = ()


_FIGURES: Mapping[MeasurementName, _Figure] = {
    "pipeline_stage_duration_seconds": _Figure(
        "seconds", "pipeline_stage_duration_seconds", "How long a stage of the pipeline took, in seconds.", ("stage",)
    ),
    "search_provider_latency_seconds": _Figure(
        "seconds", "search_provider_latency_seconds", "How long a search provider took to answer, in seconds.",
        ("provider",),
    ),
    "llm_tokens_used": _Figure("sum", "llm_tokens_used", "Prompt and completion tokens of all calls.", ("model",)),
    "cache_lookup": _Figure("rate", "cache_hit_rate", "Share of cache look-ups that found an answer, 0 to 1."),
    "source_fetch": _Figure("rate", "source_fetch_success_rate", "Share of pages that could be read, 0 to 1."),
    "llm_cost_usd": _Figure(
        "sum", "gorkd_llm_cost_usd", "Dollars of all calls to models that have a price.", ("model",)
    ),
    "errors": _Figure(
        "sum", "gorkd_errors", "Errors by the stage they happened in and their type.", ("stage", "type")
    ),
    "jobs_waiting": _Figure("level", "gorkd_queue_depth", "Jobs that wait for a worker."),
    "jobs_running": _Figure("level", "gorkd_jobs_running", "Jobs that are being worked on."),
    "jobs_resumed": _Figure("sum", "gorkd_jobs_resumed", "Jobs taken up again after an interruption."),
    "ratings": _Figure("sum", "gorkd_ratings", "What people thought of their answers.", ("verdict",)),
}  # fmt: skip


class PrometheusRecorder:
    """A registry of its own, of what is recorded. May be called from any thread."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the client's; else a histogram has a series more
        self.registry = CollectorRegistry()
        self._shown = {name: _metric(figure, self.registry) for name, figure in _FIGURES.items()}
        self._lock = threading.Lock()
        self._series = defaultdict[str, set[tuple[str, ...]]](set)
        self._hits = defaultdict[str, list[float]](lambda: [0.0, 0])  # of a rate, and of how many

    def record(self, measurement: Measurement) -> None:
        """A figure that is no finite number from 0 on is dropped with a debug line."""
        name, value, figure = measurement.name, measurement.value, _FIGURES[measurement.name]
        if not math.isfinite(value) or value < 0:
            log.debug("figure dropped: %s %s", name, value)
            return
        with self._lock:
            shown: Any = self._shown[name]
            if figure.labels:
                shown = shown.labels(*self._bounded(name, measurement.label, len(figure.labels)))
            match figure.kind:
                case "seconds":
                    shown.observe(value)
                case "sum":
                    shown.inc(value)
                case "level":
                    shown.set(value)
                case "rate":
                    hits = self._hits[name]
                    hits[:] = hits[0] + min(value, 1.0), hits[1] + 1
                    shown.set(hits[0] / hits[1])

    def render(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)

    def _bounded(self, name: str, label: str, count: int) -> tuple[str, ...]:
        """The labels cut to length, or `other` for each when there are as many series as there may be."""
        parts = (*label.split(":", count - 1), "")[:count]
        labels, known = tuple(part[:MAX_LABEL_CHARS] for part in parts), self._series[name]
        if labels not in known and len(known) >= MAX_LABELS:
            return ("other",) * count
        known.add(labels)
        return labels


def _metric(figure: _Figure, registry: CollectorRegistry) -> Gauge | Histogram:
    if figure.kind == "seconds":
        return Histogram(figure.name, figure.text, figure.labels, registry=registry, buckets=BUCKETS_S)
    gauge = Gauge(figure.name, figure.text, figure.labels, registry=registry)
    if figure.kind != "sum":
        gauge.set(math.nan)
    return gauge
