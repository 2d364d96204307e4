"""A scripted model for ideas, implementations and reports: it writes what S004 asks for, from what it was given.

By chat completions it takes sentences of the sources in the prompt; by the Responses API it "searches" pages that a
test hands it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.loopback.openai_responders import ChatCall, sources_in

SECTIONS = ("Abstract", "Introduction", "Literature Review", "Methodology", "Implementations")
SNIPPET = "import json\n\nimport requests\n\n\ndef fetch(url):\n    return json.loads(requests.get(url).text)"


@dataclass(frozen=True)
class Seen:
    """A page as the model knows it: its address, sentences of it, and what code an implementation takes from it."""

    url: str
    sentences: tuple[str, ...]
    code: str = SNIPPET
    language: str = "python"


def findings_responder(call: ChatCall) -> str:
    """The answer of the mode that the prompt names, from the sources in the prompt."""
    return writing({})(call)


def writing(codes: Mapping[str, tuple[str, str]]) -> Callable[[ChatCall], str]:
    """As `findings_responder`, with language and code of an implementation by the path of its page."""

    def respond(call: ChatCall) -> str:
        addresses = dict(re.findall(r"(?m)^Source (\d+): (\S+)$", call.user))
        pages = [_seen(addresses[source.number], source.text, codes) for source in sources_in(call.user)]
        return findings_text(mode_in(call.system), [page for page in pages if page.sentences])

    return respond


def _seen(url: str, text: str, codes: Mapping[str, tuple[str, str]]) -> Seen:
    language, code = codes.get(urlsplit(url).path, ("python", SNIPPET))
    return Seen(url, _sentences(text), code, language)


def mode_in(system: str) -> str:
    found = re.search(r"(?m)^Mode: (\w+)$", system)
    return found[1] if found else ""


def findings_text(mode: str, pages: Sequence[Seen], *, top_k: int = 5) -> str:
    """Analysis that mentions the tags, then the wrapped result."""
    analysis = "I looked around; the result follows inside <research_result> tags.\n\n"
    if mode == "freeform":
        return f"{analysis}<research_result>\n{report_text(pages)}\n</research_result>"
    items = "\n".join(_item(mode, page) for page in pages[:top_k])
    return f"{analysis}<research_result>\n{items}\n</research_result>"


def report_text(pages: Sequence[Seen]) -> str:
    cited = [f"{sentence.rstrip('.')} ({page.url})." for page in pages for sentence in page.sentences[:3]]
    parts = [f"## Abstract\n\n{' '.join(cited[:3])}"]
    parts += [f"## {title}\n\n{cited[at % len(cited)] if cited else ''}" for at, title in enumerate(SECTIONS[1:])]
    return "\n\n".join(parts)


def _item(mode: str, page: Seen) -> str:
    content = page.sentences[0]
    if mode == "implementation":
        fence = "`" * (4 if "```" in page.code else 3)
        content += f"\n\n{fence}{page.language}\n{page.code}\n{fence}\n\nDependencies: pip install requests"
    return f"<research_item>\n<source>{page.url}</source>\n<content>\n{content}\n</content>\n</research_item>"


def _sentences(text: str) -> tuple[str, ...]:
    found = [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", text)]
    return tuple(part for part in found if len(part) >= 30 and part[0].isupper() and part[-1] == ".")


def response_body(text: str, pages: Sequence[Seen], *, queries: Sequence[str], cites: Sequence[str]) -> dict[str, Any]:
    """A whole answer of the Responses API with a `web_search_call` and `url_citation` annotations."""
    notes = [
        {"type": "url_citation", "url": url, "title": f"Title of {url}", "start_index": 0, "end_index": 1}
        for url in cites
    ]
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": notes}],
    }
    listed = [{"type": "url", "url": page.url} for page in pages]
    action = {"type": "search", "query": queries[0] if queries else "", "queries": [*queries], "sources": listed}
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": "loop-1",
        "output": [*([search] if queries else []), message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [{"type": "web_search"}],
        "usage": {"input_tokens": 900, "output_tokens": 300, "total_tokens": 1200},
    }
