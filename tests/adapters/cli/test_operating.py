"""`trace`, `doctor` and `forget` on the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from adapters.cli import build_app
from adapters.cli.operator_commands import print_trace
from adapters.cli.running import Chatting, Kept, Operating, Setup
from adapters.records.cache import SqlAnswerCache, SqlReuseStore
from adapters.records.jobs import SqlEvaluations, SqlJobStore, SqlSourceStore
from adapters.records.tenants import SqlRevocations, SqlSettings
from adapters.records.traces import SqlTraceStore
from core.library.desk import LibraryDesk
from core.model.errors import SetupError
from core.model.job import ResearchJob, Scope
from core.pipeline.checkup import Finding, Trial, Trials
from core.pipeline.deps import Deps
from core.pipeline.tool_traces import Exchange, ToolTrace, TraceEntry
from core.receipts.container import Receipts
from core.tenancy.forgetting import Forgotten, Whose
from core.tenancy.settings import Ceilings
from core.tenancy.settings_desk import SettingsDesk
from core.tenancy.usage import Usage
from tests.adapters.records.samples import StandingClock
from tests.core.library.samples import ABSTRACT, PAPER
from tests.core.library.samples import desk as library_desk
from tests.fakes import FakePages, KeptUsage, make_deps
from tests.golden import samples
from tests.golden.samples import ScriptedResearcher
from tests.records import MemoryTables

JOB = samples.COMPLETED


def at(seconds: float):
    return JOB.created_at + timedelta(seconds=seconds)


ENTRIES = [
    TraceEntry("model", "plan", at(0.8), 0.7, "done", "loop-1", 0, 120, 30, False, 0.000225, Exchange("S", "Q?", "A!")),
    TraceEntry("stage", "plan", at(0.9), 0.9),
    TraceEntry("search", "tavily", at(1.5), 0.5, "done", "eddystone height", 7),
    TraceEntry("page", "page", at(2.0), 0.4, "HTTP 404", "https://gone.example/x"),
    TraceEntry("mark", "error", at(2.1), 0.0, "PageStatus", "search"),
    TraceEntry("mark", "error", at(2.1), 0.0, "PageStatus", "search"),
]


@dataclass
class Desk:
    """What the commands are handed, in memory."""

    entries: Sequence[TraceEntry] = ()
    findings: Sequence[Finding] = ()
    trials: Sequence[Trial] = ()
    forgotten: Forgotten = field(default_factory=lambda: Forgotten(3, 57, {}))
    wished: list[Whose] = field(default_factory=list)
    refusal: Exception | None = None
    job: ResearchJob = JOB
    usage: KeptUsage = field(default_factory=KeptUsage)
    pages: Mapping[str, str] = field(default_factory=dict)
    published: Mapping[str, str] = field(default_factory=dict)
    laboratory: Callable[[Mapping[str, str]], Deps] = field(default=lambda changes: make_deps())
    library: LibraryDesk = field(default_factory=library_desk)

    def __post_init__(self) -> None:
        self.tables = tables = MemoryTables(self.job, IN_CHANNEL)
        self.revocations = SqlRevocations(tables, clock=lambda: datetime.now(UTC))
        self.cache = SqlAnswerCache(tables, clock=lambda: datetime.now(UTC))
        self.reuse = SqlReuseStore(tables, clock=lambda: datetime.now(UTC))
        ceilings = Ceilings(("pubmed", "wikipedia"), user_per_min=5)
        self.settings = SettingsDesk(SqlSettings(tables), lambda tenant: ceilings, clock=StandingClock())

    async def append(self, job_id: str, entries: Sequence[TraceEntry]) -> None: ...

    async def read(self, job_id: str) -> list[TraceEntry]:
        return list(self.entries)

    async def get(self, trace_id: str) -> ToolTrace | None:
        return await SqlTraceStore(self.tables).get(trace_id)

    async def forget(self, whose: Whose) -> Forgotten:
        self.wished.append(whose)
        return self.forgotten

    async def examine(self) -> list[Finding]:
        if self.refusal:
            raise self.refusal
        return list(self.findings)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Kept]:
        if self.refusal:
            raise self.refusal
        yield Kept(
            SqlJobStore(self.tables),
            self,
            self.forget,
            self.cache,
            self.reuse,
            lambda: samples.LINKS,
            self.revocations,
            self.usage,
            SqlSourceStore(self.tables),
            self.receipts,
            SqlEvaluations(self.tables),
        )

    @asynccontextmanager
    async def opened_trials(self) -> AsyncIterator[Trials]:
        if self.refusal:
            raise self.refusal

        async def run() -> AsyncIterator[Trial]:
            for trial in self.trials:
                yield trial

        yield Trials("At most 7 calls, 6,500 tokens and 5 minutes.", run)

    def receipts(self) -> Receipts:
        return Receipts(SqlJobStore(self.tables), SqlSourceStore(self.tables), self, "https://gorkd.test", (b"k" * 32,))

    @asynccontextmanager
    async def opened_laboratory(self, changes: Mapping[str, str]) -> AsyncIterator[Deps]:
        yield self.laboratory(changes)

    @asynccontextmanager
    async def opened_pages(self) -> AsyncIterator[FakePages]:
        yield FakePages(self.pages)

    async def fetched_key(self, url: str) -> str:
        return self.published[url]

    @asynccontextmanager
    async def opened_library(self) -> AsyncIterator[LibraryDesk]:
        yield self.library

    @asynccontextmanager
    async def opened_settings(self) -> AsyncIterator[SettingsDesk]:
        yield self.settings

    def run(self, *arguments: str, columns: int = 120) -> Result:
        @asynccontextmanager
        async def researcher() -> AsyncIterator[ScriptedResearcher]:
            yield ScriptedResearcher()

        operating = Operating(
            self.opened,
            self.examine,
            self.opened_library,
            self.opened_settings,
            _no_chatting,
            self.opened_trials,
            self.examine,
            _no_setup,
            self.opened_laboratory,
            self.opened_pages,
            self.fetched_key,
        )
        app = build_app(researcher, lambda name: None, {"all": "Everything."}, lambda: operating)
        return CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(columns)})


def _no_setup() -> Setup:
    raise AssertionError("nobody connects anything here")


def _no_chatting() -> AbstractAsyncContextManager[Chatting]:
    raise AssertionError("nobody chats here")


def test_trace_shows_each_step_with_durations_tokens_and_cost() -> None:
    """A stage stands before what was done in it, though it ended later; the sums come last."""
    ran = Desk(ENTRIES).run("trace", JOB.id)

    lines = [" ".join(line.split()) for line in ran.stdout.splitlines()]
    assert ran.exit_code == 0
    assert lines[0] == f"{JOB.id} · completed · {JOB.query}"
    steps = [line for line in lines if " s " in line]
    assert steps[0] == "0.00 s 0.90 s plan"
    assert steps[1] == "0.10 s 0.70 s model plan loop-1 120+30 $0.000225"
    assert steps[2] == "1.00 s 0.50 s search tavily “eddystone height” → 7 hits"
    assert steps[3] == "1.60 s 0.40 s page https://gone.example/x HTTP 404"
    assert steps[4] == "2.10 s error search PageStatus (2 times)"
    assert lines[-1] == "1 model call · 150 tokens · $0.000225 · 1 search · 0 pages read · 1 not read"


def test_an_address_of_a_trace_can_be_copied() -> None:
    """One that is longer than its column stands below the table, whole and with its time; a short one only there."""
    address = "https://docs.example/handbook/installation/servers/behind-a-proxy.html?version=24"
    entries = [*ENTRIES, TraceEntry("page", "page", at(3.0), 0.5, "done", address)]

    lines = [" ".join(line.split()) for line in Desk(entries).run("trace", JOB.id).stdout.splitlines()]

    assert [line for line in lines if "docs.example" in line] == [
        next(line for line in lines if "https://docs.example" in line and line.endswith("…")),
        f"2.50 s {address}",
    ]
    assert sum("gone.example" in line for line in lines) == 1


def test_a_long_word_of_a_trace_is_folded_and_not_cut() -> None:
    """What an error is called is looked for, also at 80 columns."""
    asked = TraceEntry("search", "europepmc", at(3.0), 0.5, "could not be reached", "eddystone height in metres")
    failed, paper = replace(ENTRIES[-1], outcome="ProviderUnavailable"), StringIO()

    print_trace(Console(file=paper, width=80), JOB, [asked, failed], with_prompts=False)

    assert "…" not in paper.getvalue()
    assert "ProviderUnavailable" in "".join(line[64:].strip() for line in paper.getvalue().splitlines())


def test_many_tokens_can_be_read_and_a_model_without_a_price_is_named() -> None:
    """No cost is made up, and the way to know it is told."""
    call = replace(ENTRIES[0], prompt_tokens=16_000, completion_tokens=472, cost_usd=None)

    ran = Desk([call]).run("trace", JOB.id)

    assert "1 model call · 16,472 tokens" in " ".join(ran.stdout.split())
    assert "no price known" in ran.stdout
    assert "without a price: loop-1 (set GORKD_PRICES)" in ran.stdout


def test_prompts_are_shown_only_when_asked_for() -> None:
    """They repeat what people asked and what pages say."""
    plain, full = Desk(ENTRIES).run("trace", JOB.id), Desk(ENTRIES).run("trace", JOB.id, "--prompts")

    assert "Q?" not in plain.stdout.replace(JOB.query, "")
    assert "── plan: user ──\nQ?" in full.stdout
    assert "── plan: answer ──\nA!" in full.stdout


@pytest.mark.parametrize("flags", [(), ("--prompts",)], ids=["figures", "prompts"])
def test_trace_as_json_is_complete(flags: tuple[str, ...]) -> None:
    """Every field of the entry that means something for its kind."""
    document = json.loads(Desk(ENTRIES).run("trace", JOB.id, "--json", *flags).stdout)

    assert document["totals"]["tokens"] == 150
    assert document["totals"]["cost_usd"] == pytest.approx(0.000225)
    assert [entry["kind"] for entry in document["entries"]] == ["stage", "model", "search", "page", "mark", "mark"]
    call = document["entries"][1]
    assert (call["prompt_tokens"], call["completion_tokens"], call["cost_usd"]) == (120, 30, 0.000225)
    assert ("exchange" in call) is bool(flags)


def test_hostile_text_reaches_the_terminal_as_text() -> None:
    """Addresses, queries and prompts come from outside."""
    hostile = "\x1b[31mred \x9b2J [bold]b[/bold] \u202e"
    entries = [
        TraceEntry("search", "web", at(1), 0.5, hostile, hostile, 1),
        replace(ENTRIES[0], exchange=Exchange(hostile, hostile, hostile)),
    ]

    ran = Desk(entries).run("trace", JOB.id, "--prompts")

    assert not [char for char in ("\x1b", "\x9b", "\u202e") if char in ran.stdout]
    assert "[bold]b[/bold]" in ran.stdout


def test_a_job_without_a_trace_says_why_and_an_unknown_one_is_one_sentence() -> None:
    without, unknown = Desk().run("trace", JOB.id), Desk().run("trace", "job_unknown")

    assert without.exit_code == 0
    assert "older than 30 days" in without.stdout
    assert unknown.exit_code == 2
    assert unknown.stderr == "gorkd: There is no such job, or it is not yours to see.\n"


FINDINGS = [
    Finding("data folder", "ok", "can be written"),
    Finding("model", "warning", "reports no tokens"),
    Finding("Redis", "off", "set REDIS_URL"),
]


@pytest.mark.parametrize(
    ("findings", "code"),
    [(FINDINGS, 0), ([*FINDINGS, Finding("search: exa", "failed", "Check EXA_API_KEY.")], 4)],
    ids=["healthy", "ill"],
)
def test_doctor_says_one_line_a_part_and_exits_by_health(findings: list[Finding], code: int) -> None:
    """0 when nothing is broken, 4 when something is."""
    ran = Desk(findings=findings).run("doctor")
    as_json = Desk(findings=findings).run("doctor", "--json")

    document = json.loads(as_json.stdout)
    assert ran.exit_code == as_json.exit_code == code
    assert len(ran.stdout.splitlines()) == len(findings)
    assert "look model        reports no tokens" in ran.stdout
    assert document["healthy"] is (code == 0)
    assert [part["state"] for part in document["parts"]] == [finding.state for finding in findings]


def test_doctor_that_cannot_start_is_one_sentence() -> None:
    ran = Desk(refusal=SetupError("Please check PORT.")).run("doctor")

    assert ran.exit_code == 4
    assert ran.stderr == "gorkd: Please check PORT.\n"


@pytest.mark.parametrize(
    ("arguments", "whose", "words"),
    [
        (("--job", "job_1"), Whose(job_id="job_1"), "job_1, 3 jobs, 57 entries"),
        (("job_1",), Whose(job_id="job_1"), "job_1, 3 jobs, 57 entries"),
        (("--user", "U1"), Whose(user_id="U1"), "user U1, 3 jobs"),
        (("--user", "U1", "--workspace", "slack:T1"), Whose("", "U1", "slack:T1"), "user U1 in workspace slack:T1"),
        (("--workspace", "slack:T1"), Whose(tenant="slack:T1"), "workspace slack:T1"),
    ],
    ids=["job", "its id alone", "user", "user of a workspace", "workspace"],
)
def test_forget_passes_on_whose_and_says_what_went(arguments: tuple[str, ...], whose: Whose, words: str) -> None:
    """Without a terminal nobody is asked."""
    desk = Desk()

    ran = desk.run("forget", *arguments)

    assert ran.exit_code == 0
    assert desk.wished == [whose]
    assert words in ran.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--job", "j", "--user", "u"),
        ("--job", "j", "--workspace", "w"),
        ("--job", " "),
        ("U1",),
        ("slack:T1",),
        ("job_1", "--user", "u"),
        ("job_1", "--job", "job_2"),
    ],
    ids=lambda arguments: " ".join(arguments) or "nothing",
)
def test_forget_needs_to_know_exactly_what(arguments: tuple[str, ...]) -> None:
    """Exit 2, and nothing is touched."""
    desk = Desk()

    ran = desk.run("forget", *arguments)

    assert ran.exit_code == 2
    assert desk.wished == []


def test_what_could_not_be_forgotten_is_named_and_exits_4() -> None:
    """Half forgotten is not forgotten; that nothing is kept is told, and is all right."""
    desk = Desk(forgotten=Forgotten(1, 5, {"Redis": "Redis (REDIS_URL) does not answer."}))

    ran = desk.run("forget", "--user", "U1")
    as_json = desk.run("forget", "--user", "U1", "--json")
    nothing = Desk(forgotten=Forgotten(0, 0, {})).run("forget", "--user", "U9")

    assert ran.exit_code == as_json.exit_code == 4
    assert "gorkd: Redis: Redis (REDIS_URL) does not answer." in ran.stderr
    assert json.loads(as_json.stdout)["failures"] == {"Redis": "Redis (REDIS_URL) does not answer."}
    assert (nothing.exit_code, nothing.stdout) == (0, "Nothing is kept of user U9.\n")


@pytest.mark.parametrize("command", [("trace", "job_1"), ("doctor",), ("forget", "--job", "job_1")])
def test_a_bug_is_one_sentence_without_its_words(command: tuple[str, ...]) -> None:
    """What an exception says may hold a secret; its type is enough to report it."""
    ran = Desk(refusal=RuntimeError("token=hunter2")).run(*command)

    assert ran.exit_code == 4
    assert "RuntimeError" in ran.stderr
    assert "hunter2" not in ran.output


CHANNEL = Scope("discord:1", "channel:2")
IN_CHANNEL = replace(JOB, id="job_channel", request=replace(JOB.request, scope=CHANNEL))


def cached(*jobs: ResearchJob) -> Desk:
    """A desk whose cache holds the answers of these jobs, and one page."""
    desk = Desk()

    async def fill() -> None:
        for job in jobs:
            await desk.cache.put(job.scope, "key", job.id, ttl=timedelta(days=7))
        await desk.reuse.put("page:https://site.example", "text", ttl=timedelta(days=1))

    asyncio.run(fill())
    return desk


def test_cache_lists_and_shows_what_may_be_given_again() -> None:
    """Whose, how old, which question; of one workspace when it is named."""
    desk = cached(JOB, IN_CHANNEL)

    listed, elsewhere = desk.run("cache", "list"), desk.run("cache", "list", "--workspace", "slack:T1")
    shown = desk.run("cache", "show", JOB.id)
    document = json.loads(desk.run("cache", "list", "--workspace", "discord:1", "--json").stdout)

    assert [line.split("  ")[:2] for line in listed.stdout.splitlines()] == [
        [IN_CHANNEL.id, "discord:1 channel:2"],
        [JOB.id, f"{JOB.scope.tenant} {JOB.scope.visibility}"],
    ]
    assert all(JOB.query in line for line in listed.stdout.splitlines())
    assert elsewhere.stdout == ""
    assert shown.stdout.startswith(JOB.query)
    assert [entry["visibility"] for entry in document["answers"]] == ["channel:2"]


def test_cache_lets_go_of_one_or_of_all() -> None:
    """The job stays; purging all takes the reused pages along, purging a workspace does not."""
    one = cached(IN_CHANNEL)
    workspace, everything = cached(JOB, IN_CHANNEL), cached(JOB, IN_CHANNEL)

    gone = one.run("cache", "forget", IN_CHANNEL.id)
    again, twice = one.run("cache", "show", IN_CHANNEL.id), one.run("cache", "forget", IN_CHANNEL.id)
    some = workspace.run("cache", "purge", "--workspace", JOB.scope.tenant, "--yes")
    most = everything.run("cache", "purge", "--yes", "--json")

    assert gone.stdout == "Let go of 1 answer.\n"
    assert again.exit_code == twice.exit_code == 2
    assert again.stderr == twice.stderr == f"gorkd: {IN_CHANNEL.id} is not among the answers that may be given again.\n"
    assert some.exit_code == 0
    assert asyncio.run(workspace.reuse.clear()) == 1
    assert json.loads(most.stdout) == {"answers": 2, "reused": 1}


def test_cache_says_what_it_can_do_and_which_it_must_know() -> None:
    """Alone it lists what can be done, as other commands with more below them do."""
    alone, nameless = Desk().run("cache"), Desk().run("cache", "forget")

    assert alone.exit_code == nameless.exit_code == 2
    assert [name in alone.output for name in ("  list ", "  show ", "  forget ", "  purge ")] == [True] * 4
    assert "gorkd cache forget" in nameless.stderr
    assert "Missing argument 'JOB'" in nameless.stderr


PRIVATE = replace(JOB, request=replace(JOB.request, scope=Scope("slack:T1", "channel:C1")))


def test_link_is_signed_for_a_private_job_and_plain_for_an_open_one() -> None:
    """What is printed opens the page; none leads to an unknown job."""
    private, open_to_all = Desk(job=PRIVATE).run("link", JOB.id), Desk().run("link", JOB.id)

    address, _, sig = private.stdout.strip().partition("?sig=")
    assert (private.exit_code, open_to_all.exit_code) == (0, 0)
    assert open_to_all.stdout.strip() == address == f"https://gorkd.test/jobs/{JOB.id}"
    assert samples.LINKS.allows(PRIVATE, sig, samples.NOON)
    assert Desk().run("link", "job_unknown").exit_code != 0


def test_links_that_were_given_are_taken_back() -> None:
    """With the option, and never without."""
    desk = Desk(job=PRIVATE)
    given = desk.run("link", JOB.id)
    before = asyncio.run(desk.revocations.revoked_at(JOB.id))

    revoked = desk.run("link", JOB.id, "--revoke", "--json")

    assert (given.exit_code, before, revoked.exit_code) == (0, None, 0)
    assert asyncio.run(desk.revocations.revoked_at(JOB.id)) == samples.NOON
    assert json.loads(revoked.stdout) == {"job_id": JOB.id, "url": None}


def test_a_folder_of_papers_is_added_once(tmp_path) -> None:
    """With a line each; a file that is no paper costs only itself; the second time nothing is done again."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.md").write_text(PAPER)
    (tmp_path / "deep" / "2401.00001v1.pdf").write_text(f"{PAPER} more")
    (tmp_path / "empty.pdf").write_text("")
    (tmp_path / "picture.png").write_text("not looked at")
    desk = Desk()

    first = desk.run("library", "add", str(tmp_path))
    second = desk.run("library", "add", str(tmp_path), "2401.00009v1")

    assert first.stdout.splitlines() == [
        "[1/3] smithtides  Tides and the Moon  added",
        "[2/3] 2401.00001v1  Tides and the Moon  added",
    ]
    assert first.stderr.splitlines() == [
        "gorkd: It is another version of smithtides, which stays with its summary and notes; the newest answers.",
        "gorkd: [3/3] empty.pdf cannot be read: it is empty.",
        "gorkd: 2 papers added, 0 there already, 1 not readable",
    ]
    assert (first.exit_code, second.exit_code) == (2, 2)
    assert "is there already" in second.stdout
    assert second.stderr.endswith("0 papers added, 3 there already, 1 not readable\n")


def test_a_link_out_of_a_folder_and_a_bad_list_cost_only_themselves(tmp_path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret.md").write_text(f"{PAPER} secret")
    (folder / "notes.md").symlink_to(tmp_path / "secret.md")
    (folder / "a.md").write_text(PAPER)
    (folder / "bad.bib").write_text("nothing {")
    (folder / "long.bib").write_text(f"@misc{{k, title = {{Nowhere}}, file = {{{'x' * 5000}.pdf}}}}")
    (empty := tmp_path / "empty").mkdir()

    added = Desk().run("library", "add", str(folder), "x" * 5000, str(empty))

    assert added.stdout.splitlines() == ["[3/5] smithtides  Tides and the Moon  added"]
    assert "gorkd: [1/5] bad.bib cannot be read: it lists no paper." in added.stderr
    assert f"gorkd: [5/5] {empty} holds no PDF, no Markdown file and no reading list." in added.stderr
    assert "Nowhere cannot be added" in added.stderr
    assert "1 paper added, 0 there already, 4 not readable" in added.stderr


@pytest.mark.parametrize("command", [("library", "show", "nowhere"), ("cache", "show", "nowhere")], ids=" ".join)
def test_what_prints_json_says_in_json_too_what_was_wrong(command: tuple[str, ...]) -> None:
    ran = Desk().run(*command, "--json")

    error = json.loads(ran.stdout)["error"]
    assert (ran.exit_code, error["code"], error["details"]) == (2, "INVALID_QUERY", {})
    assert ran.stderr == f"gorkd: {error['message']}\n"


def test_papers_are_listed_shown_read_anew_checked_and_removed(tmp_path) -> None:
    """S000-24: a paper looks the same in every list."""
    desk = Desk()
    desk.run("library", "add", "2401.00001v2")

    listed, shown = desk.run("library", "list"), desk.run("library", "show", "2401.00001", "--json")
    anew, checked = desk.run("library", "reindex"), desk.run("library", "validate")
    removed, gone = desk.run("library", "remove", "2401.00001v2"), desk.run("library", "show", "2401.00001v2")

    assert listed.stdout == "1. 2401.00001v2 - Tides\n   Authors: Smith, Doe\n   Published: 2024-01-02\n"
    assert json.loads(shown.stdout)["summary"] == ABSTRACT
    assert anew.stderr == "gorkd: read anew: 2401.00001v2\n"
    assert (checked.exit_code, checked.stderr) == (0, "gorkd: 1 paper looked at, 0 faults found\n")
    assert removed.exit_code == 0
    assert gone.exit_code == 2
    assert "`list` shows what there is" in gone.stderr


def test_each_channel_has_its_own_shelf() -> None:
    """What is added to one is not seen in another."""
    desk = Desk()
    desk.run("library", "add", "2401.00001v2", "--workspace", "slack:T1", "--channel", "C1")

    seen = [
        desk.run("library", "list", *where).stdout
        for where in (("--workspace", "slack:T1", "--channel", "C1"), ("--workspace", "slack:T1"), ())
    ]

    assert [bool(text) for text in seen] == [True, False, False]


def test_settings_are_shown_set_and_logged_by_tenant() -> None:
    """What is set by the command line says so, and no other tenant has it."""
    desk = Desk()

    first = desk.run("settings", "set", "monthly_usd", "25", "--tenant", "slack:T1")
    second = desk.run("settings", "set", "providers", "wikipedia", "--tenant", "slack:T1")
    shown = json.loads(desk.run("settings", "show", "--tenant", "slack:T1", "--json").stdout)
    other = desk.run("settings", "show", "--tenant", "slack:T2").stdout
    log = desk.run("settings", "log", "--tenant", "slack:T1").stdout.splitlines()

    assert first.stdout == "monthly_usd: no limit → 25.00\n"
    assert second.exit_code == 0
    assert (shown["settings"]["monthly_usd"], shown["settings"]["providers"]) == ("25.00", "wikipedia")
    assert "25.00" not in other
    assert "wikipedia" not in other
    assert [line.partition("  ")[2] for line in log] == [
        "operator  providers: all → wikipedia",
        "operator  monthly_usd: no limit → 25.00",
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(("colour", "red"), "There is no setting colour", id="unknown"),
        pytest.param(("user_per_min", "6"), "At most 5 here", id="beyond the ceiling"),
        pytest.param(("allow_domains", "nature"), "nature is not a domain", id="no domain"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_a_sentence(arguments: tuple[str, str], says: str) -> None:
    desk = Desk()

    ran = desk.run("settings", "set", *arguments)

    assert ran.exit_code == 2
    assert says in ran.stderr
    assert "no limit" in desk.run("settings", "show").stdout


USAGE = [
    Usage("local", "2026-11-21", 1, 1, unpriced=1),
    Usage("slack:T1", "2026-11-20", 4, 3, 1, high=2, low=1, good=1, cost_usd=0.0123, p50_s=4.04, p95_s=9.0),
    Usage("slack:T1", "2026-11-21", 1, running=1),
]


def test_stats_are_a_row_a_tenant_and_day_however_narrow_the_terminal() -> None:
    """Questions, latency, confidence, votes, cost, cache hits and failures; a cut figure would say something else."""
    desk = Desk(usage=KeptUsage(USAGE))

    ran = desk.run("stats", "--days", "7", columns=40)

    assert ran.exit_code == 0
    assert [line.split() for line in ran.stdout.splitlines()[1:]] == [
        ["local", "2026-11-21", "1", "1", "0", "0", "–", "–", "0/0/0/0", "0/0", "unknown"],
        ["slack:T1", "2026-11-20", "4", "3", "1", "0", "4.0", "9.0", "2/0/1/0", "1/0", "$0.012"],
        ["slack:T1", "2026-11-21", "1", "0", "0", "0", "–", "–", "0/0/0/0", "0/0", "$0.000"],
    ]
    assert [(period.days, tenant, by) for period, tenant, by in desk.usage.asked] == [(7, "", "tenant and day")]


def test_stats_of_one_tenant_as_csv_and_of_nothing() -> None:
    desk = Desk(usage=KeptUsage(USAGE))

    lines = desk.run("stats", "--tenant", "slack:T1", "--by", "tenant", "--csv").stdout.splitlines()
    nothing = Desk().run("stats")

    assert lines[1].startswith("slack:T1,,5,3,1,")
    assert desk.usage.asked[0][1:] == ("slack:T1", "tenant")
    assert (nothing.exit_code, nothing.stdout[:20]) == (0, "Nothing was asked fr")


@pytest.mark.parametrize(
    "command",
    [
        ("forget", "--yes", "--workspace"), ("forget", "--yes", "--user", "U1", "--workspace"), ("stats", "--tenant"),
        ("settings", "show", "--tenant"), ("cache", "list", "--workspace"), ("library", "list", "--workspace"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_mistyped_workspace_is_refused_and_not_found_empty(command: tuple[str, ...]):
    """“Nothing is kept of T1” would be taken for a promise about slack:T1."""
    ended = Desk().run(*command, "T1")

    assert ended.exit_code == 2
    assert "slack:<team>" in ended.stderr


def test_a_zotero_folder_is_added_once_and_exported_with_its_keys(tmp_path) -> None:
    """The list says what its files are; export gives the entries back under their own keys."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.pdf").write_text(PAPER)
    (tmp_path / "My Library.bib").write_text(
        "@article{kept2024, title = {The Tides}, author = {Doe, Jane}, year = {2024}, file = {PDF:files/a.pdf:x}}\n"
        "@misc{gone, title = {Nowhere}}\n"
    )
    desk = Desk()

    added = desk.run("library", "add", str(tmp_path))
    printed = desk.run("library", "export")
    written = desk.run("library", "export", "-o", str(tmp_path / "out.bib"))

    assert added.stdout.splitlines() == [
        "[1/3] doe2024tides  The Tides  added",
        "[3/3] doe2024tides  The Tides  is there already",
    ]
    assert "Nowhere cannot be added" in added.stderr
    assert printed.stdout.startswith("@article{kept2024, title = {The Tides}")
    assert (tmp_path / "out.bib").read_text() == printed.stdout
    assert written.stderr == "gorkd: 1 paper exported\n"
