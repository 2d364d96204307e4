"""The tools of core/presentation/tools.py as an MCP server, over standard input or HTTP: listed, called, with their
progress told as it comes.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from importlib.metadata import version as version_of
from typing import Any

import h11
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from yarl import URL

from adapters.secrets import read_tokens
from core.model.codec import read_settings
from core.model.errors import GorkdError, SetupError
from core.model.job import LOCAL
from core.pipeline.researcher import Researcher
from core.presentation.page_links import PageLinks
from core.presentation.tools import TOOLS, ToolConfig, ToolProgress, check_names, share_tool
from core.presentation.wording import SOMETHING_BROKE
from core.watch.tools import WATCH_TOOLS

log = logging.getLogger(__name__)
NAME = "gorkd"
_STEP = 0.001  # the protocol wants every progress to be more than the last

Context = ServerRequestContext[dict[str, Any], Any]


def build_server(researcher: Researcher, links: PageLinks) -> Server[dict[str, Any]]:
    """A server whose calls are jobs of this machine's own scope, cancelled with the call unless others may wait."""
    tools = {**TOOLS, "share": share_tool(links), **WATCH_TOOLS}

    async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_described(tool) for tool in tools.values()])

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            return _failed(f"There is no tool {params.name[:100]!r}; there are {', '.join(tools)}.")
        try:
            return await _call(tool, params.arguments or {}, researcher, context)
        except GorkdError as exc:
            return _failed(exc.user_message)
        except Exception:  # the boundary to another program: it gets a sentence, the log the rest
            log.exception("a tool broke")
            return _failed(SOMETHING_BROKE)

    return Server(NAME, version=version_of("gorkd"), on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio(researcher: Researcher, links: PageLinks) -> None:
    """Until standard input ends. Nothing else may write to standard output meanwhile."""
    server = build_server(researcher, links)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _call(tool: ToolConfig, params: dict[str, Any], researcher: Researcher, context: Context) -> CallToolResult:
    check_names(tool, params)
    told = 0.0
    async with aclosing(tool.executor(params, researcher, LOCAL)) as running:
        async for step in running:
            if isinstance(step, ToolProgress):
                told = max(told + _STEP, step.progress)
                await context.session.report_progress(told, 1.0, step.message)
                continue
            return CallToolResult(
                content=[TextContent(type="text", text=step.text)], structured_content=step.data, is_error=step.is_error
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


# The MCP server over streamable HTTP at /mcp, for whoever has one of the API's tokens


PATH = "/mcp"
STOP_WITHIN_S = 5  # open streams are cut after that when the process is to end
SILENCE_S = 75.0  # without a whole head of a request a connection is closed, as the pages' is
BODY_WITHIN_S = 30.0
MAX_BODY_BYTES = 4_000_000  # a long list of references


class McpSettings(BaseModel):
    """Where to listen, and who may call. The same variables as the pages and the API have."""

    host: str = Field(default="127.0.0.1", alias="HOST")
    port: int = Field(default=8080, alias="PORT", ge=0, le=65535)
    tokens: tuple[str, ...] = ()

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> McpSettings:
        """Raises `SetupError` without a token: what costs money is not open to everyone who finds the port."""
        tokens = read_tokens(env, "GORKD_API_TOKENS")
        if not tokens:
            raise SetupError(
                "gorkd mcp --http needs GORKD_API_TOKENS: set at least one token for the programs that call."
            )
        return read_settings(cls, env).model_copy(update={"tokens": tokens})


async def serve_http(
    researcher: Researcher, links: PageLinks, settings: McpSettings, on_ready: Callable[[str], None]
) -> None:
    """Until cancelled. `on_ready` hears the address. Raises `SetupError` when the port is taken."""
    app = build_server(researcher, links).streamable_http_app(streamable_http_path=PATH, host=settings.host)
    config = uvicorn.Config(
        _gated(app, settings.tokens),
        http=_Patient,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=STOP_WITHIN_S,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(), name="mcp")
    try:
        while not server.started:
            if serving.done():
                raise SetupError(
                    f"Port {settings.port} on {settings.host} is taken or not allowed; set PORT to another."
                )
            await asyncio.sleep(0.02)
        port = server.servers[0].sockets[0].getsockname()[1]
        on_ready(str(URL.build(scheme="http", host=settings.host, port=port, path=PATH)))
        await serving
    finally:
        server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)


class _Server(uvicorn.Server):
    """Signals are the process's own business."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Patient(H11Protocol):
    """Closes a connection on which no head of a request is whole in time: uvicorn waits for ever."""

    _ends: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def _wait(self) -> None:
        is_heard = self.conn.their_state is not h11.IDLE
        if self._ends is None and not is_heard:
            self._ends = self.loop.call_later(SILENCE_S, self.transport.close)
        elif self._ends is not None and is_heard:
            self._ends.cancel()
            self._ends = None


def _gated(app: ASGIApp, tokens: Sequence[str]) -> ASGIApp:
    """Lets a request through that carries one of the tokens, when all of its body has come."""

    async def gate(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        if not _has_one(scope, tokens):
            said = _refused(401, "UNAUTHORIZED", "This needs a token: Authorization: Bearer …")
            said.headers["WWW-Authenticate"] = "Bearer"
            return await said(scope, receive, send)
        body, goes_on = bytearray(), True
        with suppress(TimeoutError):
            async with asyncio.timeout(BODY_WITHIN_S):
                while goes_on and len(body) <= MAX_BODY_BYTES:
                    message = await receive()
                    body += message.get("body", b"")
                    goes_on = message.get("more_body", False)
        if goes_on:
            told = f"The body is longer than {MAX_BODY_BYTES:,} bytes, or did not arrive in {BODY_WITHIN_S:.0f} s."
            return await _refused(413, "INVALID_QUERY", told)(scope, receive, send)
        whole = iter([{"type": "http.request", "body": bytes(body)}])

        async def replay() -> Message:
            return next(whole, None) or await receive()

        return await app(scope, replay, send)

    return gate


def _refused(status: int, code: str, message: str) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": message, "details": {}}}, status)


def _has_one(scope: Scope, tokens: Sequence[str]) -> bool:
    given = next((value for name, value in scope["headers"] if name.lower() == b"authorization"), b"")
    kind, _, token = given.partition(b" ")
    matches = [hmac.compare_digest(token.strip(), known.encode()) for known in tokens]  # all: time tells nothing
    return kind.lower() == b"bearer" and any(matches)
