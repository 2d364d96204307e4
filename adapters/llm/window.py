"""How many tokens a model takes, and what is left out of a prompt that has more.

Set, else asked of the endpoint where it tells, else learnt from its refusal, or from how little it says it has read.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit, urlunsplit

from adapters.llm.endpoint import Endpoint, timeout
from adapters.llm.failures import call_failures
from adapters.llm.reading import attribute
from core.llm.prices import estimate_tokens
from core.model.answer import ModelUsage
from core.model.errors import PromptTooLong
from core.model.ports import ChatRequest

if TYPE_CHECKING:
    import openai

log = logging.getLogger(__name__)

ASK_TIMEOUT_S = 2.0
MOST_WAIT_S = 1.0  # of a long prompt for the endpoint's word on its window, once
SMALL_PROMPT = 1500  # tokens, with the answer: fits everywhere, so nobody waits to know
LEAST_ANSWER = 256  # tokens
ANSWER_SHARE = 3  # the answer gets a third of a window that is too small for all it may take
SAFETY = 1.05  # tokens are estimated, and a chat template adds its own
LEAST_COMPARED = 200  # tokens of a prompt, below which a chat template weighs too much
MOST_FACTOR = 2.0
# English costs 4.2–4.8 characters a token with any vocabulary in use; who counts fewer tokens has not read all.
MOST_CHARS_A_TOKEN, MOST_WIDE_CHARS_A_TOKEN = 5.6, 9.0
LEAST_COUNTED = 1000  # tokens; fewer is what a cache left to read
_BLOCK = re.compile(r"<(source|item)\b[^>]*>\n.*?\n</\1>\n*", re.DOTALL)
_SERVED = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")


@dataclass(frozen=True)
class Fitted:
    """A request as it may be sent, its `max_tokens` with what the model needs to think; `note` is for people."""

    request: ChatRequest
    note: str = ""


class Window:
    """The window of one model at one endpoint; `tokens` is 0 while it is not known."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.tokens = endpoint.context_tokens
        self.silent_cut = ""  # what to tell the operator of an endpoint that cuts prompts without a word
        self._kept = self.tokens  # without guesses that no prompt has passed with
        self._endpoint = endpoint
        self._factor = SAFETY
        self._asking: asyncio.Task[int] | None = None

    async def known(self, client: openai.AsyncOpenAI, request: ChatRequest) -> None:
        """Ask once, in the background; only a prompt that may be too long waits for the answer."""
        if self._asking is None and not self.tokens and not self._endpoint.is_openai:
            self._asking = asyncio.create_task(asked_window(client, self._endpoint))
            self._asking.add_done_callback(self._take)
        if self._asking is not None and self._estimate(request) + request.max_tokens > SMALL_PROMPT:
            await asyncio.wait([self._asking], timeout=MOST_WAIT_S)

    async def aclose(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            with suppress(asyncio.CancelledError):
                await self._asking

    def fit(self, request: ChatRequest, *, thinking: int) -> Fitted:
        """The request with fewer or shorter sources where it has more than the window takes."""
        limit = self._endpoint.max_tokens.get(request.purpose, request.max_tokens) + thinking
        if not self.tokens:
            return Fitted(replace(request, max_tokens=limit))
        room = self.tokens - min(limit, self.tokens // ANSWER_SHARE)
        over = self._estimate(request) - room
        user, left_out, of = _shortened(request.user, over / self._factor) if over > 0 else (request.user, 0, 0)
        sent = replace(request, user=user)
        most = max(LEAST_ANSWER, self.tokens - self._estimate(sent))
        return Fitted(replace(sent, max_tokens=min(limit, most)), _note(self.tokens, left_out, of))

    def learn(self, refused: PromptTooLong, sent: ChatRequest) -> bool:
        """Take in why a prompt was refused; whether a shorter one may now pass."""
        estimated = self._estimate(sent)
        if refused.sent:
            self._factor = max(self._factor, SAFETY * refused.sent * self._factor / max(estimated, 1))
        told = refused.window
        asked_for = estimated + sent.max_tokens
        if not told or (self.tokens and told >= self.tokens and not refused.sent):
            told = int(0.7 * min(asked_for, self.tokens or asked_for))
        self.tokens = told
        if refused.window:
            self._keep()
        return told > 2 * LEAST_ANSWER

    def forget(self) -> None:
        """A longer prompt passed, or no shorter one did: what was guessed of the window is not why it was refused."""
        self.tokens = self._kept

    def notice(self, sent: ChatRequest, usage: ModelUsage | None) -> str:
        """Look whether all of the prompt was read; a sentence for people where it was not. Tells the log once."""
        text = sent.system + sent.user
        estimated = self._estimate(sent)
        if estimated + sent.max_tokens > self.tokens:
            self.forget()
        else:
            self._keep()
        if usage is not None and not usage.is_estimated and estimated > LEAST_COMPARED:
            # Small models' vocabularies cost more tokens than is estimated, and some endpoints add the schema.
            counted = SAFETY * self._factor * usage.prompt_tokens / estimated
            self._factor = max(self._factor, min(counted, MOST_FACTOR))
        if usage is None or usage.prompt_tokens < LEAST_COUNTED or sent.turns:
            return ""
        is_plain = len(text.encode("ascii", "ignore")) >= 0.9 * len(text)
        most = MOST_CHARS_A_TOKEN if is_plain else MOST_WIDE_CHARS_A_TOKEN
        if len(text) / usage.prompt_tokens <= most:
            return ""
        told = (
            f"{self._endpoint.host} read {usage.prompt_tokens} tokens of a prompt of about {estimate_tokens(text)} and "
            "said nothing of it: its window is too small. Give the model a larger one where it is served (Ollama: "
            "OLLAMA_CONTEXT_LENGTH or num_ctx), or set GORKD_CONTEXT_TOKENS; until then prompts are cut to this length."
        )
        if not self.silent_cut:
            log.warning(told)
        self.silent_cut, self.tokens, self._kept = told, usage.prompt_tokens, usage.prompt_tokens
        return "The model's endpoint has read only a part of the sources."

    def _keep(self) -> None:
        if self.tokens != self._kept:
            log.warning("%s takes %d tokens; prompts are cut to that", self._endpoint.host, self.tokens)
        self._kept = self.tokens

    def _estimate(self, request: ChatRequest) -> int:
        said = [text for turn in request.turns for text in (*(call.arguments for call in turn.calls), *turn.results)]
        return round(self._factor * sum(map(estimate_tokens, (request.system, request.user, *said))))

    def _take(self, asking: asyncio.Task[int]) -> None:
        if not asking.cancelled() and asking.exception() is None and not self.tokens:
            self.tokens = self._kept = asking.result()


def _note(window: int, left_out: int, of: int) -> str:
    if not left_out:
        return ""
    return f"The model's window of {window:,} tokens had no room for {left_out} of the {of} sources."


def _shortened(user: str, tokens: float) -> tuple[str, int, int]:
    """`user` with `tokens` fewer: without the last of its sources, and with a shorter one where it is the last left.

    With how many sources are missing, of how many.
    """
    blocks = list(_BLOCK.finditer(user))
    kept = len(blocks)
    while kept > 1 and tokens > 0:
        kept -= 1
        tokens -= estimate_tokens(blocks[kept].group())
    pieces, end = [], 0
    for place, block in enumerate(blocks):
        pieces.append(user[end : block.start()])
        end = block.end()
        if place < kept:
            pieces.append(_cut(block.group(), tokens) if kept == 1 and tokens > 0 else block.group())
    left_out = 0 if blocks and blocks[0][1] == "item" else len(blocks) - kept
    return "".join([*pieces, user[end:]]), left_out, len(blocks)


def _cut(block: str, tokens: float) -> str:
    """A source without its end."""
    opening, _, rest = block.partition("\n")
    body, closing, behind = rest.rpartition("\n</")
    share = max(0.1, 1 - tokens / max(estimate_tokens(body), 1))
    return f"{opening}\n{body[: int(share * len(body))]} […]{closing}{behind}"


async def asked_window(client: openai.AsyncOpenAI, endpoint: Endpoint) -> int:
    """What the endpoint says of its model's window, 0 where it says nothing. Never raises."""
    listed = attribute(await _get(client, "/models"), "data")
    rows = listed if isinstance(listed, list) else []
    own = next((row for row in rows if attribute(row, "id") == endpoint.model), rows[0] if len(rows) == 1 else None)
    told = _count(own) or _count(attribute(own, "meta")) or _count(attribute(own, "top_provider"))
    if told or not is_local(endpoint.base_url):
        return told
    for path in _local_paths(endpoint.model):
        if told := _served(await _get(client, _root(endpoint.base_url) + path), endpoint.model):
            return told
    shown = attribute(await _post(client, _root(endpoint.base_url) + "/api/show", endpoint.model), "parameters")
    found = re.search(r"\bnum_ctx\s+(\d+)", shown) if isinstance(shown, str) else None
    return int(found[1]) if found else 0


def _local_paths(model: str) -> Iterator[str]:
    """Of llama.cpp, LM Studio and Ollama; how long the context is with which a model is loaded."""
    yield "/props"
    yield f"/api/v0/models/{quote(model, safe='')}"
    yield "/api/ps"


def _served(said: object, model: str) -> int:
    loaded = attribute(said, "models")
    if isinstance(loaded, list):
        own = (row for row in loaded if model in {attribute(row, "name"), attribute(row, "model")})
        return _count(next(own, None))
    return _count(attribute(said, "default_generation_settings")) or _count(said)


def _count(row: object) -> int:
    for name in _SERVED:
        value = attribute(row, name)
        if isinstance(value, int) and not isinstance(value, bool) and value > LEAST_ANSWER:
            return value
    return 0


async def _get(client: openai.AsyncOpenAI, path: str) -> object:
    try:
        return await client.get(path, cast_to=object, options={"timeout": timeout(ASK_TIMEOUT_S)})
    except call_failures():
        return None


async def _post(client: openai.AsyncOpenAI, path: str, model: str) -> object:
    try:
        return await client.post(
            path, cast_to=object, body={"model": model}, options={"timeout": timeout(ASK_TIMEOUT_S)}
        )
    except call_failures():
        return None


def _root(base_url: str) -> str:
    parts = urlsplit(base_url)
    return urlunsplit((parts.scheme, parts.netloc, "", "", ""))


def is_local(base_url: str) -> bool:
    """On this machine or in its network: only such servers are asked at other addresses than the API's."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".lan", ".internal", ".localhost"))
