"""How endpoints differ that all speak OpenAI's API: each a way of answering, set on an `OpenAIWorld`.

    DIALECTS["ollama cloud"].speak(world)

What they say is in the words of the real ones, as they are known by November 2026.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.loopback.openai_responders import ChatCall, Fault, answer_responder
from tests.loopback.openai_world import BY_DEFAULT, OpenAIWorld

Bend = Callable[[ChatCall, str], str | Fault]
NAMES = {"queries": "plan", "summary": "answer", "why": "verdicts", "answers": "answers"}  # of schemas, by a field
THOUGHT = 'Okay, the user wants ZX-THOUGHT. Maybe {"summary": "ZX-THOUGHT drafted [1]."}? Let me see.'


@dataclass(frozen=True)
class Spoken:
    """`bend` gives from a call and its right answer what this endpoint sends; `said` is what it says elsewhere."""

    bend: Bend
    rejects: frozenset[str] = frozenset()
    said: Mapping[str, Any] = field(default_factory=dict)
    azure: str = ""
    status: int = 400  # of a refusal

    def speak(self, world: OpenAIWorld) -> None:
        world.rejects, world.said, world.azure = set(self.rejects), dict(self.said), self.azure
        world.reject_status = self.status
        if self.azure:
            world.url = world.url.removesuffix("/v1") + f"/openai/deployments/loop-1?api-version={self.azure}"
        world.respond = lambda call: self.bend(call, right_answer(call))


def right_answer(call: ChatCall) -> str:
    """What the scripted model writes, also where the schema is told in words alone."""
    told = re.search(r"^\{.*\}$", call.system, re.MULTILINE)
    if not call.schema_name and told:
        schema = json.loads(told.group())
        name = next(name for name_of, name in NAMES.items() if name_of in schema["properties"])
        call = replace(call, schema_name=name, schema=schema)
    answer = BY_DEFAULT(call)
    assert isinstance(answer, str)
    return answer


def as_it_is(call: ChatCall, right: str) -> str:
    return right


def only_in_words(call: ChatCall, right: str) -> str:
    """Ignores `response_format`, and writes JSON only when the prompt says so."""
    return right if "JSON schema" in call.system else in_prose(call, right)


def in_prose(call: ChatCall, right: str) -> str:
    """Writes prose whatever it is asked."""
    if "<source" not in call.user:
        return "I would look for pages on this and compare what they say."
    answer = json.loads(answer_responder(call))
    return f"{answer['summary']}\n\n{answer['detail']}".strip()


def fenced(call: ChatCall, right: str) -> str:
    return f"Sure! Here is the JSON you asked for:\n\n```json\n{right}\n```\nLet me know if you need more."


def wrapped(call: ChatCall, right: str) -> str:
    """Another case, a wrapper, a trailing comma."""
    said = {name.capitalize(): value for name, value in json.loads(right).items()}
    return json.dumps({"Result": said}, ensure_ascii=False)[:-2] + ",}}"


def thinking(template: str) -> Bend:
    return lambda call, right: template.format(thought=THOUGHT, answer=right)


def thinks_long(call: ChatCall, right: str) -> Fault:
    """Thought counts into the limit: below 3,000 tokens nothing is left for the answer."""
    if call.max_tokens < 3000:
        return Fault(text="", thought=THOUGHT, finish_reason="length")
    return Fault(text=right, thought=THOUGHT)


def cut_short(call: ChatCall, right: str) -> str | Fault:
    """The answer ends within its detail; all else is short enough."""
    is_answer = '"summary"' in right
    return Fault(text=right[: right.index('"detail"') + 60], finish_reason="length") if is_answer else right


def loops(call: ChatCall, right: str) -> str:
    return '{"summary": "' + "O.M.L.M.K." * 400 if '"summary"' in right else right


def _broken_stream() -> Fault:
    """OpenRouter: an error chunk in a stream that had begun."""
    begun = {"choices": [{"index": 0, "delta": {"content": '{"summary": "Cats'}, "finish_reason": None}]}
    error = {"error": {"code": 502, "message": "Provider disconnected"}, "choices": [{"finish_reason": "error"}]}
    return Fault(raw=f"data: {json.dumps(begun)}\n\ndata: {json.dumps(error)}\n\n".encode())


def _events(text: str) -> bytes:
    chunks = [{"choices": [{"delta": {"content": text[at : at + 40]}}]} for at in range(0, len(text), 40)]
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"


def _completion(text: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}, indent=1).encode()


def once(first: Fault) -> Callable[[], Spoken]:
    """An endpoint that fails the first answer asked of it."""

    def make() -> Spoken:
        waiting = [first]
        return Spoken(lambda call, right: waiting.pop() if waiting and '"summary"' in right else right)

    return make


def narrow(tokens: int, refuse: Callable[[int, int], Fault]) -> Bend:
    """Refuses what has more than `tokens`, of prompt and answer together."""

    def bend(call: ChatCall, right: str) -> str | Fault:
        is_over = call.prompt_tokens + call.max_tokens > tokens
        return refuse(call.prompt_tokens, tokens) if is_over else right

    return bend


def silent(tokens: int) -> Bend:
    """Ollama: reads the end of what is too long, and counts only that."""

    def bend(call: ChatCall, right: str) -> Fault:
        read = min(call.prompt_tokens, tokens)
        return Fault(text=right, usage={"prompt_tokens": read, "completion_tokens": 50, "total_tokens": read + 50})

    return bend


def _llama_cpp(sent: int, window: int) -> Fault:
    message = f"request ({sent} tokens) exceeds the available context size ({window} tokens), try increasing it"
    return Fault(status=400, kind="exceed_context_size_error", code="400", message=message)


def _vllm(sent: int, window: int) -> Fault:
    message = (
        f"This model's maximum context length is {window} tokens. However, you requested {sent + 1500} tokens "
        f"({sent} in the messages, 1500 in the completion). Please reduce the length of the messages or completion."
    )
    return Fault(status=400, kind="BadRequestError", code="400", message=message)


def _lm_studio(sent: int, window: int) -> Fault:
    message = (
        f"Trying to keep the first {sent} tokens when context the overflows. However, the model is loaded with context "
        f"length of only {window} tokens, which is not enough. Try to load the model with a larger context length."
    )
    return Fault(status=400, message=message)


def _groq(sent: int, window: int) -> Fault:
    message = (
        f"Request too large for model `loop-1` in organization `org_1` service tier `on_demand` on tokens per minute "
        f"(TPM): Limit {window}, Requested {sent + 1500}, please reduce your message size and try again."
    )
    return Fault(status=413, kind="tokens", code="rate_limit_exceeded", message=message)


def _wordless(sent: int, window: int) -> Fault:
    return Fault(status=400, code="context_length_exceeded", message="Please reduce the length of the messages.")


DIALECTS: Mapping[str, Spoken | Callable[[], Spoken]] = {
    "openai": Spoken(as_it_is, frozenset({"max_tokens", "temperature"})),
    "ignores response_format": Spoken(only_in_words),
    "prose alone": Spoken(in_prose),
    "nothing readable": Spoken(lambda call, right: "{]" if "<source" in call.user else right),
    "refuses json_schema": Spoken(as_it_is, frozenset({"response_format.json_schema"})),
    "llama-cpp-python": Spoken(as_it_is, frozenset({"response_format.json_schema", "stream_options"}), status=500),
    "fenced": Spoken(fenced),
    "wrapped": Spoken(wrapped),
    "commented, without a comma": Spoken(lambda call, right: right.replace(', "detail"', ' // more\n"detail"')),
    "quotes within": Spoken(lambda call, right: right.replace(" twitch ", ' "twitch" ')),
    "python": Spoken(lambda call, right: str(json.loads(right)) if "summary" in right else right),
    "curly quotes": Spoken(lambda call, right: re.sub(r'"([^"]*)"', "“\\1”", right) if "summary" in right else right),
    "names in german": Spoken(lambda call, right: right.replace('"summary"', '"Zusammenfassung"')),
    "plain json as a stream": Spoken(lambda call, right: Fault(raw=_completion(right))),
    "stream as plain json": Spoken(lambda call, right: Fault(raw=_events(right), content_type="application/json")),
    "byte order mark": Spoken(lambda call, right: Fault(raw=b"\xef\xbb\xbf" + _events(right))),
    "as a call of a tool": Spoken(
        lambda call, right: Fault(calls=(("json_tool_call", right),), finish_reason="tool_calls")
    ),
    "with the thoughts": Spoken(lambda call, right: Fault(thought=f"{THOUGHT}\n{right}")),
    "no usage": Spoken(lambda call, right: Fault(text=right, usage=None)),
    "think tags": Spoken(thinking("<think>{thought}</think>\n\n{answer}")),
    "think unopened": Spoken(thinking("{thought}\n</think>\n{answer}")),
    "think unclosed": Spoken(thinking("<think>{thought}\n{answer}")),
    "magistral": Spoken(thinking("[THINK]{thought}[/THINK]{answer}")),
    "gpt-oss raw": Spoken(
        thinking("<|channel|>analysis<|message|>{thought}<|end|><|start|>assistant<|channel|>final<|message|>{answer}")
    ),
    "reasoning_content": Spoken(lambda call, right: Fault(text=right, thought=THOUGHT)),
    "thinks long": Spoken(thinks_long),
    "cut short": Spoken(cut_short),
    "loops": Spoken(loops),
    "llama.cpp window": Spoken(narrow(3500, _llama_cpp)),
    "vllm window": Spoken(narrow(3500, _vllm)),
    "lm studio window": Spoken(narrow(3500, _lm_studio)),
    "groq 413": Spoken(narrow(3500, _groq)),
    "window untold": Spoken(narrow(3500, _wordless)),
    "ollama silent": Spoken(silent(2500)),
    "azure": Spoken(as_it_is, azure="2024-10-21"),
    "openrouter error chunk": once(_broken_stream()),
    "groq 429": once(Fault(status=429, code="rate_limit_exceeded", headers={"retry-after": "0"}, message="slow down")),
    "llama.cpp loading": once(
        Fault(status=503, kind="unavailable_error", headers={"retry-after": "0"}, message="Loading model")
    ),
}
