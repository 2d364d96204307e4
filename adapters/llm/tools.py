"""Tools and the turns with them, in the words of the OpenAI-compatible API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from core.ports import Tool, ToolTurn

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam


def tool_params(tools: Sequence[Tool]) -> list[ChatCompletionFunctionToolParam]:
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
        }
        for tool in tools
    ]


def turn_messages(turns: Sequence[ToolTurn]) -> Iterator[ChatCompletionMessageParam]:
    """Each turn as the model's calls and the answer to every one of them, which the API insists on."""
    for turn in turns:
        yield {
            "role": "assistant",
            "tool_calls": [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in turn.calls
            ],
        }
        for call, result in zip(turn.calls, turn.results, strict=True):
            yield {"role": "tool", "tool_call_id": call.id, "content": result}
