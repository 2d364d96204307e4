"""What a platform gives to adapters/chat/live.py: a message that lives, and a voice that makes its payloads."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from adapters.chat.watching import WatchSaid
from core.model.answer import AnswerFile, JobResult, ResearchAnswer
from core.model.delivery import Address
from core.model.errors import GorkdError
from core.model.job import ResearchJob
from core.model.source import Source
from core.presentation.snapshot import Snapshot
from core.presentation.wording import language_of as language_of_job
from core.tenancy.settings import TenantSettings
from core.tenancy.settings_desk import SettingsDesk
from core.text.language import language_of
from core.text.saying import speaking
from core.watch.watch import WatchNotice

REMEMBERED = 10_000  # people
LEARN_S = 0.5  # what is pressed must be acknowledged within 3 s

_log = logging.getLogger(__name__)

Payload = TypeVar("Payload")
T = TypeVar("T")
Words = ParamSpec("Words")
Payload_contra = TypeVar("Payload_contra", contravariant=True)
Payload_co = TypeVar("Payload_co", covariant=True)


class AddressDead(Exception):
    """The message can never be edited again: deleted, its token expired, the bot removed."""


class FilesRefused(Exception):
    """The platform does not take the files; the message can still be shown without them."""


class StoppedByPerson(Exception):
    """Somebody pressed the platform's own Stop on the message."""


class ChatReply(Protocol[Payload_contra]):
    """The message that lives. Any error but these two may pass when it is tried again."""

    @property
    def address(self) -> Address:
        """Where it is, or is to be while it is not yet posted; may change with each call below."""
        ...

    @property
    def shown(self) -> Sequence[Address]:
        """All that stands there now of what was shown, each to be taken away by itself when it is forgotten."""
        ...

    @property
    def is_streaming(self) -> bool:
        """Whether each sentence is shown as it comes; edits are then worth their while more often."""
        ...

    async def take(self, files: Sequence[AnswerFile], /) -> None:
        """Bring what the last edit is to show to the platform, where nobody sees it yet; none takes it back.

        Once the address is kept, whoever comes after a restart need not bring it again. Raises `FilesRefused`.
        """
        ...

    async def edit(self, payload: Payload_contra, /) -> None:
        """Show `payload`, and with an answer the files that were taken, once.

        The first call posts the message where it is not there yet. Raises `AddressDead`, `FilesRefused`, and
        `StoppedByPerson` while the job runs.
        """
        ...

    async def repost(self, payload: Payload_contra, job_id: str, /) -> None:
        """Show `payload` in a new message, one a job, that lives from now on. Raises `AddressDead`."""
        ...

    async def ping(self, asker: str, key: str, said: str = "", /) -> None:
        """Tell the asker that the answer has come, or what is `said` of it later. Twice with one `key` is once."""
        ...


class Voice(Protocol[Payload_co]):
    """A platform's renderer."""

    def progress(self, job: ResearchJob, snapshot: Snapshot, elapsed_s: float) -> Payload_co: ...

    def outcome(
        self,
        job: ResearchJob,
        result: JobResult | None,
        sources: Sequence[Source],
        *,
        may_offer: bool = True,
        first_asker: str = "",
        unattached: Sequence[AnswerFile] = (),
        explains: bool = False,
    ) -> Payload_co:
        """`may_offer` is False once deep research was declined below the answer (D9).

        `first_asker` is who asked first what is answered once more, "" where nobody is to be named.

        Of `unattached` files it is said where they are. `explains` what the marks of its sentences mean.
        """
        ...

    def told(self, job: ResearchJob, notice: WatchNotice) -> Payload_co:
        """What a watch tells of the job, in place of its answer."""
        ...

    def refusal(self, sentence: str) -> Payload_co: ...

    def notice(self, text: str) -> Payload_co:
        """Words of our own."""
        ...

    def help(self) -> Payload_co: ...

    def history(self, jobs: Sequence[ResearchJob]) -> Payload_co:
        """One's own questions, newest first."""
        ...

    def sources(self, sources: Sequence[Source], answer: ResearchAnswer | None) -> Payload_co:
        """Every source that was read, best first, and how much it matters."""
        ...

    def watching(self, said: WatchSaid) -> Payload_co:
        """What is said of a wish to watch or of a receipt, with its buttons and, where it can be attached, its file."""
        ...


@dataclass(frozen=True)
class EditPace:
    """Times in seconds."""

    edit_every_s: float = 2.0  # Discord shares a lock per token; Slack allows 50 updates a minute
    stream_every_s: float = 1.0  # Slack allows 100 appends a minute, for all streams of a workspace
    refresh_every_s: float = 10.0  # so that the elapsed time moves although nothing happens
    edit_timeout_s: float = 30.0  # an edit may wait for the platform's rate limit
    upload_timeout_s: float = 60.0  # all files of one answer
    farewell_s: float = 2.0  # to tell of a shutdown before the process goes
    ping_after_s: float = 30.0  # who waited so long has looked away
    backoff_s: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # between tries to deliver into the message
    patience_s: tuple[float, ...] = (60.0, 300.0, 900.0)  # then between tries that may also post a new one
    told_from_s: float = 5.0  # after which records that are away are told of; one call may take as long again


class Tongues:
    """What people are spoken to in, as last seen: what their workspace has set, and their own locale there."""

    def __init__(self, rules: SettingsDesk) -> None:
        self._rules = rules
        self._seen: dict[str, TenantSettings] = {}
        self._locales: OrderedDict[tuple[str, str], str] = OrderedDict()

    def note_workspace(self, tenant: str, settings: TenantSettings) -> None:
        self._seen[tenant] = settings

    async def settings_of(self, tenant: str) -> TenantSettings:
        """As they are now, and noted. Raises `StoreError`."""
        settings = (await self._rules.show(tenant)).settings
        self.note_workspace(tenant, settings)
        return settings

    async def settings_soon(self, tenant: str) -> TenantSettings | None:
        """As they are now or, where a store that waits for another program does not say, as last seen, if ever."""
        with best_effort(_log.warning, "settings of a workspace not read", of=(GorkdError, TimeoutError)):
            async with asyncio.timeout(LEARN_S):
                return await self.settings_of(tenant)
        return self._seen.get(tenant)

    async def learn_workspace(self, tenant: str) -> None:
        """Before the first word to anybody there; from then on it is noted with each question."""
        if tenant not in self._seen:
            await self.settings_soon(tenant)

    def note_person(self, tenant: str, person: str, locale: str) -> None:
        self._locales[tenant, person] = locale
        if len(self._locales) > REMEMBERED:
            self._locales.popitem(last=False)

    def of(self, tenant: str, person: str = "", *, said: str = "", locale: str = "") -> tuple[str, str, str]:
        """For `speaking`: the workspace's, that of what was `said`, the person's."""
        seen = self._seen.get(tenant)
        return seen.spoken if seen else "", language_of(said), locale or self._locales.get((tenant, person), "")


@contextmanager
def best_effort(
    log: Callable[..., None],
    failed: str,
    *,
    of: type[Exception] | tuple[type[Exception], ...] = GorkdError,
    why: Callable[[Exception], str] = str,
    **named: object,
) -> Iterator[None]:
    """What nobody waits for may fail: the log is told what has `failed`, of what is `named`."""
    try:
        yield
    except of as error:
        log(failed, extra={**named, "error": why(error)})


@asynccontextmanager
async def ended_with_block(work: Coroutine[Any, Any, T], name: str | None = None) -> AsyncIterator[asyncio.Task[T]]:
    """`work` as a task, which is cancelled and waited for at the block's end."""
    task = asyncio.create_task(work, name=name)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def in_its_language(
    render: Callable[Concatenate[Any, ResearchJob, Words], Payload],
) -> Callable[Concatenate[Any, ResearchJob, Words], Payload]:
    """For what shows a job: the same from its first message to its last, whoever has it drawn."""

    @wraps(render)
    def rendered(voice: Any, job: ResearchJob, /, *args: Words.args, **kwargs: Words.kwargs) -> Payload:
        with speaking(language_of_job(job)):
            return render(voice, job, *args, **kwargs)

    return rendered
