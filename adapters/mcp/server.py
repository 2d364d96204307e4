"""The tools of core/presentation/tools.py as an MCP server: listed, called, with their progress told as it comes."""

from __future__ import annotations

import logging
from contextlib import aclosing
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from core.model.errors import GorkdError
from core.model.job import LOCAL
from core.pipeline.researcher import Researcher
from core.presentation.tools import TOOLS, ToolConfig, ToolProgress
from core.presentation.wording import SOMETHING_BROKE

log = logging.getLogger(__name__)
NAME = "gorkd"
_STEP = 0.001  # the protocol wants every progress to be more than the last

Context = ServerRequestContext[dict[str, Any], Any]


def build_server(researcher: Researcher) -> Server[dict[str, Any]]:
    """A server whose calls are jobs of this machine's own scope; one that its caller gives up is cancelled."""

    async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_described(tool) for tool in TOOLS.values()])

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            return _failed(f"There is no tool {params.name[:100]!r}; there are {', '.join(TOOLS)}.")
        try:
            return await _call(tool, params.arguments or {}, researcher, context)
        except GorkdError as exc:
            return _failed(exc.user_message)
        except Exception:  # the boundary to another program: it gets a sentence, the log the rest
            log.exception("a tool broke")
            return _failed(SOMETHING_BROKE)

    return Server(NAME, on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio(researcher: Researcher) -> None:
    """Until standard input ends. Nothing else may write to standard output meanwhile."""
    server = build_server(researcher)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _call(tool: ToolConfig, params: dict[str, Any], researcher: Researcher, context: Context) -> CallToolResult:
    told = 0.0
    async with aclosing(tool.executor(params, researcher, LOCAL)) as running:
        async for step in running:
            if isinstance(step, ToolProgress):
                told = max(told + _STEP, step.progress)
                await context.session.report_progress(told, 1.0, step.message)
                continue
            return CallToolResult(
                content=[TextContent(type="text", text=step.text)],
                structured_content=step.data,
                is_error=step.is_error,
            )
    return _failed(SOMETHING_BROKE)


def _described(tool: ToolConfig) -> Tool:
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=dict(tool.input_schema),
        output_schema=dict(tool.output_schema),
    )


def _failed(sentence: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=sentence)], is_error=True)
