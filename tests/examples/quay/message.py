"""One message in Quay: how the bot writes, and the one that lives under a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from aiohttp import ClientError, ClientSession

from adapters.chat.connecting import PlatformAway
from adapters.chat.reply import AddressDead, FilesRefused
from core.model.answer import AnswerFile
from core.model.delivery import Address
from core.presentation import wording

PLATFORM = "quay"
GONE = 410
LONGER_THAN_IT_WAITS_S = 40.0


@dataclass(frozen=True)
class Button:
    name: str
    label: str
    value: str = ""
    url: str = ""


@dataclass(frozen=True)
class QuayMessage:
    text: str
    buttons: tuple[Button, ...] = ()


class QuayCalls:
    """The bot's calls. Each raises `PlatformAway`; those about a message that is gone, `AddressDead`."""

    def __init__(self, session: ClientSession, url: str, token: str) -> None:
        self._session, self._url, self._headers = session, url, {"Authorization": f"Bearer {token}"}

    async def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        try:
            async with self._session.request(method, self._url + path, json=body, headers=self._headers) as response:
                if response.status == GONE:
                    raise AddressDead(path)
                response.raise_for_status()
                return cast("Mapping[str, Any]", await response.json())
        except (ClientError, TimeoutError) as exc:
            raise PlatformAway(f"{method} {path}: {type(exc).__name__}") from exc

    async def events(self, after: int) -> Sequence[Mapping[str, Any]]:
        return cast("Sequence[Mapping[str, Any]]", (await self.call("GET", f"/events?after={after}"))["events"])

    async def post(self, at: QuayAddress, message: QuayMessage, **more: object) -> int:
        where = {"key": at.key, "thread": at.thread, "only_for": at.only_for}
        sent = await self.call("POST", f"/rooms/{at.room}/messages", {**asdict(message), **where, **more})
        return int(sent["id"])


@dataclass(frozen=True)
class QuayAddress:
    """Where a message is, or with the `message` 0 is to be; `key` makes it once."""

    room: str
    thread: int
    key: str
    asker: str
    message: int = 0
    only_for: str = ""

    def to_address(self) -> Address:
        return Address(PLATFORM, asdict(self))

    @classmethod
    def of(cls, address: Address) -> QuayAddress:
        return cls(**cast("dict[str, Any]", dict(address.data)))


@dataclass
class QuayReply:
    """The message that lives."""

    calls: QuayCalls
    at: QuayAddress

    @property
    def address(self) -> Address:
        return self.at.to_address()

    @property
    def shown(self) -> Sequence[Address]:
        return [self.address] if self.at.message else []

    @property
    def is_streaming(self) -> bool:
        return False

    async def take(self, files: Sequence[AnswerFile], /) -> None:
        if files:
            raise FilesRefused("Quay knows no files")

    async def edit(self, payload: QuayMessage, /) -> None:
        if self.at.message:
            await self.calls.call("PUT", f"/messages/{self.at.message}", asdict(payload))
        else:
            self.at = replace(self.at, message=await self.calls.post(self.at, payload))

    async def repost(self, payload: QuayMessage, job_id: str, /) -> None:
        """Who deletes an answer wants none."""
        raise AddressDead(f"message {self.at.message}")

    async def ping(self, asker: str, key: str, said: str = "", /) -> None:
        at = replace(self.at, key=f"{'corrected' if said else 'ready'}:{key}")
        await self.calls.post(at, QuayMessage(said or wording.READY), pings=[self.at.asker])
