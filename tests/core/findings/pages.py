"""A small web on one subject, and a model that searches it by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.loopback.findings_responders import SNIPPET, Seen, findings_text, mode_in, response_body
from tests.loopback.world import SitePage, World

QUESTION = "How do I stream tokens of a model?"
INVENTED = Seen("https://invented.example/x", ("An invented page describes all of this in great detail.",))
PAGES = {
    "/streaming": SitePage(
        "Streaming responses",
        "Streaming sends each token to the client as soon as the model has produced it. Server-sent events are the "
        "usual transport for streaming a model's tokens over HTTP. A stream must be closed when the client goes away.",
    ),
    "/sse": SitePage(
        "Server-sent events guide",
        "Server-sent events are the usual transport for streaming tokens of a model over HTTP. Browsers reconnect to "
        "an event stream by themselves. Proxies may buffer a stream unless buffering is turned off.",
    ),
    "/batch": SitePage(
        "Batch or stream",
        "Batch requests cost half as much as streaming requests but take up to a day. Streaming lowers the time to "
        "the first token from seconds to milliseconds.",
    ),
}


LONG = "\n".join(
    [
        "import json",
        "",
        "import requests",
        "",
        "",
        "def stream(url, prompt):",
        '    """Give each token as it comes."""',
        "    reply = requests.post(url, json={'prompt': prompt, 'stream': True}, stream=True, timeout=60)",
        *(f"    if reply.status_code == {500 + number}:\n        raise OSError('refused by {number}')"
          for number in range(12)),
        "    for line in reply.iter_lines():",
        "        if line.startswith(b'data: '):",
        "            yield json.loads(line[6:])['token']",
    ]
)  # fmt: skip
TICKED = "# Write a fence\n\n```sh\ncurl -N https://api.example/stream\n```\n\nAnd `that` is all."
CODES = {"/sse": ("python", LONG), "/batch": ("markdown", TICKED)}


def seen_in(world: World) -> list[Seen]:
    """The pages as a searching model knows them."""
    return [
        Seen(world.web.url(path), tuple(f"{part.rstrip('.')}." for part in page.text.split(". ")), code, language)
        for path, page in PAGES.items()
        for language, code in [CODES.get(path, ("python", SNIPPET))]
    ]


def offer_web_search(world: World, *, also: Sequence[Seen] = ()) -> None:
    """The endpoint answers the Responses API: it lists every page of the world, and it also writes from `also`."""
    seen = seen_in(world)

    def search(body: Mapping[str, Any]) -> dict[str, Any]:
        text = findings_text(mode_in(body["instructions"]), [*seen, *also])
        return response_body(text, seen, queries=["streaming tokens"], cites=[seen[0].url])

    world.model.search = search
