"""HTTP mode: Slack's signed requests to the web process, and what is not Slack's."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from adapters.chat.slack.library import COMMAND, PAPER
from tests.adapters.chat.slack.house import SlackHouse, slack_house
from tests.adapters.durable.outside import QUESTION
from tests.loopback.slack_delivery import SignedHttp, encode, sign
from tests.loopback.slack_state import SIGNING_SECRET

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SlackHouse]:
    async with slack_house(tmp_path_factory.mktemp("gorkd"), http=True) as house:
        yield house


def requests_to(house: SlackHouse) -> SignedHttp:
    assert isinstance(house.slack.delivery, SignedHttp)
    return house.slack.delivery


async def test_form_of_the_library_is_served_over_http_too(house: SlackHouse) -> None:
    """S000-50, G-03: the modal, the papers that are found while one types, and what is sent off."""
    ada = house.person()
    direct = house.slack.state.direct(ada)
    file = house.slack.attaches(
        "2401.00001v1.md", "text/markdown", b"# Tides and the Moon\n\nThe moon causes the tides."
    )
    await house.slack.direct(ada, "add to library", subtype="file_share", files=[file])
    await house.slack.until(lambda: "✅" in str(house.slack.state.of_bot(direct)))

    view = await house.slack.form(ada, direct, command="/library")
    found = await house.slack.suggests(ada, view, PAPER, "2401")
    command = {COMMAND: {COMMAND: {"selected_option": {"value": "summary"}}}}
    await house.slack.submits(ada, view, command | {PAPER: {PAPER: {"selected_option": found[0]}}})
    await house.slack.until(lambda: "Paper id: 2401.00001v1" in str(house.slack.state.of_bot(direct)))

    assert [option["value"] for option in found] == ["2401.00001v1"]


async def test_mention_command_and_click_are_served_by_the_same_listeners(house: SlackHouse) -> None:
    """G-03: HTTP for production, from the same listeners as Socket Mode."""
    ada = house.person()
    channel, before = house.channel(ada), len(house.slack.acks)

    answer = await house.answered(ada, channel)
    ack = await house.slack.commands(ada, channel, QUESTION)
    await house.ended(channel, times=2)
    await house.slack.clicks(ada, answer, "show_sources")
    await house.slack.until(lambda: len(house.whispers(ada)) == 2)

    assert house.slack.acks[before].seconds < 1
    assert ack.payload["text"] == "On it …"
    assert house.slack.socket.opened == 0


async def test_address_is_confirmed_to_slack(house: SlackHouse) -> None:
    """What Slack asks when an admin enters the address."""
    body, kind = encode("event", {"type": "url_verification", "challenge": "3eZbrw1aB"})

    status, said = await requests_to(house).post(body, kind)

    assert status == 200
    assert "3eZbrw1aB" in said


@pytest.mark.parametrize("why", ["forged", "unsigned", "stale", "future", "replayed", "another body"])
async def test_request_that_is_not_slacks_is_refused_and_asks_nothing(house: SlackHouse, why: str) -> None:
    """The signature is checked first; five minutes is the window; a request counts once."""
    ada, channel = house.newcomer()
    asked = house.slack.state.says(ada, channel, f"<@UBOT> {QUESTION}")
    body, kind = encode("event", house.slack.event("app_mention", asked))
    slack, now = requests_to(house), time.time()

    if why == "forged":
        status, _ = await slack.post(body, kind, signature=sign("another secret", str(int(now)), body))
    elif why == "unsigned":
        status, _ = await slack.post(body, kind, signature="")
    elif why == "another body":
        status, _ = await slack.post(body + " ", kind, signature=sign(SIGNING_SECRET, str(int(now)), body))
    elif why == "replayed":
        ping, ping_kind = encode("event", {"type": "url_verification", "challenge": channel})
        assert (await slack.post(ping, ping_kind, at=now))[0] == 200
        status, _ = await slack.post(ping, ping_kind, at=now)
    else:
        status, _ = await slack.post(body, kind, at=now - 400 if why == "stale" else now + 400)
    await house.answered(ada, house.channel(ada))

    assert status == 401
    assert house.slack.state.of_bot(channel) == []


async def test_event_that_comes_again_is_answered_once(house: SlackHouse) -> None:
    """`X-Slack-Retry-Num`: signed anew, and the same question."""
    ada, channel = house.newcomer()
    asked = house.slack.state.says(ada, channel, f"<@UBOT> {QUESTION}")
    body, kind = encode("event", house.slack.event("app_mention", asked))

    statuses = [await requests_to(house).post(body, kind, at=time.time() - age, retry=age) for age in (3, 2, 1)]
    await house.ended(channel)
    await house.sources_of(asked.ts)
    await house.answered(ada, house.channel(ada))

    assert [status for status, _ in statuses] == [200, 200, 200]
    assert len(house.slack.state.of_bot(channel)) == 2
