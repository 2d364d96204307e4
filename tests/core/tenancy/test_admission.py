"""What a tenant has set is minded by its very next question: refused in one sentence, or researched within it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.records.cache import MemoryLimits
from adapters.records.tenants import SqlSettings
from core.model.answer import JobResult
from core.model.errors import GorkdError
from core.model.job import ResearchRequest, Scope
from core.model.source import Source, SourceKind
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.stages.cache import answer_key
from core.stages.gathering import earlier_sources
from core.tenancy.admission import Admission, Budget, Quota, Spent
from core.tenancy.settings import Ceilings, SettingsRefused, TenantSettings
from core.tenancy.settings_desk import SettingsChanged, SettingsDesk
from tests.adapters.records.samples import StandingClock, make_source
from tests.fakes import FakeSearch, Idle, hit, make_deps, make_job
from tests.records import MemoryTables

PURR = "Cats purr by twitching the muscles of the larynx. Purring may calm the cat and help healing. " * 4
MINUTE = timedelta(minutes=1)
TEAM, OTHER = "slack:T1", "slack:T2"
QUESTION = ResearchRequest("Why do cats purr?", Scope(TEAM, "channel:C1"), asker="U1", channel="C1")


@dataclass
class Till:
    """Money that tenants have spent."""

    spent_usd: dict[str, float] = field(default_factory=dict)

    async def spent(self, tenant: str, asker: str, month: str) -> Spent:
        return Spent(0.0, self.spent_usd.get(tenant, 0.0))


@dataclass
class Door:
    """Admission as processes have it, over stores in memory."""

    clock: StandingClock = field(default_factory=StandingClock)
    till: Till = field(default_factory=Till)
    settings: SqlSettings = field(default_factory=lambda: SqlSettings(MemoryTables()))
    budget: Budget = field(default_factory=Budget)

    @property
    def admission(self) -> Admission:
        quotas = {"slack": Quota(5, 30)}
        limits = self.__dict__.setdefault("limits", MemoryLimits(clock=self.clock))
        return Admission(self.settings, limits, self.till.spent, quotas, self.budget, ("exa", "pubmed"), self.clock)

    async def set(self, tenant: str, settings: TenantSettings) -> None:
        desk = SettingsDesk(self.settings, lambda _: Ceilings(("exa", "pubmed")), clock=self.clock)
        await desk.save(tenant, settings, version=(await desk.show(tenant)).version, who="U9")

    async def refusal(self, request: ResearchRequest = QUESTION) -> str:
        try:
            await self.admission.admit(request)
        except GorkdError as error:
            return error.user_message
        return ""


async def test_a_channel_that_was_not_chosen_is_told_where_to_ask():
    """From the next question on; direct messages and other tenants are not meant."""
    door = Door()
    before = await door.refusal()
    await door.set(TEAM, TenantSettings(channels=("C2",)))

    assert before == ""
    assert await door.refusal() == (
        "I do not answer in this channel; ask me in a direct message, or have an admin add it with /research settings."
    )
    assert await door.refusal(replace(QUESTION, channel="C2")) == ""
    assert await door.refusal(replace(QUESTION, channel="")) == ""
    assert await door.refusal(replace(QUESTION, scope=Scope(OTHER, "channel:C1"))) == ""


async def test_a_spent_budget_says_who_can_raise_it():
    """The workspace's own is an admin's, the operator's the operator's; the lower one is met first."""
    door = Door(budget=Budget(workspace_usd=20))
    await door.set(TEAM, TenantSettings(monthly_usd=5.0))
    door.till.spent_usd = {TEAM: 5.0, OTHER: 20.0}

    own, operators = await door.refusal(), await door.refusal(replace(QUESTION, scope=Scope(OTHER, "channel:C1")))

    assert own == (
        "The workspace's research budget for March is used up ($5.00 of $5.00); new questions can be asked from "
        "1 April 2026 on, and it can be raised by an admin with /research settings."
    )
    assert operators.endswith("and it can be raised by whoever runs gorkd.")
    with pytest.raises(GorkdError):
        await door.admission.check_budget(QUESTION)


async def test_limits_hold_for_the_tenant_that_set_them_alone():
    """A person who is limited in one place is as free as ever in another."""
    door = Door()
    await door.set(TEAM, TenantSettings(user_per_min=2, workspace_per_min=3))

    mine = [await door.refusal() for _ in range(3)]
    others = [await door.refusal(replace(QUESTION, asker=f"U{number}")) for number in range(2, 5)]
    elsewhere = [await door.refusal(replace(QUESTION, scope=Scope(OTHER, "channel:C1"))) for _ in range(3)]

    assert mine == ["", "", "Please wait 30 seconds…"]
    assert others == ["", "Please wait 20 seconds…", "Please wait 20 seconds…"]
    assert elsewhere == ["", "", ""]


async def test_nothing_to_search_with_is_said_before_anything_is_begun():
    """A provider that was allowed and is configured no more. Questions to one's own papers need none."""
    door = Door()
    await door.set(TEAM, TenantSettings(providers=("pubmed",)))
    without = replace(door.admission, providers=("exa",))

    with pytest.raises(GorkdError) as refused:
        await without.admit(QUESTION)

    assert "an admin can change that with /research settings" in refused.value.user_message
    assert (await without.admit(replace(QUESTION, modes=("library",)))).policy.providers == ("pubmed",)


async def researched(
    settings: TenantSettings, query: str = QUESTION.query
) -> tuple[JobResult, list[Source], list[FakeSearch]]:
    door = Door()
    await door.set(TEAM, settings)
    hits = [
        hit("https://www.cats.example/purr", PURR, is_complete=True),
        hit("https://blog.felines.org/purr", f"{PURR} Indeed.", is_complete=True),
        hit("https://www.nature.com/purr", f"{PURR} It was measured.", is_complete=True),
    ]
    search = [
        FakeSearch("exa", hits),
        FakeSearch("pubmed", [replace(hits[0], url="https://pubmed.ncbi.nlm.nih.gov/1/")]),
    ]
    deps = make_deps(search=search, pages={"https://www.cats.example/named": PURR})
    researcher = Researcher(deps, Idle(), admit=door.admission.admit)
    job = await researcher.submit(replace(QUESTION, query=query))
    await run_job(job.id, deps, DirectSteps())
    result = await deps.jobs.result(job.id)
    assert result is not None
    return result, await deps.sources.sources(job.id), search


@pytest.mark.parametrize(
    ("settings", "sites"),
    [
        pytest.param(TenantSettings(), {"cats.example", "blog.felines.org", "nature.com"}, id="none"),
        pytest.param(TenantSettings(allow_domains=("cats.example",)), {"cats.example"}, id="allowed"),
        pytest.param(TenantSettings(block_domains=("felines.org",)), {"cats.example", "nature.com"}, id="blocked"),
        pytest.param(TenantSettings(primary_only=True), {"nature.com"}, id="primary"),
        pytest.param(TenantSettings(providers=("pubmed",)), {"pubmed.ncbi.nlm.nih.gov"}, id="provider"),
    ],
)  # fmt: skip
async def test_an_answer_rests_on_permitted_sources_alone(settings, sites):
    _, sources, search = await researched(settings)

    assert {source.metadata.domain for source in sources} == sites
    assert bool(search[0].asked) is settings.policy.permits_provider("exa")


async def test_an_address_in_the_question_is_not_read_where_its_site_is_excluded():
    """It is said, and the question is answered from what is permitted."""
    query = "Why do cats purr, see https://www.cats.example/named ?"

    result, sources, _ = await researched(TenantSettings(block_domains=("cats.example",)), query)

    assert all(source.metadata.domain != "cats.example" for source in sources)
    assert any("the settings here exclude its site" in limitation for limitation in result.answer.limitations), (
        result.answer.limitations
    )


async def test_sources_of_an_earlier_answer_are_looked_at_again():
    """Going on from an answer that was made under other settings."""
    deps = make_deps()
    old = make_job(QUESTION.query)
    await deps.jobs.save(old)
    sources = [
        replace(_source(f"https://{site}/a"), id=f"src_{number}") for number, site in enumerate(("a.org", "b.org"), 1)
    ]
    await deps.sources.put(old, sources)
    settings = TenantSettings(block_domains=("a.org",))
    job = replace(old, id="job_2", request=replace(old.request, basis=old.id, policy=settings.policy))

    found = await earlier_sources(job, deps)

    assert [source.url for source in found] == ["https://b.org/a"]


async def test_an_answer_made_under_other_settings_is_not_given_again():
    """The key of an answer says what it may rest on; channels and limits do not matter to it."""
    job, door = make_job(QUESTION.query), Door()
    before = await door.admission.admit(QUESTION)
    await door.set(TEAM, TenantSettings(channels=("C1",), user_per_min=4))
    same = await door.admission.admit(QUESTION)
    await door.set(TEAM, TenantSettings(primary_only=True))
    other = await door.admission.admit(QUESTION)

    keys = [answer_key(request, job.intent, now=door.clock()) for request in (before, same, other)]

    assert keys[0] == keys[1] != keys[2]


async def test_who_saves_over_somebody_elses_change_is_told():
    """Optimistic: the first who saves wins, and the log says who changed what from which to which."""
    door = Door()
    desk = SettingsDesk(door.settings, lambda _: Ceilings(), clock=door.clock)
    await desk.save(TEAM, TenantSettings(monthly_usd=5.0), version=0, who="U1")

    with pytest.raises(SettingsChanged):
        await desk.save(TEAM, TenantSettings(monthly_usd=7.0), version=0, who="U2")
    with pytest.raises(SettingsRefused):
        await desk.save(TEAM, TenantSettings(providers=("exa",)), version=1, who="U2")
    unchanged = await desk.save(TEAM, TenantSettings(monthly_usd=5.0), version=1, who="U2")

    (change,) = await desk.log(TEAM, limit=9)
    assert (change.key, change.before, change.after, change.who) == ("monthly_usd", "no limit", "5.00", "U1")
    assert unchanged == ()
    assert (await desk.show(TEAM)).version == 1


@given(st.lists(st.tuples(st.sampled_from([TEAM, OTHER]), st.sampled_from([(), ("C1",), ("C2",)]), st.booleans())))
async def test_tenants_never_mix(operations):
    """Whatever is set in any order, each tenant's questions are judged by its own settings alone."""
    door, expected = Door(), {TEAM: TenantSettings(), OTHER: TenantSettings()}
    for tenant, channels, is_primary in operations:
        expected[tenant] = TenantSettings(channels=channels, primary_only=is_primary)
        await door.set(tenant, expected[tenant])
        for asked, own in expected.items():
            door.clock.advance(MINUTE)
            request = replace(QUESTION, scope=Scope(asked, "channel:C1"))
            if own.answers_in("C1"):
                assert (await door.admission.admit(request)).policy == own.policy
            else:
                assert "do not answer in this channel" in await door.refusal(request)


def _source(url: str) -> Source:
    source = make_source(1)
    return replace(source, url=url, metadata=replace(source.metadata, kind=SourceKind.UNKNOWN))
