"""Whether each part of an installation works: small real tries, side by side, one finding each."""

from __future__ import annotations

import asyncio
import difflib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Literal

from core.model.errors import (
    GorkdError,
    ModelTimeout,
    ModelUnavailable,
    ProviderTimeout,
    ProviderUnavailable,
    SetupError,
    StoreError,
)
from core.model.ports import Clock, Heartbeats, JobStore, Measurement, Record
from core.text.saying import say

State = Literal["ok", "warning", "failed", "off"]
PROBE_TIMEOUT_S = 20.0  # a model that must first be loaded takes that long


@dataclass(frozen=True)
class Finding:
    """One line for the operator: what is right, or what to do. `off` is a part that is not configured.

    `instead` is what gorkd does where the part cannot, "" for nothing else; `change` are lines for `.env` that help.
    `is_away` says of a failed part that nothing answered, so that nothing is known of its key or token.
    """

    part: str
    state: State
    says: str
    instead: str = ""
    change: tuple[str, ...] = ()
    is_away: bool = False


@dataclass(frozen=True)
class Trial:
    """What was found of one endpoint; `is_usable` says whether gorkd can work with it."""

    title: str
    findings: tuple[Finding, ...]

    @property
    def is_usable(self) -> bool:
        return is_healthy(self.findings)


@dataclass(frozen=True)
class Trials:
    """Endpoints to be tried one after the other; `announcement` says beforehand what that costs."""

    announcement: str
    run: Callable[[], AsyncIterator[Trial]]


@dataclass(frozen=True)
class FoundServer:
    """A server of models on this machine: `url` as OPENAI_BASE_URL takes it, and the models that it names."""

    name: str
    url: str
    models: tuple[str, ...]


class Doubt(GorkdError):
    """It works, but somebody should look at it."""


class NobodyThere(SetupError):
    """No connection could be made, so that nothing was tried."""


@dataclass(frozen=True)
class Probe:
    """`run` says what is right, in a few words; it raises `Doubt`, or a `GorkdError` whose sentence says what to do.

    A part that is not configured has no `run`, and `off` says how to turn it on.
    """

    part: str
    run: Callable[[], Awaitable[str]] | None = None
    off: str = ""


_AWAY = (NobodyThere, ModelTimeout, ModelUnavailable, ProviderTimeout, ProviderUnavailable)


async def examine(probes: Sequence[Probe], *, timeout_s: float = PROBE_TIMEOUT_S) -> list[Finding]:
    """A finding a probe, in their order. Never raises but `CancelledError`; a bug in a probe is its finding."""
    return list(await asyncio.gather(*(_find(probe, timeout_s) for probe in probes)))


def is_healthy(findings: Sequence[Finding]) -> bool:
    return all(finding.state != "failed" for finding in findings)


def no_such_setting(name: str, known: Collection[str]) -> str:
    """The sentence that says so, with the nearest of those that are `known`."""
    if near := difflib.get_close_matches(name.upper(), known, n=1):
        return say("There is no setting {name}. Did you mean {near}?", name=name, near=near[0])
    return say("There is no setting {name}. docs/configuration.md lists them all.", name=name)


async def _find(probe: Probe, timeout_s: float) -> Finding:
    if probe.run is None:
        return Finding(probe.part, "off", probe.off)
    try:
        async with asyncio.timeout(timeout_s):
            return Finding(probe.part, "ok", await probe.run())
    except TimeoutError:
        slow = f"no answer in {timeout_s:g} s; check the address and the network"
        return Finding(probe.part, "failed", slow, is_away=True)
    except Doubt as exc:
        return Finding(probe.part, "warning", exc.operator_message)
    except GorkdError as exc:
        return Finding(probe.part, "failed", exc.operator_message, is_away=isinstance(exc, _AWAY))
    except Exception as exc:  # noqa: BLE001 -- one part that breaks must not hide what is found of the others
        return Finding(probe.part, "failed", f"the check itself broke ({type(exc).__name__}); please report this")


# Whether a question that is asked now would be answered: what `/ready` says


CHECK_WITHIN_S = 4.0  # of each part; who asks for readiness waits no longer than for a page
KEPT_S = 2.0  # whoever asks more often hears the last finding again: strangers may ask, and a check writes
HEARD_WITHIN_S = 20.0  # a worker beats every 2 s, and is given up after 15 to 20 (adapters/durable/worker.py)

TryOut = Callable[[], Awaitable[None]]  # raises `GorkdError` for what cannot be used


@dataclass
class Readiness:
    """`journal` and `heartbeats` are None in a process that runs its own jobs. `stopwatch` gives seconds."""

    records: TryOut
    _: KW_ONLY
    journal: TryOut | None = None
    heartbeats: Heartbeats | None = None
    clock: Clock
    stopwatch: Callable[[], float]
    _found: list[str] = field(default_factory=list)
    _found_at: float = float("-inf")
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def reasons(self) -> list[str]:
        """Sentences for whoever runs this; empty when all is well."""
        async with self._looking:
            if self.stopwatch() - self._found_at >= KEPT_S:
                self._found = await self._look()
                self._found_at = self.stopwatch()
            return self._found

    async def _look(self) -> list[str]:
        if reason := await _failure("the records", self.records):
            return [reason]  # what else there is lies in the same place
        if self.journal and (reason := await _failure("the journal of jobs", self.journal)):
            return [reason]
        reason = await _failure("the workers", self._hear_a_worker)
        return [reason] if reason else []

    async def _hear_a_worker(self) -> None:
        if self.heartbeats is None:
            return
        now, lately = self.clock(), timedelta(seconds=HEARD_WITHIN_S)
        if not any(abs(now - beat) <= lately for beat in (await self.heartbeats.beats()).values()):
            raise GorkdError(f"No worker was heard of for {HEARD_WITHIN_S:.0f} s; start one with `gorkd worker`.")


async def _failure(part: str, try_out: TryOut) -> str:
    try:
        async with asyncio.timeout(CHECK_WITHIN_S):
            await try_out()
    except TimeoutError:
        return f"Within {CHECK_WITHIN_S:.0f} s nothing was heard of {part}."
    except GorkdError as error:
        return error.operator_message
    return ""


# How many jobs wait and how many run, in all processes, as two figures for whoever watches


log = logging.getLogger(__name__)

EVERY_S = 5.0  # monitors ask every 15 s or less often


async def watch_backlog(
    jobs: JobStore, record: Record, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    """Measure every few seconds until it is cancelled."""
    while True:
        try:
            waiting, running = await jobs.backlog()
        except StoreError as exc:  # the store says itself when its database goes
            log.debug("backlog not counted", extra={"error": str(exc)})
        else:
            record(Measurement("jobs_waiting", waiting))
            record(Measurement("jobs_running", running))
        await sleep(EVERY_S)
