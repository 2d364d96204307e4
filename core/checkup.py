"""Whether each part of an installation works: small real tries, side by side, one finding each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from core.errors import GorkdError

State = Literal["ok", "warning", "failed", "off"]
PROBE_TIMEOUT_S = 20.0  # a model that must first be loaded takes that long


@dataclass(frozen=True)
class Finding:
    """One line for the operator: what is right, or what to do. `off` is a part that is not configured.

    `instead` is what gorkd does where the part cannot, "" for nothing else; `change` are lines for `.env` that help.
    """

    part: str
    state: State
    says: str
    instead: str = ""
    change: tuple[str, ...] = ()


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


class Doubt(GorkdError):
    """It works, but somebody should look at it."""


@dataclass(frozen=True)
class Probe:
    """`run` says what is right, in a few words; it raises `Doubt`, or a `GorkdError` whose sentence says what to do.

    A part that is not configured has no `run`, and `off` says how to turn it on.
    """

    part: str
    run: Callable[[], Awaitable[str]] | None = None
    off: str = ""


async def examine(probes: Sequence[Probe], *, timeout_s: float = PROBE_TIMEOUT_S) -> list[Finding]:
    """A finding a probe, in their order. Never raises but `CancelledError`; a bug in a probe is its finding."""
    return list(await asyncio.gather(*(_find(probe, timeout_s) for probe in probes)))


def is_healthy(findings: Sequence[Finding]) -> bool:
    return all(finding.state != "failed" for finding in findings)


async def _find(probe: Probe, timeout_s: float) -> Finding:
    if probe.run is None:
        return Finding(probe.part, "off", probe.off)
    try:
        async with asyncio.timeout(timeout_s):
            return Finding(probe.part, "ok", await probe.run())
    except TimeoutError:
        return Finding(probe.part, "failed", f"no answer in {timeout_s:g} s; check the address and the network")
    except Doubt as exc:
        return Finding(probe.part, "warning", exc.user_message)
    except GorkdError as exc:
        return Finding(probe.part, "failed", exc.user_message)
    except Exception as exc:  # noqa: BLE001 -- one part that breaks must not hide what is found of the others
        return Finding(probe.part, "failed", f"the check itself broke ({type(exc).__name__}); please report this")
