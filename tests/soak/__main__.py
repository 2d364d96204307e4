"""`make soak`: random faults and kills, and a look at what is left, on SQLite and on PostgreSQL with Redis.

Prints how it went; ends with 1 when something was lost, doubled or left open, or memory or descriptors grew.
`make soak ARGS=kills` counts what kills alone cost, and goes on where an earlier run ended (kills.py).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.soak.faults import INFLICTED, pick
from tests.soak.house import SoakHouse, Usage, settled, soak_house
from tests.soak.kills import soak_kills
from tests.soak.traffic import Traffic, Verdict, judge

KEPT = Path(tempfile.gettempdir()) / "gorkd-kills"
FAULT_EVERY_S = (3.0, 9.0)
STORM_SHARE = 0.6  # of the time; then faults go on, and nobody is killed, so that growth can be seen
WARM_S, REST_S = 60.0, 20.0
MORE_MEMORY, MORE_MIB, MORE_DESCRIPTORS = 1.25, 20.0, 8  # what may be left over of a cache that has filled
# What the pools of one process may hold in all: ours to PostgreSQL 10, the journal's client 5, DBOS's worker 8
# and its listener; five clients of Redis with 8 each, and a listener.
MOST_POOLED = 10 + 5 + 8 + 1 + 5 * 8 + 1


async def soak(minutes: float, seed: int, database: str) -> bool:
    rng = random.Random(seed)
    print(f"soak on {database}: {minutes:g} minutes, seed {seed}", flush=True)
    async with soak_house(rng, database) as house:
        await settled(house)
        traffic, inflicted = Traffic(house), Counter[str]()
        seconds = minutes * 60
        await during(house, traffic, inflicted, STORM_SHARE * seconds, with_kills=True)
        print(f"storm over: {house.strikes} processes ended, {sum(inflicted.values())} faults", flush=True)
        await during(house, traffic, inflicted, min(WARM_S, seconds / 10), with_kills=None)
        before = await at_rest(house)
        await during(house, traffic, inflicted, (1 - STORM_SHARE) * seconds, with_kills=False)
        verdict = await judge(traffic)
        after = await at_rest(house)
        grown = _grown(before, after)
        _report(house, traffic, inflicted, verdict)
        _report_usage(before, after)
        if grown:
            print("grown: " + "; ".join(grown))
    return verdict.is_good and not grown


async def during(
    house: SoakHouse, traffic: Traffic, inflicted: Counter[str], seconds: float, *, with_kills: bool | None
) -> None:
    """Questions all the time, a fault every few seconds; none at all when `with_kills` is None."""
    asking = asyncio.create_task(traffic.ask_on())
    ends_at = time.monotonic() + seconds
    while (left_s := ends_at - time.monotonic()) > 0:
        await asyncio.sleep(min(left_s, house.rng.uniform(*FAULT_EVERY_S)))
        if asking.done():
            await asking
        await house.tend()
        if with_kills is not None:
            name = pick(house.rng, INFLICTED[house.database], with_kills=with_kills)
            inflicted[name] += 1
            await INFLICTED[house.database][name](house)
    house.heal()
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking
    await settled(house)


async def at_rest(house: SoakHouse) -> Mapping[str, Usage]:
    """What every process holds when nobody has asked for a while."""
    await asyncio.sleep(REST_S)
    return house.usage()


def _grown(before: Mapping[str, Usage], after: Mapping[str, Usage]) -> list[str]:
    found = []
    for role, then in before.items():
        now = after[role]
        if now.memory_mib > MORE_MEMORY * then.memory_mib + MORE_MIB:
            found.append(f"{role}: {then.memory_mib:.0f} → {now.memory_mib:.0f} MiB")
        if now.descriptors > then.descriptors + MORE_DESCRIPTORS:
            found.append(f"{role}: {then.descriptors} → {now.descriptors} descriptors")
        if now.pooled > MOST_POOLED:
            found.append(f"{role}: {now.pooled} connections to PostgreSQL and Redis")
    return found


def _report(house: SoakHouse, traffic: Traffic, inflicted: Counter[str], verdict: Verdict) -> None:
    asked = len(traffic.discord) + len(traffic.slack) + len(traffic.jobs)
    print(f"asked: {asked} ({len(traffic.discord)} Discord, {len(traffic.slack)} Slack, {len(traffic.jobs)} HTTP)")
    print(f"refused at the door: {dict(traffic.refused)}; unheard in Discord: {verdict.unheard}")
    kinds = f"{len(inflicted)} kinds of {len(INFLICTED[house.database])}"
    print(f"faults: {sum(inflicted.values())} of {kinds}; ended: {house.strikes}")
    print(f"how the jobs over HTTP ended: {dict(verdict.ends)}")
    for name, found in (("lost", verdict.lost), ("doubled", verdict.doubled), ("unfinished", verdict.unfinished)):
        print(f"{name}: {len(found)} {found[:10] or ''}".rstrip())
    for text, times in house.errors.most_common(10):
        print(f"logged as an error {times} times: {text[:300]}")
    print(f"refused by the platforms: {house.discord.problems[:5] + house.slack.api.violations[:5] or 'nothing'}")


def _report_usage(before: Mapping[str, Usage], after: Mapping[str, Usage]) -> None:
    for role, then in before.items():
        now = after[role]
        print(
            f"{role:9} {then.memory_mib:5.0f} → {now.memory_mib:5.0f} MiB, "
            f"{then.descriptors:3} → {now.descriptors:3} descriptors, "
            f"{then.pooled:2} → {now.pooled:2} pooled connections"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("part", nargs="?", choices=["faults", "kills"], default="faults")
    parser.add_argument("--kills", type=int, default=100, help="on each database, over all runs")
    parser.add_argument("--folder", type=Path, default=KEPT, help="where the figures of earlier kills are")
    parser.add_argument("--database", choices=INFLICTED, help="this one alone; both, one after the other, if not given")
    parser.add_argument("--minutes", type=float, default=30.0, help="on each database")
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    seed = random.SystemRandom().randrange(10_000) if given.seed is None else given.seed
    databases = (given.database,) if given.database else tuple(INFLICTED)
    if given.part == "kills":
        runs = [soak_kills(given.kills, seed, given.folder, databases)]
    else:
        runs = [soak(given.minutes, seed, database) for database in databases]
    went_well = [asyncio.run(run) for run in runs]
    sys.exit(0 if all(went_well) else 1)
