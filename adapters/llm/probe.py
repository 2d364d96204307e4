"""What a model endpoint can do, tried out, and what gorkd does where it cannot: `gorkd doctor --model`.

Every try goes the way of a real question, through the same client, so what is told is what will happen. Bounded in
calls, tokens and time; no secret is repeated, since every message comes from core/model/errors.py.
"""

from __future__ import annotations

import asyncio
import math
import secrets
import tomllib
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from statistics import mean
from time import perf_counter

import httpx

from adapters.llm.embeddings import OpenAIEmbeddings
from adapters.llm.openai import OpenAIChat
from core.evidence.judge import Dialect, Judgement, Pair, PairwiseJudge, Ruling, SupportJudge, judge_of
from core.library.paper import STAGE_1, STAGE_2, measure
from core.llm.ask_model import asked_in_words, similarities_to, strict
from core.llm.prices import estimate_usage
from core.model.answer import ModelUsage
from core.model.errors import ModelError, ModelTimeout, PromptTooLong, ToolsUnsupported
from core.model.job import Json
from core.model.ports import ChatRequest, EmbeddingModel, Tool
from core.pipeline.checkup import Finding, FoundServer, Trial, Trials
from core.text.growing_json import read_object

CALL_S = 60.0  # a model that must first be loaded takes a third of it
LONG_S = 150.0  # for the long prompt, which a machine without a graphics card reads at 30 to 400 tokens a second
ENDPOINT_S = 420.0  # all tries of one endpoint; what is not tried by then is told
LONG_PROMPT_TOKENS = 4500  # more than the 4,096 to which some servers cut without a word, less than a quick answer's
LEAST_PIECES = 2  # of sixty words that are streamed: the first, and what a fast endpoint sends within a moment
PAIRS_A_CALL = 8  # as when answers are checked
CHAT_CALLS, CHAT_TOKENS = 7, 6500
JUDGE_CALLS, JUDGE_TOKENS = 46, 13_000  # three calls for a judge that does well, at most twice for each way to ask
EMBEDDING_CALLS, EMBEDDING_TOKENS = 5, 3000
RIGHT_OF_20 = 15  # fewer is closer to guessing than to judging
LEAST_APART = 0.05  # cosine
LEAST_GAIN_OF_TWO = 1.5  # below it two calls share what one has
LEAST_GAIN = 3  # pairs; less is chance
ONE_SIDED = 0.85  # of the answers, which should be half and half
QUICK_READ, QUICK_WRITTEN = 5600, 700  # tokens of a quick answer's plan, answer and check together
QUICK_S = 40.0  # of its 60 s; the rest is for searching
MOST_PATIENCE = 20

_READY = strict({"word": {"type": "string", "enum": ["ready"]}, "number": {"type": "integer", "enum": [7]}})
_TEXT = strict({"text": {"type": "string"}})
_LOOK_UP = Tool("look_up", "Looks a word up in the encyclopedia.", strict({"word": {"type": "string"}}))


@dataclass(frozen=True)
class Timed:
    """An answer, with the seconds until its first piece and until its end. `pieces` counts what came one by one."""

    text: str
    usage: ModelUsage
    pieces: int
    first_s: float
    all_s: float
    is_calling: bool

    @property
    def read_per_s(self) -> float:
        return self.usage.prompt_tokens / max(self.first_s, 1e-3)

    @property
    def written_per_s(self) -> float:
        return max(self.usage.completion_tokens - 1, 1) / max(self.all_s - self.first_s, 1e-3)


def model_trials(
    chats: Sequence[OpenAIChat],
    check: OpenAIChat | None,
    embedder: OpenAIEmbeddings | None,
    *,
    dialect: Dialect | None = None,
    patience: float = 1.0,
) -> Trials:
    """Of the models that write, the first of them for all modes; the one that judges, else the first; and meaning."""
    judge = check or next(iter(chats), None)

    async def run() -> AsyncGenerator[Trial, None]:
        for chat in chats:
            yield await trial(f"Answers: {chat.name} at {chat.host}", of_chat(chat, patience))
        if judge is not None:
            title = f"Judging citations: {judge.name} at {judge.host}"
            yield await trial(title, of_judge(judge, dialect if check else None))
        if embedder is not None:
            yield await trial(f"Meaning: {embedder.name} at {embedder.endpoint.host}", of_embeddings(embedder))
        for off in _missing(chats, embedder):
            yield off

    calls = len(chats) * CHAT_CALLS + (JUDGE_CALLS if judge else 0) + (EMBEDDING_CALLS if embedder else 0)
    tokens = len(chats) * CHAT_TOKENS + (JUDGE_TOKENS if judge else 0) + (EMBEDDING_TOKENS if embedder else 0)
    if not calls:
        return Trials("No model is configured, so there is nothing to try.", run)
    minutes = (len(chats) + bool(judge) + bool(embedder)) * ENDPOINT_S / 60
    return Trials(f"At most {calls} calls, {tokens:,} tokens and {minutes:.0f} minutes.", run)


def _missing(chats: Sequence[OpenAIChat], embedder: OpenAIEmbeddings | None) -> Iterator[Trial]:
    if not chats:
        says = "answers are quoted word for word; set OPENAI_API_KEY or OPENAI_BASE_URL to have them written"
        yield Trial("Answers: no model", (Finding("model", "off", says),))
    if embedder is None:
        says = "sources are ranked by words alone; set GORKD_EMBEDDING_MODEL to add meaning"
        yield Trial("Meaning: no embedding model", (Finding("embeddings", "off", says),))


async def trial(title: str, tries: AsyncGenerator[Finding, None]) -> Trial:
    """What was found until the time was up, or the endpoint failed."""
    found: list[Finding] = []
    try:
        async with asyncio.timeout(ENDPOINT_S), aclosing(tries):
            async for finding in tries:
                found.append(finding)  # noqa: PERF401 -- what came before an error is kept
    except TimeoutError:
        says = f"{ENDPOINT_S:.0f} s were up; the rest was not tried"
        found.append(Finding("time", "warning" if found else "failed", says))
    except ModelError as exc:
        found.append(Finding("answer", "warning" if found else "failed", exc.operator_message))
    return Trial(title, tuple(found))


# The model that writes


async def of_chat(chat: OpenAIChat, patience: float = 1.0) -> AsyncGenerator[Finding, None]:
    """Whether it answers, in which form, how fast and how much; `patience` is what is set now."""
    ready = _request("Say that you are ready, with the number seven.", _READY, max_tokens=200)
    began = perf_counter()
    answer = await _ask(chat, ready)
    yield Finding("answers", "ok", f"the address and the key are right; the first answer took {_s(began)}")
    yield await _structured(chat, ready, answer)
    prose = await _ask(chat, _prose_of("sea"))
    yield _streaming(prose)
    yield _usage(prose)
    for finding in _habits(chat):
        yield finding
    for part, try_out in (("tools", partial(_tools, chat)), ("two at once", partial(_two_at_once, chat, prose))):
        try:
            yield await try_out()
        except ModelError as exc:
            yield Finding(part, "warning", exc.operator_message)
    async for finding in _long(chat, prose, patience):
        yield finding


async def _structured(chat: OpenAIChat, ready: ChatRequest, answer: Timed) -> Finding:
    in_words = "the form of an answer is told in words"
    if read_object(answer.text, _READY) is not None:
        says = {
            "json_schema": "holds to a JSON schema",
            "json_object": "writes JSON objects, and takes no schema",
            "text": "takes no response_format, and follows a schema told in words",
        }[chat.dialect.output]
        instead = "" if chat.dialect.output == "json_schema" else in_words
        return Finding("structured output", "ok", says, instead)
    again = await _ask(chat, asked_in_words(ready))
    if read_object(again.text, _READY) is not None:
        return Finding("structured output", "warning", "takes a schema and ignores it; follows it in words", in_words)
    return Finding(
        "structured output",
        "warning",
        f"follows no schema, asked for or told in words; it wrote “{_short(again.text)}”",
        "prose with its [1] is taken as the answer, or the sources are quoted; rules make the plan",
        ("GORKD_MODEL=…  # a larger one, or one made to follow instructions",),
    )


def _streaming(prose: Timed) -> Finding:
    is_held_back = prose.all_s > 1 and prose.all_s - prose.first_s < 0.05 * prose.all_s  # by a proxy, as a rule
    if prose.pieces >= LEAST_PIECES and not is_held_back:
        return Finding("streaming", "ok", "word by word")
    return Finding("streaming", "warning", "the answer comes in one piece", "it is shown when it is whole")


def _usage(prose: Timed) -> Finding:
    if not prose.usage.is_estimated:
        return Finding("tokens", "ok", "are counted by the endpoint")
    return Finding("tokens", "warning", "are not told by the endpoint", "they are estimated, and so is the cost")


def _habits(chat: OpenAIChat) -> list[Finding]:
    """What was learnt of the endpoint by the way."""
    dialect, found = chat.dialect, list[Finding]()
    if dialect.takes("temperature"):
        found.append(Finding("temperature", "ok", "0 is taken, for plans and verdicts"))
    else:
        found.append(Finding("temperature", "warning", "0 is refused", "plans and verdicts vary from call to call"))
    if dialect.thinking:
        room = f"{dialect.thinking:,} tokens more than an answer has are allowed, and the thoughts are shown to nobody"
        effort = ("GORKD_REASONING_EFFORT=low  # where its thoughts take too long",)
        found.append(Finding("thinking", "warning", "the model thinks before it answers", room, effort))
    else:
        found.append(Finding("thinking", "ok", "none before an answer"))
    return found


async def _tools(chat: OpenAIChat) -> Finding:
    """Sections let the model search with one; all else goes without."""
    request = _request("Look up the word lighthouse.", {}, max_tokens=60, tools=(_LOOK_UP,))
    without = "sections ask for their searches in JSON"
    try:
        answer = await _ask(chat, request)
    except ToolsUnsupported:
        return Finding("tools", "ok", "are refused", without)
    if answer.is_calling:
        return Finding("tools", "ok", "are called")
    return Finding("tools", "ok", "are taken and not called", without)


async def _long(chat: OpenAIChat, prose: Timed, patience: float) -> AsyncGenerator[Finding, None]:
    """The window, and from how fast a long prompt is read how long a question takes."""
    told = chat.window.tokens
    request = _request(f"{_sources()}\n\nSay that you are ready, with the number seven.", _READY, max_tokens=60)
    try:
        answer = await _ask(chat, replace(request, timeout_s=LONG_S))
    except PromptTooLong as exc:
        yield Finding("window", "failed", exc.operator_message)
        return
    except ModelTimeout:
        says = f"{LONG_PROMPT_TOKENS:,} tokens were not read in {LONG_S:.0f} s; a smaller model may be quick enough"
        needed = math.ceil(2 * LONG_S * QUICK_READ / LONG_PROMPT_TOKENS / QUICK_S)  # twice the least that it can be
        yield Finding("speed", "warning", says, _late(patience), (f"GORKD_PATIENCE={needed}",))
        return
    except ModelError as exc:
        yield Finding("window", "warning", f"{LONG_PROMPT_TOKENS:,} tokens got no answer: {exc.operator_message}")
        return
    yield _window(chat, told, answer)
    yield speed_finding(answer, prose, patience)


def _window(chat: OpenAIChat, told: int, answer: Timed) -> Finding:
    known = chat.window.tokens
    fewer = "as many sources are sent as fit; the answer says what was left out"
    if chat.window.silent_cut:
        says = (
            f"only {answer.usage.prompt_tokens:,} of some {LONG_PROMPT_TOKENS:,} tokens were read, and nothing said so"
        )
        return Finding("window", "warning", says, fewer, (f"GORKD_CONTEXT_TOKENS={known}",))
    if told:
        says = f"{told:,} tokens, as the endpoint tells"
        is_wide = told >= LONG_PROMPT_TOKENS
        return Finding("window", "ok", says) if is_wide else Finding("window", "warning", says, fewer)
    if known:
        line = (f"GORKD_CONTEXT_TOKENS={known}",)
        return Finding("window", "warning", f"{known:,} tokens, learnt from a refusal", fewer, line)
    return Finding("window", "ok", f"not told; {answer.usage.prompt_tokens:,} tokens were read whole")


def speed_finding(read: Timed, prose: Timed, patience: float) -> Finding:
    """From a long prompt that was read and an answer that was written."""
    quick_s = QUICK_READ / read.read_per_s + QUICK_WRITTEN / prose.written_per_s
    says = (
        f"reads {read.read_per_s:,.0f} and writes {prose.written_per_s:,.0f} tokens a second: "
        f"the model's part of a quick answer takes about {quick_s:.0f} s"
    )
    if quick_s <= QUICK_S * patience:
        return Finding("speed", "ok", says)
    needed = min(math.ceil(quick_s / QUICK_S), MOST_PATIENCE)
    return Finding("speed", "warning", says, _late(patience), (f"GORKD_PATIENCE={needed}",))


def _late(patience: float) -> str:
    return f"answers that are late are quoted from the sources; {QUICK_S * patience:.0f} s are allowed now"


async def serves_two(chat: OpenAIChat) -> bool:
    """Whether two calls beside each other write clearly more than one; three short calls. Raises `ModelError`."""
    return await _gain_of_two(chat, await _ask(chat, _prose_of("sea"))) >= LEAST_GAIN_OF_TWO


async def _two_at_once(chat: OpenAIChat, one: Timed) -> Finding:
    gain = await _gain_of_two(chat, one)
    if gain >= LEAST_GAIN_OF_TWO:
        return Finding("two at once", "ok", f"write {gain:.1f} times as much as one")
    says = f"write {gain:.1f} times as much as one: calls wait for each other"
    instead = "one call writes the whole answer; checking it takes longer, and what is late stays unconfirmed (◐)"
    return Finding("two at once", "ok", says, instead, () if chat.is_local else ("GORKD_WRITING=single",))


async def _gain_of_two(chat: OpenAIChat, one: Timed) -> float:
    both = await asyncio.gather(_ask(chat, _prose_of("hills")), _ask(chat, _prose_of("woods")))
    written = sum(answer.usage.completion_tokens for answer in both) / max(answer.all_s for answer in both)
    return written / max(one.usage.completion_tokens / one.all_s, 1e-3)


def _prose_of(subject: str) -> ChatRequest:
    return _request(f"Write sixty words about the {subject}.", _TEXT, max_tokens=120)


def _request(user: str, schema: Mapping[str, Json], *, max_tokens: int, tools: tuple[Tool, ...] = ()) -> ChatRequest:
    system = "Answer with the JSON object that the schema allows." if schema else "Use the tool."
    name = "doctor" if schema else ""
    return ChatRequest("doctor", system, user, name, schema, max_tokens, CALL_S, tools, temperature=0.0)


async def _ask(chat: OpenAIChat, request: ChatRequest) -> Timed:
    began = perf_counter()
    texts: list[str] = []
    usage: ModelUsage | None = None
    first_s, is_calling = 0.0, False
    async for delta in chat.stream(request):
        texts += [delta.text] if delta.text else []
        first_s = first_s or perf_counter() - began
        usage, is_calling = delta.usage or usage, is_calling or bool(delta.calls)
    text = "".join(texts)
    return Timed(text, usage or estimate_usage(request, text), len(texts), first_s, perf_counter() - began, is_calling)


def _sources() -> str:
    """Numbered sources of `LONG_PROMPT_TOKENS` together, fenced as those of a question.

    Never the same twice: a server that remembers how a prompt begins would seem to read it at once.
    """
    year = secrets.randbelow(10**6)
    return "\n\n".join(
        f'<source id="{number}" title="Harbour log {number} of {year}">\n'
        + " ".join(
            f"On day {day} the harbour master counted {day * number + 11} ships and wrote down wind and tide."
            for day in range(1, 16)
        )
        + "\n</source>"
        for number in range(1, LONG_PROMPT_TOKENS // 375 + 1)
    )


# The model that judges


async def of_judge(chat: OpenAIChat, dialect: Dialect | None = None) -> AsyncGenerator[Finding, None]:
    """Twenty labelled pairs, asked as answers are checked."""
    labels = labelled_pairs()[1]
    judge = judge_of(chat, dialect)
    judgements = await _judgements(judge)
    first = judge_finding(judgements, labels)
    yield first
    if first.state == "ok" or isinstance(judge, PairwiseJudge):
        return
    by_pair = await _judgements(PairwiseJudge(chat))
    gain = _right(by_pair, labels) - _right(judgements, labels)
    says = f"{_right(by_pair, labels)} of {len(labels)} pairs right"
    if gain < LEAST_GAIN:
        yield Finding("asked pair by pair", "ok", f"{says}, which is no better")
    else:
        lines = (f"GORKD_CHECK_MODEL={chat.name}", "GORKD_CHECK_DIALECT=pairwise")
        yield Finding("asked pair by pair", "warning", f"{says}, which is better", change=lines)


async def _judgements(judge: SupportJudge) -> list[Judgement | None]:
    pairs, judgements = labelled_pairs()[0], list[Judgement | None]()
    for at in range(0, len(pairs), PAIRS_A_CALL):
        batch = pairs[at : at + PAIRS_A_CALL]
        try:
            judgements += (await judge.judge(batch, timeout_s=CALL_S)).judgements
        except ModelTimeout:
            judgements += [None] * len(batch)
    return judgements


def _right(judgements: Sequence[Judgement | None], labels: Sequence[bool]) -> int:
    """What got no readable answer counts as not confirmed, as it does in an answer."""
    confirmed = [one is not None and one.ruling is Ruling.SUPPORTED for one in judgements]
    return sum(one == label for one, label in zip(confirmed, labels, strict=True))


def judge_finding(judgements: Sequence[Judgement | None], labels: Sequence[bool]) -> Finding:
    """Of claims that their passage says (`labels`) or does not say, ten each."""
    said = [one.ruling is Ruling.SUPPORTED for one, label in zip(judgements, labels, strict=True) if one and label]
    other = [one.ruling is Ruling.SUPPORTED for one, label in zip(judgements, labels, strict=True) if one and not label]
    unread = judgements.count(None)
    right = _right(judgements, labels)
    score = f"{right} of {len(labels)} pairs right" + (f", {unread} without a readable answer" if unread else "")
    vetoed = "numbers, names and denials are still compared by rules, and no ✓ stands against them"
    better = ("GORKD_CHECK_MODEL=…  # a larger model, or one for fact checks, as bespoke-minicheck",)
    if unread > len(labels) // 2:
        return Finding("judge", "warning", score, "what is not judged has no ✓ unless it is word for word", better)
    read = said + other
    if read.count(True) >= ONE_SIDED * len(read):
        return Finding("judge", "warning", f"says yes to {_all(other, True)}: {score}", vetoed, better)
    if read.count(False) >= ONE_SIDED * len(read):
        rarely = "✓ stands only where a sentence is word for word in its source"
        return Finding("judge", "warning", f"says no to {_all(said, False)}: {score}", rarely, better)
    if right < RIGHT_OF_20:
        wrong = f"{score}; {sum(other)} false claims called supported, {said.count(False)} true ones not"
        return Finding("judge", "warning", wrong, vetoed, better)
    return Finding("judge", "ok", f"{score}; {sum(other)} false claims called supported")


def _all(wrong: Sequence[bool], answer: bool) -> str:
    return "everything" if all(one is answer for one in wrong) else "nearly everything"


@cache
def _samples() -> Mapping[str, list[dict[str, str]]]:
    return tomllib.loads(Path(__file__).with_name("probe.toml").read_text(encoding="utf-8"))


def labelled_pairs() -> tuple[list[Pair], list[bool]]:
    rows = _samples()["pair"]
    return [Pair(row["claim"], (row["passage"],)) for row in rows], [bool(row["is_said"]) for row in rows]


# The model of meaning


async def of_embeddings(embedder: EmbeddingModel) -> AsyncGenerator[Finding, None]:
    began = perf_counter()
    cosines = await measure(embedder)
    yield Finding("answers", "ok", f"the address and the key are right; forty texts took {_s(began)}")
    same = mean([(await similarities_to(embedder, row["one"], [row["other"]]))[0] for row in _samples()["same"]])
    if cosines.usual - cosines.off < LEAST_APART:
        says = f"what belongs together ({cosines.usual:.2f}) is hardly nearer than what does not ({cosines.off:.2f})"
        yield Finding("cosines", "warning", says, "words decide as well", ("GORKD_EMBEDDING_MODEL=…  # another",))
        return
    yield Finding(
        "cosines",
        "ok",
        f"off the topic at most {cosines.off:.2f}; on the topic {cosines.usual:.2f} as a rule, seldom below "
        f"{cosines.low:.2f}; the same question in other words {same:.2f}",
    )
    first, second = cosines.least(STAGE_1), cosines.least(STAGE_2)
    if (first, second) == (STAGE_1, STAGE_2):
        yield Finding("cut-offs", "ok", f"papers from {first:.2f}, passages from {second:.2f}, as for most models")
    else:
        says = f"papers from {first:.2f}, passages from {second:.2f}, mapped from the cosines above"
        yield Finding("cut-offs", "ok", says, f"{STAGE_1:g} and {STAGE_2:g} would hold for models with higher cosines")


def _s(began: float) -> str:
    return f"{perf_counter() - began:.1f} s"


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= 60 else f"{plain[:59]}…"


# Servers of models on this machine, for whoever connects one

SERVERS: Mapping[str, int] = {  # the ports that they listen on as they come (their documentation, November 2026)
    "Ollama": 11434,
    "LM Studio": 1234,
    "llama.cpp": 8080,
    "vLLM": 8000,
    "Jan": 1337,
}
FIND_S = 1.0  # a program on this machine answers in milliseconds


async def find_servers(ports: Mapping[str, int] = SERVERS) -> list[FoundServer]:
    """Those that answer on the loopback with a list of models, in order. Never raises but `CancelledError`."""
    async with httpx.AsyncClient(timeout=FIND_S, trust_env=False) as client:
        found = await asyncio.gather(*(_models_at(client, name, port) for name, port in ports.items()))
    return [server for server in found if server is not None]


async def _models_at(client: httpx.AsyncClient, name: str, port: int) -> FoundServer | None:
    url = f"http://127.0.0.1:{port}/v1"
    try:
        answer = (await client.get(f"{url}/models")).json()
        models = tuple(str(model["id"]) for model in answer["data"])
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return None
    return FoundServer(name, url, models)
