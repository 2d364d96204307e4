"""One script for every chat: every word and button, by who asked and by others, under answers of every sort.

What a word means is tried in all its cases in test_desk.py; here, that each platform finds what it is said under, do
what is to be done, and show it. The cases that every run has are those where a platform once went wrong.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from typing import get_args

import pytest
import pytest_asyncio

from adapters.chat.desk import REACTIONS
from core.presentation import wording
from core.presentation.help import HOW_TO_ASK
from tests.adapters.chat.slack.house import slack_house
from tests.adapters.chat.talks import SOURCE, InDiscord, InSlack, Platform, Talk, Where, fails, hangs, in_quay
from tests.loopback.discord_house import RESPONDERS, discord_house

pytestmark = pytest.mark.asyncio(loop_scope="module")
COMPLETE, ENDED = wording.TITLE_COMPLETE, "That research has ended"
WORDS = ("sources", "improve", "deeper", "again", "retry", "cancel", "forget", "help", "history", "thanks", "stop")
LOVED = REACTIONS["thanks"][0]
OTHER = "What causes the neap tides?"
# Who, what ("[button]" is pressed, "~question" is what the question is changed to), and what that person then reads,
# "" for nothing at all.
Step = tuple[str, str, str]

# Each is one conversation: what changes nothing comes first, and one thing at most begins a new answer.
SCRIPTS: dict[str, Sequence[Sequence[Step]]] = {
    "failed": (
        (
            ("other", "forget", wording.NOT_YOURS), ("other", "cancel", wording.NOT_YOURS), ("asker", "thanks!", LOVED),
            ("asker", "sources", SOURCE), ("other", "help", HOW_TO_ASK), ("asker", "cancel", ENDED),
            ("other", "export", wording.NOTHING_HERE), ("other", "make this a test", wording.TESTS_ADMINS_ONLY),
            ("asker", "forget", wording.FORGOTTEN),
        ),
        (("other", "retry", COMPLETE),),
        (("asker", "improve: say more of the Sun", COMPLETE),),
    ),
    "failed, then asked anew": (
        (("asker", "again", COMPLETE),),
        (("asker", "[retry]", COMPLETE),),
    ),
    "completed": (
        (
            ("asker", "👍", LOVED), ("asker", "Thank you very much!", LOVED),
            ("other", "sources", SOURCE), ("other", "forget", wording.NOT_YOURS),
            ("other", "share", wording.NOT_YOURS), ("asker", "share", wording.HOW_TO_SHARE.format(share=wording.SHARE)),
            ("asker", "[good]", wording.THANKS), ("other", "[show_sources]", SOURCE), ("asker", "cancel", ENDED),
            ("other", "export", wording.RECEIPT_MEANS), ("asker", "[export]", wording.RECEIPT_MEANS),
            ("asker", "forget", wording.FORGOTTEN),
        ),
        (("other", "improve", COMPLETE),),
        (("asker", "retry", COMPLETE),),
        (("other", "[ask_again]", COMPLETE),),
        (("asker", f"~{OTHER}", wording.QUESTION_CHANGED), ("asker", "[changed]", COMPLETE)),
    ),
    "running": (
        (
            ("other", "cancel", wording.NOT_YOURS), ("other", "[cancel]", wording.NOT_YOURS), ("asker", "ok", LOVED),
            ("other", "forget", wording.NOT_YOURS), ("asker", "retry", wording.ALREADY_BEGUN),
            ("asker", "sources", SOURCE), ("asker", "cancel", wording.CANCELLING),
        ),
        (("asker", "[cancel]", wording.CANCELLING),),
        (("asker", "stop", wording.CANCELLING),),
        (("asker", "please stop it!", wording.CANCELLING),),
        (("asker", "forget", wording.FORGOTTEN),),
    ),
    "forgotten": (
        [("asker", word, wording.NOTHING_HERE) for word in WORDS[:7]],
    ),
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def discord(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Platform]:
    """A bot and a worker for all scripts; so in Slack. What hangs outlasts a script on a busy machine."""
    env = {"GORKD_DISCORD_THREADS": "never", "GORKD_PATIENCE": "8"}
    async with discord_house(tmp_path_factory.mktemp("discord"), env=env) as house:
        yield InDiscord(house)
        assert house.discord.problems == []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def slack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Platform]:
    async with slack_house(tmp_path_factory.mktemp("slack"), GORKD_SLACK_STREAMING="off", GORKD_PATIENCE="8") as house:
        yield InSlack(house, RESPONDERS)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def quay(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Platform]:
    async with in_quay(tmp_path_factory.mktemp("quay"), RESPONDERS, GORKD_PATIENCE="8") as platform:
        yield platform


@pytest.fixture
def platform(request: pytest.FixtureRequest) -> Platform:
    found: Platform = request.getfixturevalue(request.param)
    return found


def cases() -> list[object]:
    """Of every state in a channel by default; elsewhere in CI."""
    found: list[object] = []
    for name, state, where in itertools.product(("discord", "slack", "quay"), SCRIPTS, get_args(Where)):
        is_quick = where == "channel" and state in ("failed", "forgotten")
        marks = [pytest.mark.timeout(240), *([] if is_quick else [pytest.mark.slow])]
        found.append(pytest.param(name, state, where, id=f"{name}-{state}-{where}", marks=marks))
    return found


@pytest.mark.parametrize(("platform", "state", "where"), cases(), indirect=["platform"])
async def test_words_and_buttons_do_the_same_on_every_platform(platform: Platform, state: str, where: Where) -> None:
    """G-02, G-03: under a running, failed, completed or forgotten answer; and no word is ever searched for."""
    searched = len(platform.world.search.asked)
    scripts = [_without_others(script) if where == "direct" else script for script in SCRIPTS[state]]

    talks = await _opened(platform, state, where, count=len(scripts))
    wrong = await asyncio.gather(*(_play(platform, *pair) for pair in zip(talks, scripts, strict=True)))

    assert [line for lines in wrong for line in lines] == [], wrong
    queries = " ".join(f"{one.parameters} {one.body}".casefold() for one in platform.world.search.asked[searched:])
    assert [word for word in WORDS if f'"{word}' in queries or f"'{word}" in queries] == []


async def _opened(platform: Platform, state: str, where: Where, *, count: int) -> list[Talk]:
    """So many questions, and their answers in that state."""
    platform.reset()
    hanging: list[object] = []
    if state.startswith("failed"):
        fails(platform.world)
    elif state == "running":
        hanging = hangs(platform.world, RESPONDERS)
    talks = [await platform.asks(where) for _ in range(count)]
    is_there = platform.can_cancel if state == "running" else platform.is_settled
    await platform.until(lambda: all(map(is_there, talks)) and (state != "running" or len(hanging) >= count))
    platform.reset()
    if state == "forgotten":
        reads = [await platform.says(talk, talk.asker, "forget") for talk in talks]
        await platform.until(lambda: all(wording.FORGOTTEN in "".join(read()) for read in reads))
    return talks


async def _play(platform: Platform, talk: Talk, script: Sequence[Step]) -> list[str]:
    """What went otherwise than scripted."""
    wrong: list[str] = []
    for who, what, expected in script:
        person = talk.asker if who == "asker" else talk.other
        if what.startswith("~"):
            read = await platform.edits(talk, what.removeprefix("~"))
        elif what.startswith("["):
            read = await platform.presses(talk, person, what.strip("[]"))
        else:
            read = await platform.says(talk, person, what)
        heard = read
        if not expected:  # what is said next has its answer, and this has none
            heard = await platform.says(talk, person, "help")
        try:
            await platform.until(lambda heard=heard, expected=expected: (expected or HOW_TO_ASK) in "\n".join(heard()))
        except TimeoutError:
            wrong.append(f"{who} {what!r}: {read()} instead of {expected!r}")
        if not expected and (others := [one for one in read() if HOW_TO_ASK not in one]):
            wrong.append(f"{who} {what!r}: {others} instead of nothing")
        if expected == COMPLETE and (count := sum(COMPLETE in one for one in read())) != 1:
            wrong.append(f"{who} {what!r}: {count} answers")
    return wrong


def _without_others(script: Sequence[Step]) -> Sequence[Step]:
    """In direct messages there is nobody else, and who is an admin there depends on the platform."""
    of_others = (wording.NOT_YOURS, wording.TESTS_ADMINS_ONLY)
    return [("asker", what, expected) for who, what, expected in script if expected not in of_others]
