"""What every store of `Conversations` does: one a thread, seen in its scope alone, gone when it is forgotten."""

from __future__ import annotations

from datetime import timedelta

import pytest

from adapters.store.archive import SqlArchive
from adapters.store.library import SqlConversations
from adapters.store.memory_library import MemoryConversations
from core.forgetting import Whose
from core.job import Scope
from core.library.states import Conversation, Conversations, State
from tests.adapters.store.samples import CHANNEL, NOON

SHOWN = Conversation(
    State.RESEARCH, ("2401.00001v1",), draft="Tides [2401.00001v1, page 2].", original_query="tides",
    history=("research tides",), job_id="job_1",
)  # fmt: skip


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def conversations(request) -> Conversations:
    if request.param == "memory":
        return MemoryConversations()
    if request.param == "sqlite":
        return SqlConversations(request.getfixturevalue("database"))
    return SqlConversations(request.getfixturevalue("postgres"))


@pytest.fixture(params=["sqlite", "postgres"])
def kept(request):
    """A store and the archive that forgets for it."""
    if request.param == "sqlite":
        database = request.getfixturevalue("database")
        return SqlConversations(database), SqlArchive(database)
    database = request.getfixturevalue("postgres")
    return SqlConversations(database), SqlArchive(database)


async def test_a_thread_keeps_its_conversation(conversations):
    """S000-50: where it stands, its list, its draft and its question outlive the process; the last one counts."""
    await conversations.put(CHANNEL, "discord:7", Conversation(), asker="9", at=NOON)

    await conversations.put(CHANNEL, "discord:7", SHOWN, asker="9", at=NOON)

    assert await conversations.get(CHANNEL, "discord:7") == SHOWN
    assert await conversations.get(CHANNEL, "discord:8") is None
    assert await conversations.get(Scope("discord:2", "channel:2"), "discord:7") is None


@pytest.mark.parametrize(
    ("whose", "job_ids"),
    [
        pytest.param(Whose(job_id="job_1"), ["job_1"], id="the job whose answer it shows"),
        pytest.param(Whose(user_id="9"), [], id="whoever spoke last"),
        pytest.param(Whose(user_id="10", tenant=CHANNEL.tenant), [], id="whoever spoke before"),
        pytest.param(Whose(tenant=CHANNEL.tenant), [], id="the workspace"),
    ],
)
async def test_a_conversation_is_forgotten_with(kept, whose, job_ids):
    """What somebody asked goes with the job, the person and the workspace it belongs to, and nobody else's does."""
    conversations, archive = kept
    for speaker in ("9", "10", "10", "9"):
        await conversations.put(CHANNEL, "discord:7", SHOWN, asker=speaker, at=NOON)
    other = Scope("discord:3", "workspace")
    await conversations.put(other, "discord:7", Conversation(draft="theirs"), asker="109", at=NOON)

    await archive.erase(whose, job_ids)

    assert await conversations.get(CHANNEL, "discord:7") is None
    assert await conversations.get(other, "discord:7") is not None


async def test_an_old_conversation_goes_with_old_answers(kept):
    """Retention counts for what was talked about as it does for answers."""
    conversations, archive = kept
    await conversations.put(CHANNEL, "discord:7", SHOWN, asker="9", at=NOON)
    await conversations.put(CHANNEL, "discord:8", SHOWN, asker="9", at=NOON + timedelta(days=2))

    await archive.expire(answers_before=NOON + timedelta(days=1), traces_before=NOON)

    assert await conversations.get(CHANNEL, "discord:7") is None
    assert await conversations.get(CHANNEL, "discord:8") == SHOWN
