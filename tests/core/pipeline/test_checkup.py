"""One finding a part, whatever the part does."""

from __future__ import annotations

import asyncio

import pytest

from core.model.errors import SetupError, StoreError
from core.pipeline.checkup import Doubt, Finding, NobodyThere, Probe, examine, is_healthy, watch_backlog
from tests.fakes import Ledger


async def _works() -> str:
    return "works"


async def _doubtful() -> str:
    raise Doubt("works, but slowly")


async def _wrong() -> str:
    raise SetupError("key refused", operator_message="Copy the key anew.")


async def _away() -> str:
    raise NobodyThere("Slack cannot be reached; check the network")


async def _broken() -> str:
    raise RuntimeError("hunter2")


async def _silent() -> str:
    await asyncio.Event().wait()
    return "never"


@pytest.mark.parametrize(
    ("probe", "state", "says"),
    [
        pytest.param(Probe("x", _works), "ok", "works", id="right"),
        pytest.param(Probe("x", _doubtful), "warning", "works, but slowly", id="doubt"),
        pytest.param(Probe("x", _wrong), "failed", "Copy the key anew.", id="wrong"),
        pytest.param(Probe("x", off="set X"), "off", "set X", id="not configured"),
        pytest.param(
            Probe("x", _silent), "failed", "no answer in 0.01 s; check the address and the network", id="silent"
        ),
    ],
)
async def test_a_probe_is_one_finding(probe: Probe, state: str, says: str) -> None:
    """What is right, what to do, or how to turn it on."""
    (finding,) = await examine([probe], timeout_s=0.01)

    assert (finding.part, finding.state, finding.says) == ("x", state, says)


async def test_what_nothing_answered_is_told_from_what_was_refused() -> None:
    """N-26: a token that nobody looked at may be right."""
    findings = await examine(
        [Probe(name, run) for name, run in (("a", _away), ("b", _silent), ("c", _wrong))], timeout_s=0.01
    )

    assert [finding.is_away for finding in findings] == [True, True, False]


async def test_a_probe_that_breaks_hides_no_other_and_tells_no_secret() -> None:
    """Its type is enough to report it; its words may hold anything."""
    findings = await examine([Probe("a", _broken), Probe("b", _works)])

    assert [finding.state for finding in findings] == ["failed", "ok"]
    assert "RuntimeError" in findings[0].says
    assert "hunter2" not in findings[0].says


async def test_probes_run_side_by_side_and_keep_their_order() -> None:
    """Two that wait for each other both end."""
    first, second = asyncio.Event(), asyncio.Event()

    async def one() -> str:
        first.set()
        await second.wait()
        return "one"

    async def two() -> str:
        await first.wait()
        second.set()
        return "two"

    findings = await examine([Probe("1", one), Probe("2", two)], timeout_s=5)

    assert [finding.says for finding in findings] == ["one", "two"]


@pytest.mark.parametrize(
    ("states", "healthy"), [(["ok", "warning", "off"], True), (["ok", "failed"], False), ([], True)]
)
def test_only_a_failure_makes_it_unhealthy(states: list[str], healthy: bool) -> None:
    """A doubt is for people, not for a monitor."""
    assert is_healthy([Finding("x", state, "") for state in states]) is healthy  # type: ignore[arg-type]


async def test_the_backlog_is_measured_again_and_again_also_after_a_failure() -> None:
    """A database that is away costs a look, not the watch."""
    looks = iter([(3, 1), StoreError("away"), (0, 2)])
    ledger, waits = Ledger(), []

    class Counter:
        async def backlog(self) -> tuple[int, int]:
            look = next(looks)
            if isinstance(look, StoreError):
                raise look
            return look

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await watch_backlog(Counter(), ledger, sleep=sleep)

    assert ledger.values("jobs_waiting") == [3, 0]
    assert ledger.values("jobs_running") == [1, 2]
