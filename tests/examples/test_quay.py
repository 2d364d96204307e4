"""What adapters/chat does for a platform by itself: an answer comes once, and goes with its question."""

from __future__ import annotations

from pathlib import Path

from core.presentation import wording
from tests.adapters.chat.talks import hangs, in_quay
from tests.loopback.discord_house import RESPONDERS


async def test_a_bot_that_is_killed_answers_once_after_its_restart_and_forgets_what_is_deleted(tmp_path: Path) -> None:
    """kill -9 while the answer is written; the next process goes on in the same message."""
    async with in_quay(tmp_path, RESPONDERS) as platform:
        hanging = hangs(platform.world, RESPONDERS)
        talk = await platform.asks("channel")
        await platform.until(lambda: hanging and platform.can_cancel(talk))
        (begun,) = platform.quay.seen_by(talk.asker, talk.channel)

        await platform.process.killed()
        platform.reset()
        await platform.start()
        await platform.until(lambda: platform.is_settled(talk))
        answers = platform.quay.seen_by(talk.asker, talk.channel)
        platform.quay.deletes(talk.asked)
        await platform.until(lambda: platform.quay.seen_by(talk.asker, talk.channel) == [])

        assert [(one.id, wording.TITLE_COMPLETE in one.text) for one in answers] == [(begun.id, True)]
