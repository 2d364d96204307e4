"""What Slack has told and nobody has looked into yet: stored, then acknowledged, then opened.

Slack waits 3 s for an acknowledgement and may take longer itself to say what a channel is or to hand out a file, so
nothing it is asked for stands before one. Who dies in between leaves the letter, and the next process opens it.
What is neither stored nor opened is not acknowledged: Slack sends an event again, and says of all else that it failed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from adapters.chat.live import ChatTurns
from adapters.chat.reply import best_effort
from adapters.chat.slack.client import FAULTS, NotInstalled
from adapters.chat.slack.threads import Remembered
from adapters.chat.slack.translate import PLATFORM, Payload, tenant_of
from core.model.delivery import Address, Messages
from core.model.errors import GorkdError, RowUnreadable, StoreError, Unstorable
from core.model.job import Scope
from core.presentation.wording import RECORDS_AWAY
from core.text.saying import say

INBOX = f"{PLATFORM}:inbox"  # as a platform of its own: other messages without a job are the library's
DROP_WITHIN_S = 0.5  # for one that is just being opened; what became of it by then is stored
MOST_UNSTORED = 1000  # letters in memory; beyond, only Slack has them
PAUSES_S = (1.0, 4.0, 12.0)  # before what records or Slack were away for is opened again; then comes the next look
TOLD_BEFORE = 3  # of these pauses: so many tries make an outage that is told to who asked
TRIES = 5  # of what breaks each time it is opened; it is tried again with each look at what was left

_log = logging.getLogger(__name__)
Opener = Callable[[Payload], Awaitable[None]]
Tell = Callable[[str, Payload, str], Awaitable[bool]]  # of a team, whoever sent this body, this sentence


@dataclass(frozen=True)
class Letter:
    """`name` says which of a team's letters it is: the same again is the same letter. `kind` says who opens `body`."""

    kind: str
    team: str
    user: str
    name: str
    body: Payload

    @property
    def key(self) -> str:
        return key_of_letter(self.team, self.name)


@dataclass
class _Opening:
    """`is_kept` says that it is stored, or was opened; it is known when `known` is set."""

    known: asyncio.Event = field(default_factory=asyncio.Event)
    is_kept: bool = False
    task: asyncio.Task[None] | None = None

    def keep(self) -> None:
        self.is_kept = True
        self.known.set()


class Inbox:
    """Letters of all teams. `openers`, by kind, must do nothing twice. Leave with `aclose`."""

    def __init__(self, messages: Messages, turns: ChatTurns, *, pauses_s: Sequence[float] = PAUSES_S) -> None:
        self._messages, self._turns, self._pauses_s = messages, turns, pauses_s
        self.openers: dict[str, Opener] = {}
        self.tell: Tell | None = None
        self._told: Remembered[bool] = Remembered()  # of an outage
        self._opening: dict[str, _Opening] = {}
        self._opened: Remembered[bool] = Remembered()
        self._failures: dict[str, int] = {}
        self._unstored: dict[str, Letter] = {}  # taken while the records were away, and not opened yet

    async def take(self, letter: Letter) -> None:
        """Returns when it is stored, to be opened once. Raises `StoreError` when it is neither stored nor opened."""
        if self._opened.get(letter.key):
            return
        opening = self._opening.get(letter.key) or self._begin(letter, self._stored_and_opened(letter))
        await opening.known.wait()
        if not opening.is_kept:
            raise StoreError(f"{letter.key} is neither stored nor opened")

    async def drop(self, team: str, name: str) -> None:
        """Whoever sent it has taken it back. Raises `StoreError`."""
        key = key_of_letter(team, name)
        self._unstored.pop(key, None)
        opening = self._opening.get(key)
        if opening is not None and opening.task is not None:
            opening.task.cancel()
            await asyncio.wait({opening.task}, timeout=DROP_WITHIN_S)
        await self._messages.end(key)

    async def resume(self) -> int:
        """Open what an earlier process left, or what broke; how many. Raises `StoreError`."""
        resumed = 0
        for letter in [one for key, one in self._unstored.items() if key not in self._opening]:
            self._begin(letter, self._stored_and_opened(letter))
            resumed += 1
        for letter in await self._left():
            self._begin(letter, self._opened_in_turn(letter)).keep()
            resumed += 1
        return resumed

    async def _left(self) -> list[Letter]:
        """What nobody opens, of which it is our turn now; what another has just opened is no longer there."""
        ours: list[Letter] = []
        for key, address in await self._messages.begun(INBOX):
            letter = _read(address)
            if letter.key != key:
                _log.warning("letter of another version")
                await self._messages.end(key)
            elif key not in self._opening and await self._turns.hold(key):
                ours.append(letter)
        there = {key for key, _ in await self._messages.begun(INBOX)} if ours else set()
        for letter in ours:
            if letter.key not in there and letter.key not in self._opening:
                await self._turns.give_back(letter.key)
        return [one for one in ours if one.key in there and one.key not in self._opening]

    async def aclose(self) -> None:
        """What is not opened to its end is left to the next process."""
        tasks = [opening.task for opening in self._opening.values() if opening.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, letter: Letter, work: Coroutine[None, None, None]) -> _Opening:
        opening = self._opening[letter.key] = _Opening()
        opening.task = asyncio.create_task(work, name=f"slack letter {letter.key}")
        opening.task.add_done_callback(lambda _: self._ended(letter.key))
        return opening

    def _ended(self, key: str) -> None:
        self._opening.pop(key).known.set()

    async def _stored_and_opened(self, letter: Letter) -> None:
        """While the records are away it is opened all the same: what needs none of them is done."""
        own = Scope(tenant_of(letter.team), f"user:{letter.user}")
        try:
            await self._messages.begin(letter.key, own, letter.user, Address(INBOX, asdict(letter)))
        except StoreError as error:
            _log.warning("letter not stored", extra={"kind": letter.kind, "error": str(error)})
            if len(self._unstored) >= MOST_UNSTORED and letter.key not in self._unstored:
                return
            self._unstored[letter.key] = letter
        else:
            self._unstored.pop(letter.key, None)
            self._opening[letter.key].keep()
        await self._opened_in_turn(letter)

    async def _opened_in_turn(self, letter: Letter) -> None:
        """What was opened is erased before the turn goes back: whoever dies in between leaves nothing to open again."""
        if not await self._turns.hold(letter.key):
            return
        try:
            if await self._is_settled(letter):
                self._opened.put(letter.key, value=True)
                self._unstored.pop(letter.key, None)
                self._opening[letter.key].keep()
                with best_effort(_log.warning, "letter not erased"):
                    await self._messages.end(letter.key)
        finally:
            await self._turns.give_back(letter.key)

    async def _is_settled(self, letter: Letter) -> bool:
        """What broke stays for another try, unless it always breaks."""
        for tries, pause_s in enumerate((0.0, *self._pauses_s), start=1):
            await asyncio.sleep(pause_s)
            try:
                await self.openers[letter.kind](letter.body)
            except NotInstalled:
                _log.info("letter of a team that has removed the app")
            except (Unstorable, RowUnreadable) as error:
                _log.warning("letter that cannot be kept", extra={"kind": letter.kind, "error": str(error)})
                await self._tell(letter, error.user_message)
            except (GorkdError, *FAULTS) as error:  # records or Slack are away, which passes
                _log.warning("letter not opened yet", extra={"kind": letter.kind, "error": str(error)})
                is_long = tries >= TOLD_BEFORE and isinstance(error, StoreError) and not self._told.get(letter.key)
                if is_long and await self._tell(letter, say(RECORDS_AWAY)):
                    self._told.put(letter.key, value=True)
                continue
            except Exception:  # noqa: BLE001 -- a chat's process boundary: nobody waits for this task
                failures = self._failures.pop(letter.key, 0) + 1
                _log.exception("letter not opened", extra={"kind": letter.kind, "tries": failures})
                if failures < TRIES:
                    self._failures[letter.key] = failures
                    return False
            return True
        return False

    async def _tell(self, letter: Letter, sentence: str) -> bool:
        if self.tell is not None:
            with best_effort(_log.warning, "asker not told", of=(GorkdError, *FAULTS)):
                return await self.tell(letter.team, letter.body, sentence)
        return False


def key_of_letter(team: str, name: str) -> str:
    return f"{INBOX}:{team}:{name}"


def _read(address: Address) -> Letter:
    kind, team, user, name = (str(address.data.get(part) or "") for part in ("kind", "team", "user", "name"))
    body = address.data.get("body")
    return Letter(kind, team, user, name, body if isinstance(body, Mapping) else {})
