"""A question on its way: the request, what was understood of it, the job, and its scope, which says who may see it.

What is kept for a job is valid in exactly its scope: stores, cache, links and buttons ask for it, so that an answer of
a private channel is seen nowhere else. Files that come with a question are sources of that question and of no other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, NamedTuple

from typing_extensions import TypeAliasType

from core.model.errors import GorkdError
from core.tenancy.settings import EVERYTHING, SourcePolicy

PERSON = "user:"  # before a person's id, in tenants and visibilities
MAX_ROUNDS = 20  # of research that goes in rounds (S002-03)
Depth = Literal["light", "deep"]
Importance = Literal["normal", "high"]


class JobStatus(StrEnum):
    PENDING = "pending"
    PLANNING = "planning"
    SEARCHING = "searching"
    FETCHING = "fetching"
    SYNTHESIZING = "synthesizing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL_STATUSES = frozenset({JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED})


def furthest_behind(statuses: Iterable[JobStatus]) -> JobStatus:
    """Of what is done at once within a job, the status that comes first on the way."""
    return min(statuses, key=list(JobStatus).index)


class QuestionType(StrEnum):
    FACTUAL = "factual"
    COMPARISON = "comparison"
    EXPLANATION = "explanation"
    CURRENT_EVENT = "current_event"


class Tenant(NamedTuple):
    """Whose a job is, parted: an `account` (workspace, server) of a `platform`, or a person's who has none there.

    It is kept as text: `<platform>:<account>` or `<platform>:user:<account>`, on this machine alone `local`.
    """

    platform: str
    account: str = ""
    is_person: bool = False

    @classmethod
    def read(cls, text: str) -> Tenant:
        platform, _, account = text.partition(":")
        person = account.removeprefix(PERSON)
        return cls(platform, person, is_person=person != account)

    def __str__(self) -> str:
        account = f"{PERSON if self.is_person else ''}{self.account}"
        return f"{self.platform}:{account}" if account else self.platform


@dataclass(frozen=True)
class Scope:
    """Who may see what a job leaves behind.

    `tenant` is the text of a `Tenant`; `visibility` is `workspace`, `channel:<id>` or `user:<id>`.
    """

    tenant: str
    visibility: str

    @property
    def platform(self) -> str:
        return Tenant.read(self.tenant).platform

    @property
    def account(self) -> str:
        """The platform's id of the workspace or server, or of the person who has none there; "" on this machine."""
        return Tenant.read(self.tenant).account

    @property
    def is_one_persons(self) -> bool:
        """Whether one person alone sees it."""
        return self.visibility.startswith(PERSON)


def personal(user_id: str) -> str:
    """The visibility of what one person alone sees; also how such a person's own tenant ends, after the platform."""
    return f"{PERSON}{user_id}"


LOCAL = Scope(tenant="local", visibility="workspace")


@dataclass(frozen=True)
class ResearchRequest:
    """What the asker said. `top_k` is 1…20 and counts items in the modes that list them.

    `thread` is the conversation it belongs to (`<platform>:<channel>` with `:<thread>`, where it is one), valid
    in its scope; `basis` an earlier job of the scope whose sources this one starts from; `feedback` what is to be
    better than in that job; `quoted` a message whose claims are to be checked; `attachments` the names of
    the files that came along, whose texts are kept by job (core/model/job.py); `refreshes` the job whose
    repeated answer is to be renewed, `corrects` the one whose question its asker has changed to this.
    `channel` is the platform's id of where it was asked, of a thread its
    parent's, "" in direct messages; `policy` is the tenant's, as it was when the question was admitted; `digest` is
    of the request that brought it, where that may come again (Idempotency-Key). `heard_before` is the time up to which
    the conversation counts, None when all that was said before the question does. `watch` is the watch that it is a
    run of. `language` is what the workspace wants everything said in, as it was when the question was admitted; "" is
    the question's own.
    """

    query: str
    scope: Scope = LOCAL
    modes: tuple[str, ...] = ("quick",)
    depth: Depth = "light"
    top_k: int = 5
    context: str = ""
    is_private: bool = False
    is_fresh: bool = False
    asker: str = ""
    max_iterations: int = 10  # 1…20 rounds, in modes that search in rounds
    thread: str = ""
    basis: str = ""
    feedback: str = ""
    quoted: str = ""
    attachments: tuple[str, ...] = ()
    refreshes: str = ""
    corrects: str = ""
    channel: str = ""
    policy: SourcePolicy = EVERYTHING
    digest: str = ""
    heard_before: datetime | None = None
    watch: str = ""
    language: str = ""

    @property
    def stands_alone(self) -> bool:
        """Whether the question and its options say all, so that whoever asks the same may have the same answer."""
        return not (self.basis or self.feedback or self.quoted or self.attachments)


@dataclass(frozen=True)
class TimeConstraint:
    """`value` is an ISO date, month or year when `kind` is `date`, else empty."""

    kind: Literal["recent", "historical", "date"]
    value: str = ""


@dataclass(frozen=True)
class QueryIntent:
    """What the question asks for. `language` is an ISO 639-1 code."""

    question_type: QuestionType
    entities: tuple[str, ...] = ()
    time_constraint: TimeConstraint | None = None
    language: str = "en"
    importance: Importance = "normal"


@dataclass(frozen=True)
class JobError:
    """Why a job failed. `code` is one of G-01's error codes; `message` is for people.

    `cause` is for whoever runs gorkd, where it says more: which setting to look at.
    """

    code: str
    message: str
    retryable: bool = False
    cause: str = ""


@dataclass(frozen=True)
class ResearchJob:
    """`id` is `job_` and 128 random bits; times are UTC; `attempt` counts from 1 and fences off older workers."""

    id: str
    request: ResearchRequest
    intent: QueryIntent
    status: JobStatus
    created_at: datetime
    completed_at: datetime | None = None
    attempt: int = 1
    error: JobError | None = None

    @property
    def query(self) -> str:
        return self.request.query

    @property
    def scope(self) -> Scope:
        return self.request.scope


# What a job tells its followers, as a replayable log


EventType = Literal["status", "source", "answer", "complete"]
Json = TypeAliasType("Json", "bool | int | float | str | list[Json] | dict[str, Json] | None")


def rows(value: Json) -> list[dict[str, Json]]:
    """The objects of a list; none of anything else."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


@dataclass(frozen=True)
class Event:
    """One entry of a job's log. `data` is JSON by type:

    - `status`: `{stage, message, progress (0…1), data}`
    - `source`: `{id, url, title, domain, provider}` as soon as a source is kept
    - `answer`: `{section, id, text, verdict, mark, before}`, and `marks` of citations that have another one, by their
      number; the same id replaces, `text: null` removes
    - `complete`: the job's JSON (core/presentation/render.py)
    """

    seq: int
    type: EventType
    attempt: int
    at: datetime
    data: Mapping[str, Json]


# Files that come with a question: sources of that question and of no other


MAX_ATTACHMENTS = 5  # a question; more than that is a library
MAX_ATTACHMENT_BYTES = 10_000_000  # what Discord takes from members without a subscription


@dataclass(frozen=True)
class Attachment:
    """A file as read. Form feeds part the pages of `text`; `cut` says what was left out, "" when nothing was."""

    name: str
    media_type: str
    title: str
    text: str
    cut: str = ""


class AttachmentUnreadable(GorkdError):
    """A file that gives no text; the message names it and says why."""

    code = "INVALID_QUERY"


# By name, media type and content. Raises `AttachmentUnreadable`.
ReadAttachment = Callable[[str, str, bytes], Awaitable[Attachment]]


# What people say to a job that is running: kept with it, so that whoever runs it next knows it too, and heard between
# its rounds (core/deep); core/pipeline/conversation.py reads it from their words


SteeringKind = Literal["add_item", "drop_item", "go_deeper", "answer_now", "constraint", "cancel"]
MAX_STEERING_CHARS = 500  # a wish, not an essay: it goes into every prompt of the rounds to come
MAX_STEERINGS = 50  # of one job


@dataclass(frozen=True)
class Steering:
    """One thing said to a job. `text` names the item to add or to drop (its number or words) or is the constraint."""

    kind: SteeringKind
    text: str = ""
