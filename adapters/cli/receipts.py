"""`gorkd export`: an answer as a file, or with all that it takes to check it elsewhere; `gorkd verify` does that."""

from __future__ import annotations

import asyncio
import re
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import aiohttp
import typer
from rich.console import Console
from rich.text import Text

from adapters.cli.running import Exit, Operating, print_json, read_file, say, write_file
from adapters.cli.settings import AsJson, JobId
from adapters.proxies import Proxies
from core.model.errors import FetchError, InvalidQuery, JobNotFound
from core.model.ports import PageFetcher
from core.presentation.exports import EXPORTS
from core.presentation.render import one_line
from core.presentation.wording import say_level
from core.receipts.container import Check, State, Verification, cited_sources, compare_live, keys_in, verify_receipt
from core.receipts.receipt import Receipt
from core.text.saying import say as said
from core.text.saying import say_many

KEY_PATH, KEY_BYTES, KEY_WITHIN_S = "/.well-known/gorkd-key", 65_536, 10.0
# Whoever hands on a receipt says which pages are read: at most so many, in so long, so many characters.
LIVE_PAGES, LIVE_WITHIN_S, LIVE_CHARS = 40, 180.0, 20_000_000
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SIGNS: dict[State, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "told": ("note", "yellow"),
    "failed": ("FAIL", "bold red"),
}


async def export_command(
    operating: Operating,
    job: JobId,
    *,
    receipt: Annotated[
        bool, typer.Option("--receipt", help="A zip that others can check without this server.")
    ] = False,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="Where to write it.")] = "",
    unsigned: Annotated[bool, typer.Option("--unsigned", help="Without this server's signature.")] = False,
) -> Exit:
    job_id = job.strip()
    async with operating.open_kept() as kept:
        if receipt:
            content = await kept.receipts().give(job_id, is_signed=not unsigned)
            path = Path(out or f"{job_id}.receipt.zip")
            write_file(path, content)
            say(said("written to {file}; check it anywhere with: gorkd verify {file}", file=path))
            return Exit.ANSWERED
        found, result = await kept.jobs.get(job_id), await kept.jobs.result(job_id)
        sources = await kept.sources.sources(job_id)
    if result is None:
        raise JobNotFound(job_id)
    text = EXPORTS["md"].write(found, result, sources)
    if out:
        write_file(Path(out), text)
    else:
        sys.stdout.write(text)
    return Exit.ANSWERED


async def verify_command(
    operating: Operating,
    file: Annotated[str, typer.Argument(help="The receipt.", metavar="FILE", show_default=False)],
    *,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="URL|FILE", help="Whose key must have signed: its server, a file, or the key."),
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Also read what the cited pages say today.")] = False,
    as_json: AsJson = False,
) -> Exit:
    keys = await _keys(operating, key.strip()) if key is not None else ()
    found = verify_receipt(read_file(Path(file)), keys=keys)
    if live and found.receipt is not None:
        async with operating.open_pages() as pages:
            found = replace(found, checks=(*found.checks, *await _live(pages, found.receipt)))
    if as_json:
        print_json({
            "sound": found.is_sound, "intact": found.is_intact, "signed_by": found.signer, "ending": found.ending,
            "checks": [asdict(one) for one in found.checks],
        })  # fmt: skip
    else:
        print_verification(Console(highlight=False), found)
    return Exit.ANSWERED if found.is_intact else Exit.FAILED


def print_verification(console: Console, found: Verification) -> None:
    """A line a check, and in the last one whether it may be relied on."""
    receipt = found.receipt
    if receipt is not None:
        console.print(Text(one_line(receipt.question), "bold"), soft_wrap=True)
        answered = re.sub(r"\.\d+", "", receipt.answered_at or "")  # nobody reads microseconds
        level = say_level(receipt.confidence)
        told = said("{level} confidence, answered {moment}, {job}", level=level, moment=answered, job=receipt.job_id)
        console.print(Text(one_line(told)), soft_wrap=True)
    width = max(len(check.name) for check in found.checks)
    for check in found.checks:
        sign, style = _SIGNS[check.state]
        line = Text.assemble((f"{sign:<5}", style), f"{check.name:<{width}}  ", one_line(check.says))
        console.print(line, soft_wrap=True)
    style = "bold green" if found.is_sound else "bold yellow" if found.is_intact else "bold red"
    console.print(Text(found.ending, style), soft_wrap=True)


async def _live(pages: PageFetcher, receipt: Receipt) -> list[Check]:
    """Page by page, as far as the bounds let; the others are named as not looked at."""
    cited = cited_sources(receipt)
    checks, room = list[Check](), LIVE_CHARS
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + LIVE_WITHIN_S
    for source in cited[:LIVE_PAGES]:
        left_s = ends_at - loop.time()
        if left_s <= 0 or room <= 0:
            break
        page, why_not = None, ""
        try:
            page = await asyncio.wait_for(pages.fetch(source.url), left_s)
            room -= len(page.text)
        except TimeoutError:
            why_not = said("not read within {number} s of all", number=f"{LIVE_WITHIN_S:g}")
        except FetchError as error:
            why_not = error.reason
        checks.append(compare_live(receipt, source, page, why_not))
    if rest := len(cited) - len(checks):
        bounds = {"pages": LIVE_PAGES, "seconds": f"{LIVE_WITHIN_S:g}", "characters": LIVE_CHARS}
        one = "{number} cited page not looked at: at most {pages} pages, {seconds} s and {characters} characters"
        many = "{number} cited pages not looked at: at most {pages} pages, {seconds} s and {characters} characters"
        checks.append(Check("live", "told", say_many(one, many, rest, **bounds)))
    return checks


async def _keys(operating: Operating, key: str) -> tuple[str, ...]:
    """From a server, a file, or as it is given. Raises `InvalidQuery` for what cannot be read, or has none in it."""
    is_url = key.startswith(("http://", "https://"))
    is_file = not is_url and len(key) < 200 and await asyncio.to_thread(Path(key).is_file)  # a key has 44 characters
    text = await operating.fetch_key(key) if is_url else key
    found = keys_in(read_file(Path(key)).decode("utf-8", "replace") if is_file else text)
    if not found:
        raise InvalidQuery(said("There is no key in {place}.", place=key if is_file or is_url else "--key"), rule="key")
    return found


async def fetch_key(url: str, proxies: Proxies) -> str:
    """What a server publishes, by its address or the key's own. Raises `InvalidQuery`.

    Over http only from this machine: whoever is on the way there could give a key of their own.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        raise InvalidQuery(
            said("{url}: a key is fetched over https alone; save it to a file and give that.", url=url), rule="key"
        )
    place = url if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}{KEY_PATH}"
    timeout = aiohttp.ClientTimeout(total=KEY_WITHIN_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(place, proxy=proxies.of(place), allow_redirects=False) as response,
        ):
            content = await response.content.read(KEY_BYTES)
            status = response.status
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as exc:
        why = str(exc) or type(exc).__name__
        raise InvalidQuery(said("{file} cannot be read: {why}.", file=place, why=why), rule="key") from exc
    if status != 200:
        raise InvalidQuery(said("{file} cannot be read: {why}.", file=place, why=f"HTTP {status}"), rule="key")
    return content.decode("utf-8", "replace")
