"""Calls to Slack: what is tried again and what never is, and which token speaks for which workspace."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from aiohttp import ClientError, ClientSession, ClientTimeout
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.async_handler import AsyncRetryHandler
from slack_sdk.http_retry.request import HttpRequest
from slack_sdk.http_retry.response import HttpResponse
from slack_sdk.http_retry.state import RetryState
from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.slack.settings import SCOPES, SLACK_API
from adapters.chat.slack.translate import SlackFile, described_file
from adapters.proxies import DIRECT, Proxies
from core.model.errors import GorkdError
from core.model.job import MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS, Attachment, AttachmentUnreadable
from core.text.saying import say

if TYPE_CHECKING:
    from core.pipeline.researcher import Researcher

API_TIMEOUT_S = 10.0
LIMITED = 429
RATE_LIMITED = frozenset({"ratelimited", "rate_limited"})
# What forbids streams in a channel; any other refusal is of one call (docs.slack.dev, chat.startStream).
NO_STREAMS = frozenset({
    "channel_type_not_supported", "messages_tab_disabled", "missing_scope", "restricted_action",
    "restricted_action_non_threadable_channel", "restricted_action_read_only_channel", "unknown_method",
})  # fmt: skip
NO_STREAMS_S = 3600.0  # then they may be allowed
STREAM_LIFE_S = 270.0  # Slack ends a stream about 5 min after its start
LONGEST_WAIT_S = 60.0  # Slack seldom asks for more; whoever waits longer had better say so
REPEATABLE = (
    "chat.update", "chat.delete", "files.delete", "chat.stopStream", "conversations.", "files.info",
    "files.getUploadURL", "users.info", "assistant.threads.", "agents.sessions.",
)  # fmt: skip
IMPATIENT = ("chat.startStream", "chat.appendStream")  # what a limit keeps from being streamed is shown otherwise
FAULTS = (SlackApiError, ClientError, TimeoutError, OSError)  # all that a call may raise
REFUSED = frozenset(  # what no other try heals: the token itself is no good (docs.slack.dev, auth.test)
    {"invalid_auth", "account_inactive", "not_authed", "token_revoked", "token_expired", "not_allowed_token_type"}
)

_log = logging.getLogger(__name__)


@dataclass
class StreamGate:
    """What is known of a workspace: until when a channel takes no streams, and until when Slack asks for silence."""

    life_s: float = STREAM_LIFE_S
    clock: Callable[[], float] = time.monotonic
    refusing: dict[str, float] = field(default_factory=dict)
    quiet_until: float = 0.0

    def is_open(self, channel: str) -> bool:
        return self.clock() >= max(self.quiet_until, self.refusing.get(channel, 0.0))

    def refused(self, channel: str, error: Exception) -> None:
        """Remember a limit, and for an hour what forbids streams there; anything else may go well the next time."""
        if isinstance(error, SlackApiError) and reason(error) in RATE_LIMITED:
            self.quiet_until = self.clock() + wait_s(error.response.headers)
        elif reason(error) in NO_STREAMS:
            self.refusing = {one: until for one, until in self.refusing.items() if until > self.clock()}
            self.refusing[channel] = self.clock() + NO_STREAMS_S


@dataclass(frozen=True)
class Workspace:
    """A team that has installed the app, with its client; no `streams` where updates alone show progress."""

    team_id: str
    bot_id: str
    bot_user_id: str
    client: SlackClient
    streams: StreamGate | None = None


class OddReply(ClientError):
    """What answered is no Slack: a proxy's page, or half a reply."""


class SlackClient(AsyncWebClient):
    """slack_sdk's, with two of its ways mended: it breaks in several manners on a reply that is no JSON object, which
    here are one fault, and it reads `HTTPS_PROXY` without `NO_PROXY`. `proxies` are for whatever else is Slack's too.
    """

    def __init__(self, token: str, *, proxies: Proxies = DIRECT, **settings: Any) -> None:
        super().__init__(token, **settings)
        self.proxies = proxies

    async def _request(self, *, http_verb: str, api_url: str, req_args: dict[str, Any]) -> dict[str, Any]:
        req_args = {**req_args, "proxy": self.proxies.of(api_url)}
        try:
            reply: dict[str, Any] = await super()._request(http_verb=http_verb, api_url=api_url, req_args=req_args)
        except SlackApiError as exc:  # only for a body that is no JSON: refusals are raised later
            raise OddReply("not JSON") from exc
        data = reply["data"]
        if not isinstance(data, dict) or "ok" not in data:
            raise OddReply(f"status {reply['status_code']}, no reply of Slack's")
        return reply


class NotInstalled(GorkdError):
    """A team that has not installed the app, or has removed it."""

    def __init__(self, team_id: str) -> None:
        super().__init__(
            f"team {team_id} has not installed the app",
            user_message="gorkd is not installed in this workspace; an admin can add it again.",
        )


class TokenRefused(NotInstalled):
    """The one token in the settings is no good (any more)."""

    def __init__(self, error: Exception) -> None:
        super().__init__("")
        self.args = (f"Slack refused SLACK_BOT_TOKEN: {reason(error)}.",)


class Workspaces(Protocol):
    """Which token belongs to a team."""

    async def find(self, team_id: str, *, is_hurried: bool = False) -> Workspace:
        """Who is hurried does not wait for a fresh token in place of one that has lapsed, and calls nothing with it.

        Raises `NotInstalled`, `StoreError`, and one of `FAULTS` while Slack does not say whose token it is.
        """
        ...


class OneWorkspace:
    """The workspace of the one token in the settings; events of guests' teams in shared channels are its own too."""

    def __init__(self, client: SlackClient, streams: StreamGate | None = None) -> None:
        self._client, self._streams = client, streams
        self._known: Workspace | None = None
        self._refusal: TokenRefused | None = None
        self._asking = asyncio.Lock()

    async def find(self, team_id: str, *, is_hurried: bool = False) -> Workspace:
        """A refusal is final: Slack is not asked again."""
        async with self._asking:
            if self._refusal is not None:
                raise self._refusal
            if self._known is None:
                self._known = await self._ask()
        return self._known

    async def aclose(self) -> None:
        """Nothing is under way."""

    async def _ask(self) -> Workspace:
        try:
            said = await self._client.auth_test()
        except SlackApiError as exc:
            if reason(exc) not in REFUSED:
                raise
            self._refusal = TokenRefused(exc)
            raise self._refusal from exc
        team, bot, user = (str(said.get(key) or "") for key in ("team_id", "bot_id", "user_id"))
        if not (team and user):
            raise OddReply("auth.test names no team")
        return Workspace(team, bot, user, self._client, self._streams)


class Retrying(AsyncRetryHandler):
    """Waits as long as Slack says, of which the SDK's own handler reads the first digit only, and asks again where
    asking twice does no harm. A post whose reply was lost is never repeated blindly: it may have been made.
    """

    async def _can_retry_async(
        self,
        *,
        state: RetryState,
        request: HttpRequest,
        response: HttpResponse | None = None,
        error: Exception | None = None,
    ) -> bool:
        if response is not None and response.status_code == LIMITED:
            return not request.url.endswith(IMPATIENT) and wait_s(response.headers) <= LONGEST_WAIT_S
        is_lost = isinstance(error, ClientError | TimeoutError | OSError)
        is_lost = is_lost or (response is not None and response.status_code >= 500)
        return is_lost and request.url.rpartition("/")[2].startswith(REPEATABLE)

    async def prepare_for_next_attempt_async(
        self,
        *,
        state: RetryState,
        request: HttpRequest,
        response: HttpResponse | None = None,
        error: Exception | None = None,
    ) -> None:
        if response is None or response.status_code != LIMITED:
            await super().prepare_for_next_attempt_async(state=state, request=request, response=response, error=error)
            return
        seconds = wait_s(response.headers)
        _log.warning("Slack asks to wait", extra={"method": request.url.rpartition("/")[2], "seconds": seconds})
        state.next_attempt_requested = True
        await asyncio.sleep(seconds)
        state.increment_current_attempt()


def web_client(
    token: str, *, session: ClientSession | None = None, api_url: str = SLACK_API, proxies: Proxies = DIRECT
) -> SlackClient:
    """A client with our own rules for trying again, on a shared `session` where there is one."""
    retrying: list[AsyncRetryHandler] = [Retrying(max_retry_count=3)]
    return SlackClient(
        token, proxies=proxies, base_url=api_url, timeout=int(API_TIMEOUT_S), session=session, retry_handlers=retrying
    )


async def open_view(workspace: Workspace, trigger_id: str, view: Mapping[str, Any]) -> bool:
    """Show a form, which a trigger allows for 3 s; whether Slack has done so."""
    try:
        await workspace.client.views_open(trigger_id=trigger_id, view=dict(view))
    except FAULTS as exc:
        _log.warning("form not opened", extra={"reason": reason(exc)})
        return False
    return True


def reason(error: Exception) -> str:
    """Slack's own word for what went wrong, e.g. `not_in_channel`; the kind of error when the reply was lost."""
    if isinstance(error, SlackApiError):
        said = error.response.get("error") if error.response else ""
        return str(said or "unknown")
    return f"{type(error).__name__}: {error}" if isinstance(error, OddReply) else type(error).__name__


def missing_scopes(headers: Mapping[str, list[str] | str]) -> list[str]:
    """Those of the manifest that a token has not been granted, as the headers of any reply tell; [] where they do not.

    The dialog that makes an app may grant fewer than its manifest has.
    """
    for name, value in headers.items():
        if name.lower() == "x-oauth-scopes":
            granted = {scope.strip() for scope in (value[0] if isinstance(value, list) else value).split(",")}
            return [scope for scope in SCOPES if scope not in granted]
    return []


def wait_s(headers: Mapping[str, list[str] | str]) -> float:
    """What `Retry-After` says; 1 where it says nothing."""
    for name, value in headers.items():
        if name.lower() == "retry-after":
            first = value[0] if isinstance(value, list) else value
            return float(first) if first.replace(".", "", 1).isdigit() else 1.0
    return 1.0


def was_refused(error: Exception) -> bool:
    """Whether Slack said no, so that nothing was posted; a server error says nothing."""
    return isinstance(error, SlackApiError) and error.response.status_code < 500


# Files that come with a question, read with the app's token. Nothing else is ever fetched with it


SLACK_HOSTS = ("slack.com", "slack-files.com")
CHUNK_BYTES = 65_536
TIMEOUT_S = 60.0  # a paper may have 100 MB


async def read_files(files: Sequence[SlackFile], workspace: Workspace, researcher: Researcher) -> list[Attachment]:
    """Raises `AttachmentUnreadable`, whose message names the file and says why."""
    if len(files) > MAX_ATTACHMENTS:
        told = say("Please attach at most {number} files to one question.", number=MAX_ATTACHMENTS)
        raise _unreadable("too many", told)
    read: list[Attachment] = []
    for file in files:
        content = await download(file, workspace, max_bytes=MAX_ATTACHMENT_BYTES)
        read.append(await researcher.read_attachment(file.name, file.media_type, content))
    return read


async def download(file: SlackFile, workspace: Workspace, *, max_bytes: int) -> bytes:
    """The file's bytes. Raises `AttachmentUnreadable`, whose message names the file and says why."""
    file = file if file.url else await _looked_up(file, workspace)
    if file.size > max_bytes:
        told = say("{name} is too large; at most {megabytes} MB.", name=file.name, megabytes=max_bytes // 1_000_000)
        raise _unreadable(file.name, told)
    client = workspace.client
    if not _is_slacks(file.url, client.base_url):
        raise _unreadable(file.name, say("{name} does not lie with Slack; please upload it here.", name=file.name))
    headers, proxy = {"Authorization": f"Bearer {client.token}"}, client.proxies.of(file.url)
    try:
        async with (
            ClientSession(timeout=ClientTimeout(total=TIMEOUT_S)) as session,
            session.get(file.url, headers=headers, allow_redirects=False, proxy=proxy) as response,
        ):
            is_sign_in_page = response.content_type == "text/html" and file.media_type != "text/html"
            if response.status != 200 or is_sign_in_page:  # Slack answers 200 with its sign-in page
                told = say("I may not read {name}; the app needs the permission files:read.", name=file.name)
                raise _unreadable(file.name, told)
            content = bytearray()
            async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                content += chunk
                if len(content) > max_bytes:
                    raise _unreadable(file.name, say("{name} is too large.", name=file.name))
            return bytes(content)
    except (ClientError, TimeoutError) as exc:
        told = say("{name} could not be loaded from Slack; please try again.", name=file.name)
        raise _unreadable(file.name, told) from exc


async def _looked_up(file: SlackFile, workspace: Workspace) -> SlackFile:
    """In shared channels an event names a file without its address."""
    try:
        found = await workspace.client.files_info(file=file.id)
    except FAULTS as exc:
        _log.info("file could not be looked up", extra={"reason": reason(exc)})
        raise _unreadable(file.name, say("I may not read {name} here.", name=file.name)) from exc
    return described_file(found.get("file") or {"id": file.id})


def _is_slacks(url: str, api_url: str) -> bool:
    """The token goes to Slack alone."""
    parts, api = urlsplit(url), urlsplit(api_url)
    if (parts.scheme, parts.netloc) == (api.scheme, api.netloc):
        return True
    host = parts.hostname or ""
    return parts.scheme == "https" and any(host == known or host.endswith(f".{known}") for known in SLACK_HOSTS)


def _unreadable(name: str, sentence: str) -> AttachmentUnreadable:
    return AttachmentUnreadable(f"attachment {name!r} could not be read", user_message=sentence)
