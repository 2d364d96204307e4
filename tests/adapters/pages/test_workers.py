"""The parsing processes: killed on time and on memory, without our environment, and gone when we are."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_network
from pathlib import Path

import pytest

from adapters.pages.extraction import PageDocument
from adapters.pages.fetch import WebPages
from adapters.pages.workers import MEMORY_LIMIT_BYTES, ExtractionWorkers, Nursery
from core.model.errors import PageTimeout, PageUnreadable
from tests.loopback.web_world import PageSpec, WebWorld

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")

ROOT = Path(__file__).resolve().parents[3]
SENTENCE = "A paragraph that is long enough to be read as the text of a page."
PAGE = PageDocument("http://a.example/", "html", "utf-8", f"<article>{f'<p>{SENTENCE}</p>' * 6}</article>".encode())
# libxml2 compares every attribute with every other: 20,000 take seconds, in C code that no signal handler interrupts.
SLOW = PageDocument(
    "http://slow.example/", "html", "utf-8", b"<p " + b" ".join(b'a%d="1"' % n for n in range(60_000)) + b">x</p>"
)
# Character data in tiny pieces: half a gigabyte in libxml2.
BIG = PageDocument("http://big.example/", "html", "utf-8", b"<" * 5_000_000)


@asynccontextmanager
async def _workers(
    count: int = 1, *, limit_s: float = 5.0, memory_bytes: int = MEMORY_LIMIT_BYTES
) -> AsyncIterator[ExtractionWorkers]:
    workers = ExtractionWorkers(count=count, limit_s=limit_s, memory_bytes=memory_bytes)
    try:
        yield workers
    finally:
        await workers.aclose()


async def test_a_page_that_takes_too_long_is_killed_and_the_next_one_is_read() -> None:
    """The limit holds even inside C code, and costs that page only."""
    async with _workers(limit_s=0.5) as workers:
        await workers.warm_up()
        first = workers.pids

        started = time.monotonic()
        with pytest.raises(PageTimeout, match=r"within 0\.5 s"):
            await workers.extract(SLOW)
        took = time.monotonic() - started
        after = await workers.extract(PAGE)

        assert took < 3.0
        assert after.text.startswith(SENTENCE)
        assert set(workers.pids).isdisjoint(first)


async def test_a_page_that_needs_too_much_memory_is_refused_and_the_next_one_is_read() -> None:
    """The cap is the process's address space, so the machine never notices."""
    async with _workers(memory_bytes=100 << 20) as workers:
        with pytest.raises(PageUnreadable, match=r"memory|died"):
            await workers.extract(BIG)
        after = await workers.extract(PAGE)

    assert after.text.startswith(SENTENCE)


async def test_the_largest_allowed_page_fits_into_the_memory_cap() -> None:
    """The cap stops bombs, not pages: 5 MB of the densest markup are read."""
    dense = b"<p>" + b"<b>a</b> <i>b</i> " * 290_000
    async with _workers(limit_s=20.0) as workers:
        found = await workers.extract(PageDocument("http://dense.example/", "html", "utf-8", dense))

    assert found.text.startswith("a b a b")


async def test_a_page_without_text_leaves_the_worker_in_service() -> None:
    """An ordinary refusal is no reason to start a new process."""
    empty = PageDocument("http://empty.example/", "html", "", b"<html></html>")
    async with _workers() as workers:
        await workers.warm_up()
        before = workers.pids

        for _ in range(3):
            with pytest.raises(PageUnreadable):
                await workers.extract(empty)

        assert workers.pids == before


async def test_a_worker_that_died_meanwhile_is_replaced() -> None:
    """The system may kill any process; the next page does not notice."""
    async with _workers() as workers:
        await workers.warm_up()
        (pid,) = workers.pids
        os.kill(pid, signal.SIGKILL)
        await _until(lambda: workers.pids == ())

        found = await workers.extract(PAGE)

        assert found.text.startswith(SENTENCE)
        assert workers.pids != (pid,)


async def test_a_cancelled_page_frees_its_worker() -> None:
    """Cancelling kills the work as well, so that it cannot pile up."""
    async with _workers() as workers:
        await workers.warm_up()
        (pid,) = workers.pids
        running = asyncio.create_task(workers.extract(SLOW))
        await _until(lambda: _state(pid) == "R")

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        found = await workers.extract(PAGE)

    assert found.text.startswith(SENTENCE)


async def test_pages_are_parsed_side_by_side_up_to_the_count() -> None:
    """Two workers serve any number of pages, two at a time."""
    async with _workers(2) as workers:
        found = await asyncio.gather(*(workers.extract(PAGE) for _ in range(20)))

        assert len(found) == 20
        assert len(workers.pids) == 2


async def test_what_parsers_come_from_is_started_ahead_and_once() -> None:
    """Whoever asks first does not wait for an interpreter and its imports, and nobody starts one once closed."""
    async with _workers(2) as workers, _workers() as others:
        workers.prepare()
        (nursery,) = _nurseries()

        await asyncio.gather(*(pool.extract(PAGE) for pool in (workers, workers, others)))

        assert _nurseries() == [nursery]
        assert {_parent(pid) for pid in (*workers.pids, *others.pids)} == {nursery}
    left = _nurseries()  # none, unless something else in this process reads pages
    workers.prepare()
    assert _nurseries() == left


async def test_what_parsers_come_from_may_be_killed_too() -> None:
    """Its parsers go on without it, and the next ones come from another."""
    async with _workers() as workers:
        await workers.warm_up()
        (first,), (nursery,) = workers.pids, _nurseries()

        os.kill(nursery, signal.SIGKILL)
        await _until(lambda: _state(nursery) in ("gone", "Z"))
        found = await workers.extract(PAGE)
        assert workers.pids == (first,)
        os.kill(first, signal.SIGKILL)
        await _until(lambda: workers.pids == ())
        again = await workers.extract(PAGE)

        assert found == again
        assert [pid for pid in _nurseries() if pid != nursery] == [_parent(workers.pids[0])]


async def test_a_parser_is_born_in_milliseconds() -> None:
    """A new one costs neither an interpreter nor its imports, which take 0.4 s."""
    spent_s = []
    async with _workers() as workers:
        await workers.warm_up()
        for _ in range(3):
            os.kill(workers.pids[0], signal.SIGKILL)
            await _until(lambda: workers.pids == ())
            await workers.extract(PAGE)
            spent_s.append(_cpu_s(workers.pids[0]))

    assert min(spent_s) < 0.1


async def test_what_parsers_come_from_holds_little() -> None:
    """It imports what reads pages, and no client, stemmer or list of words that its parsers may never need: 28 MiB."""
    async with _workers() as workers:
        await workers.warm_up()
        (nursery,) = _nurseries()
        rollup = await asyncio.to_thread(Path(f"/proc/{nursery}/smaps_rollup").read_text, "ascii")

    held_kib = next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Anonymous:"))
    assert held_kib < 40 * 1024


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


async def test_a_process_is_started_while_the_page_is_on_its_way() -> None:
    """Whoever asks first does not wait for a parser after waiting for the page."""
    pages = WebPages(allow=[ip_network("127.0.0.0/8")], workers=1)
    async with WebWorld({"/late": PageSpec(behaviour="hang")}) as world:
        reading = asyncio.create_task(pages.fetch(world.url("/late")))

        await _until(lambda: bool(world.asked("/late")))

        assert len(_nurseries()) == 1
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await pages.aclose()


async def test_closing_leaves_no_process_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle and busy workers are gone when the last pool's `aclose` returns, which may be called twice."""
    monkeypatch.setattr("adapters.pages.workers.NURSERY", Nursery())
    workers = ExtractionWorkers(count=2)
    await workers.warm_up()
    pids = workers.pids
    running = asyncio.create_task(workers.extract(SLOW))
    await _until(lambda: any(_state(pid) == "R" for pid in pids))

    await workers.aclose()
    await workers.aclose()

    assert len(pids) == 2
    assert {_state(pid) for pid in pids} == {"gone"}
    with pytest.raises(PageUnreadable):
        await running
    with pytest.raises(PageUnreadable, match="shut down"):
        await workers.extract(PAGE)


async def test_a_worker_sees_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser taken over by a page finds no keys."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    async with _workers() as workers:
        await workers.warm_up()
        environment = await asyncio.to_thread(Path(f"/proc/{workers.pids[0]}/environ").read_bytes)

    assert b"secret" not in environment
    assert b"OPENAI" not in environment


SCRIPT = """
import asyncio, sys
from ipaddress import ip_network
from adapters.pages import WebPages

async def main():
    pages = WebPages(workers=2)
    await pages.warm_up()
    print(*pages._workers.pids, flush=True)
    {end}

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("end", "code"),
    [("return", 0), ("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9)],
    ids=["forgotten", "exit", "killed"],
)
async def test_workers_end_with_us_however_we_end(end: str, code: int) -> None:
    """Without `aclose` the interpreter ends at once, says nothing, and its workers follow."""
    started = time.monotonic()
    done = await asyncio.to_thread(_run, SCRIPT.format(end=end))

    pids = [int(word) for word in done.stdout.split()]
    await _until(lambda: all(_state(pid) in ("gone", "Z") for pid in pids))

    assert done.returncode == code
    assert done.stderr == ""
    assert len(pids) == 2
    assert time.monotonic() - started < 10


async def test_importing_the_fetcher_is_cheap() -> None:
    """The main process never loads the extractor, nor, until a page is asked for, an HTTP client."""
    script = """
import sys
import adapters.pages
before = [name for name in ("trafilatura", "lxml", "pypdfium2", "aiohttp") if name in sys.modules]
from adapters.pages import WebPages
WebPages(workers=1)
print(before, [name for name in ("trafilatura", "lxml", "pypdfium2", "protego") if name in sys.modules])
"""

    done = await asyncio.to_thread(_run, script)

    assert done.stdout.strip() == "[] []"


def _run(script: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=env, capture_output=True, text=True, timeout=30, check=False
    )


def _nurseries() -> list[int]:
    """What parsers come from, as children of this process."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if _parent(pid) == os.getpid() and b"adapters.pages.worker" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _state(pid: int) -> str:
    """The process's state letter as Linux reports it, `gone` when there is none."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        is_dying = state == "Z" and len(list(Path(f"/proc/{pid}/task").iterdir())) > 1
        return "dying" if is_dying else state  # its other threads keep its files open
    except OSError:
        return "gone"


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(15):
        while not is_so():  # noqa: ASYNC110 - another process's state has no event to wait for
            await asyncio.sleep(0.01)
