"""`gorkd ask` as a real process: against local files, against the loopback world, and with bad input."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from tests.commands import Ended, gorkd, start
from tests.loopback.openai_responders import Fault
from tests.loopback.search_faults import Fault as SearchFault
from tests.loopback.web_world import PageSpec
from tests.loopback.world import SitePage, World
from tests.shared_data import ROOT

TIDES = SitePage(
    "How tides work",
    "The tides are caused by the gravity of the Moon and of the Sun. The Moon raises two bulges in the ocean.\n\n"
    "Spring tides occur when the Sun and the Moon are aligned, about twice a month. Neap tides occur at half moon.",
)
COAST = SitePage(
    "Tides on the coast",
    "The largest tidal range on Earth is found in the Bay of Fundy, where it reaches 16 metres.\n\n"
    "Most coasts see two high tides and two low tides a day.",
)


async def ask(*arguments: str, env: Mapping[str, str]) -> Ended:
    return await gorkd("ask", *arguments, env=env)


def unreachable() -> dict[str, str]:
    """Keyless services at a port where nothing listens, as on a machine without network."""
    nowhere = "http://127.0.0.1:9/api"
    return {f"{name}_BASE_URL": nowhere for name in ("WIKIPEDIA", "PUBMED", "ARXIV")}


# A clock that runs by what the process computes and what it waits for in vain, so that other work on the machine does
# not count. What it shows at the start and at the end of the loop is left in a file.
OWN_CLOCK = """
import asyncio, os, pathlib, selectors

in_vain = []

class Selector(selectors.DefaultSelector):
    def select(self, timeout=None):
        ready = super().select(timeout)
        if timeout and not ready:
            in_vain.append(timeout)
        return ready

class Loop(asyncio.SelectorEventLoop):
    def __init__(self):
        super().__init__(Selector())
        self.started = self.time()

    def time(self):
        return sum(os.times()[:4]) + sum(in_vain)

    def close(self):
        pathlib.Path(__file__).with_name("seconds").write_text(f"{self.started} {self.time()}")
        super().close()

asyncio.DefaultEventLoopPolicy._loop_factory = Loop
"""


@dataclass(frozen=True)
class Offline:
    ended: Ended
    started_s: float  # both by its own clock, from the start of the process
    ended_s: float


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def offline(tmp_path_factory: pytest.TempPathFactory) -> Offline:
    """A question about the project, on a machine without key and network, as the first thing that is ever run."""
    folder = tmp_path_factory.mktemp("offline")
    (folder / "sitecustomize.py").write_text(OWN_CLOCK)
    env = {"GORKD_DATA": str(folder / "data"), "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", **unreachable()}
    ended = await gorkd("ask", "--json", "How is confidence scored?", env=env, anew=True)
    return Offline(ended, *map(float, (folder / "seconds").read_text().split()))


async def test_without_key_and_network_a_question_about_the_project_is_answered_from_its_documents(
    offline: Offline,
) -> None:
    """The default of a fresh clone: quoted, cited, right, and every quote stands in the cited file."""
    job = offline.ended.json

    assert offline.ended.code == 0, offline.ended.err
    assert job["status"] == "completed"
    assert job["answer"]["notice"] == "quoted from the sources; no language model wrote it"
    assert "confidence" in job["answer"]["summary"].casefold()
    paths = {source["id"]: Path(source["url"].removeprefix("file://")) for source in job["sources"]}
    assert "confidence.md" in {paths[citation["source_id"]].name for citation in job["citations"]}
    for citation in job["citations"]:
        assert citation["quote"] in paths[citation["source_id"]].read_text(encoding="utf-8")


async def test_unreachable_providers_are_given_up_within_the_time_and_named(offline: Offline) -> None:
    """Without network the answer comes within 5 s, and says who could not be reached."""
    limitations = " ".join(offline.ended.json["answer"]["limitations"]).casefold()

    assert offline.ended.code == 0, offline.ended.err
    assert offline.ended_s - offline.started_s < 5
    assert offline.ended_s < 8  # with the start of the process
    assert all(name in limitations for name in ("wikipedia", "pubmed", "arxiv"))


@pytest.mark.slow
async def test_processes_ask_a_provider_together_no_oftener_than_agreed(tmp_path: Path) -> None:
    """The second process finds the first one's call counted, says so, and asks elsewhere."""
    async with World.of({"/tides": TIDES, "/coast": COAST}) as world:
        env = {**world.env(tmp_path, "tavily", "exa"), "GORKD_SEARCH_RATES": "tavily=1/3600"}
        first = await ask("--json", "--depth", "deep", "What causes the tides?", env=env)
        second = await ask("--json", "--depth", "deep", "--fresh", "What causes the tides?", env=env)
        asked = len(world.search.asked_of("tavily"))

    assert (first.code, second.code, asked) == (0, 0, 1)
    assert "tavily" in first.json["metadata"]["providers"]
    assert second.json["metadata"]["providers"] == ["exa"]
    assert any("search of the web gave nothing" in line for line in second.json["answer"]["limitations"])


async def test_own_pages_of_the_web_are_read_before_the_first_question_and_told_of(tmp_path: Path) -> None:
    """N-19: who asks once has them in the answer; whoever asks again does not wait."""
    async with World.of({"/tides": TIDES, "/coast": COAST}) as world:
        lists = tmp_path / "pages.txt"
        lists.write_text("\n".join(world.web.url(path) for path in ("/tides", "/coast")))
        env = {**world.env(tmp_path / "data", "files"), "GORKD_FILES": str(lists)}
        first = await ask("--json", "Where is the largest tidal range on Earth?", env=env)
        second = await ask("--json", "When do spring tides occur?", env=env)
        unread = env | {"GORKD_DATA": str(tmp_path / "elsewhere")}
        refused = [await gorkd(*said, env=unread) for said in (("ask", "!!!"), ("retry", "job_none"))]

    assert [(one.code, "are read first" in one.err) for one in refused] == [(2, False)] * 2
    assert "Bay of Fundy" in first.json["answer"]["summary"]
    assert not any("still being read" in line for line in first.json["answer"]["limitations"])
    assert ("are read first" in first.err, "are read first" in second.err) == (True, False)
    assert "Spring tides" in second.json["answer"]["summary"]


@dataclass(frozen=True)
class Answered:
    """A question that went well; `purposes` are those of the model calls, in order."""

    ended: Ended
    purposes: list[str]
    tides_url: str


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def answered(tmp_path_factory: pytest.TempPathFactory) -> Answered:
    async with World.of({"/tides": TIDES, "/coast": COAST}) as world:
        env = world.env(tmp_path_factory.mktemp("answered"), "tavily", model=True)
        ended = await ask("--json", "What causes the tides?", env=env)
        return Answered(ended, [call.schema_name for call in world.model.calls], world.web.url("/tides"))


async def test_json_has_every_field_with_its_type(answered: Answered) -> None:
    """S003-19: the JSON of a finished job."""
    job = answered.ended.json

    assert answered.ended.code == 0, answered.ended.err
    assert job["job_id"].startswith("job_")
    assert job["status"] == "completed"
    assert {key: type(job["answer"][key]) for key in ("summary", "detail", "confidence", "limitations")} == {
        "summary": str, "detail": str, "confidence": str, "limitations": list,
    }  # fmt: skip
    assert job["answer"]["confidence"] in {"high", "medium", "low"}
    for citation in job["citations"]:
        assert {"claim", "source_id", "quote", "verdict", "start", "end", "page"} <= set(citation)
    for source in job["sources"]:
        assert {"id", "url", "title", "domain", "provider", "author", "published_at", "relevance", "used"} <= set(
            source
        )
        assert source["domain"].startswith("127.0.0.")
    metadata = job["metadata"]
    assert (type(metadata["duration_ms"]), type(metadata["sources_considered"]), metadata["cached"]) == (
        int,
        int,
        False,
    )
    assert metadata["model"] == "loop-1"
    assert metadata["tokens"] > 0
    assert metadata["providers"] == ["tavily"]


async def test_the_answer_is_written_from_pages_read_and_every_citation_holds(answered: Answered) -> None:
    """S003-09, S003-13, S003-14: plan, search, pages, answer; each quote stands in the page that is cited."""
    job = answered.ended.json

    assert answered.purposes[:2] == ["plan", "answer"]
    assert answered.tides_url in {source["url"] for source in job["sources"]}
    assert "gravity of the Moon" in job["answer"]["summary"] + job["answer"]["detail"]
    texts = {"/tides": TIDES.text, "/coast": COAST.text}
    urls = {source["id"]: source["url"] for source in job["sources"]}
    for citation in job["citations"]:
        page = texts["/" + urls[citation["source_id"]].rsplit("/", 1)[1]]
        assert " ".join(citation["quote"].split()) in " ".join(page.split())


async def test_all_providers_are_used_where_much_hangs_on_the_answer(tmp_path: Path) -> None:
    """S003-06: high importance asks every provider."""
    pages = {
        "/x": SitePage(
            "Ibuprofen dose", "The safe dose of ibuprofen for adults is at most 1200 mg a day without advice."
        )
    }
    async with World.of(pages) as world:
        ended = await ask("--json", "What dose of ibuprofen is safe?", env=world.env(tmp_path, model=True))
        asked = {request.service for request in world.search.asked}

    assert ended.code == 0, ended.err
    assert asked == {"tavily", "exa", "wikipedia", "pubmed", "arxiv"}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param("ab c" * 500, "1999", id="2000 characters", marks=pytest.mark.slow),
        pytest.param("PK\x03\x04\x1b[31m", "plain text", id="binary"),
        pytest.param("asdfghjkl", "question", id="key mash", marks=pytest.mark.slow),
    ],
)
async def test_bad_input_is_one_clear_sentence_and_exit_2(question: str, words: str, tmp_path: Path) -> None:
    """S003-01: on stderr, without a traceback, nothing on stdout."""
    ended = await ask("--", question, env={"GORKD_DATA": str(tmp_path), "GORKD_PROVIDERS": "files"})

    assert ended.code == 2
    assert words in ended.err
    assert "Traceback" not in ended.err
    assert len(ended.err.strip().splitlines()) == 1
    assert ended.out == ""


async def test_an_invalid_key_is_one_clear_sentence_and_exit_4(tmp_path: Path) -> None:
    """The job has failed, keeps its sources, and the key appears nowhere."""
    async with World.of({"/tides": TIDES}) as world:
        world.model.keys = {"sk-another-key"}
        env = world.env(tmp_path, "tavily", model=True)
        ended = await ask("What causes the tides?", env=env)
        as_json = await ask("--json", "What causes the tides?", env=env)

    assert ended.code == as_json.code == 4
    assert "OPENAI_API_KEY" in ended.err
    assert "sk-test" not in ended.err + ended.out + as_json.out + as_json.err
    assert as_json.json["status"] == "failed"
    assert as_json.json["error"]["code"] == "LLM_FAILED"
    assert len(as_json.json["sources"]) == 1


@pytest.mark.slow
async def test_a_wrong_base_url_is_one_clear_sentence_and_exit_4(tmp_path: Path) -> None:
    """Nothing listens there: the sentence names the setting, within seconds."""
    async with World.of({"/tides": TIDES}) as world:
        env = {**world.env(tmp_path, "tavily", model=True), "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        ended = await ask("What causes the tides?", env=env)

    assert ended.code == 4
    assert "OPENAI_BASE_URL" in ended.err
    assert "Traceback" not in ended.err


async def test_a_data_folder_that_cannot_be_used_is_one_clear_sentence_and_exit_4(tmp_path: Path) -> None:
    """The sentence names the setting."""
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")

    ended = await ask("What causes the tides?", env={"GORKD_DATA": str(blocked / "data"), "GORKD_PROVIDERS": "files"})

    assert ended.code == 4
    assert "GORKD_DATA" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.slow
async def test_a_page_of_50_megabytes_is_given_up_and_the_rest_answers(tmp_path: Path) -> None:
    """The huge page stays as its provider's extract, marked; the answer comes from the others."""
    async with World.of({"/tides": TIDES, "/coast": COAST}) as world:
        world.web.pages["/coast"] = PageSpec(behaviour="huge")
        ended = await ask("--json", "What causes the tides?", env=world.env(tmp_path, "tavily", model=True))

    assert ended.code == 0, ended.err
    extracts = {source["url"].rsplit("/", 1)[1]: source["extract_of_page"] for source in ended.json["sources"]}
    assert extracts["tides"] == ""
    assert extracts.get("coast", "too large") == "too large"


async def test_all_providers_dead_is_exit_4_with_retry(tmp_path: Path) -> None:
    """S003-23, D11: a failure, never an empty answer."""
    async with World.of({"/tides": TIDES}) as world:
        world.search.faults["tavily"] = SearchFault(status=500)
        ended = await ask("--json", "What causes the tides?", env=world.env(tmp_path, "tavily"))

    assert ended.code == 4
    assert ended.json["error"]["code"] == "SEARCH_FAILED"
    assert ended.json["error"]["retryable"] is True


async def test_nothing_relevant_is_exit_3_and_says_what_was_searched(tmp_path: Path) -> None:
    """S003-23: insufficient is an honest answer."""
    async with World.of({"/tides": TIDES}) as world:
        ended = await ask("Who composed the opera Zaide?", env=world.env(tmp_path, "wikipedia"))

    assert ended.code == 3
    assert "Zaide" in ended.out


@pytest.mark.slow
async def test_a_model_error_is_retried_and_then_fails(tmp_path: Path) -> None:
    """S003-23: one retry on 5xx, then exit 4 with the sources kept."""
    async with World.of({"/tides": TIDES}) as world:
        world.model.respond = Fault(status=503)
        ended = await ask("--json", "What causes the tides?", env=world.env(tmp_path, "tavily", model=True))
        answers = [call for call in world.model.calls if call.schema_name == "answer"]

    assert ended.code == 4
    assert len(answers) == 2
    assert ended.json["sources"]


async def test_interrupting_cancels_the_job_and_exits_130(tmp_path: Path) -> None:
    """Ctrl-C: said in a line, with the job's id, without a traceback."""
    async with World.of({"/tides": TIDES}) as world:
        world.model.respond = Fault(hang_first=True)
        process = await start("ask", "What causes the tides?", env=world.env(tmp_path, "tavily", model=True))
        await asyncio.wait_for(world.model.hanging.wait(), 40)
        process.send_signal(2)
        _, err = await asyncio.wait_for(process.communicate(), 20)

    assert process.returncode == 130
    assert b"cancelled" in err
    assert b"job_" in err
    assert b"Traceback" not in err


async def test_interrupting_ends_the_watching_alone_of_what_another_process_researches(tmp_path: Path) -> None:
    """An answer is renewed once a day, however many ask for it: who leaves takes it from nobody."""
    async with World.of({"/tides": TIDES}) as world:
        env = world.env(tmp_path, "tavily", model=True)
        answered = await ask("--json", "What causes the tides?", env=env)
        world.model.respond = Fault(hang_first=True)
        first = await start("refresh", answered.json["job_id"], env=env)
        await asyncio.wait_for(world.model.hanging.wait(), 40)
        asked = len(world.model.calls)
        second = await start("refresh", answered.json["job_id"], env=env)
        told = await asyncio.wait_for(second.stderr.readline(), 40)
        second.send_signal(2)
        _, left = await asyncio.wait_for(second.communicate(), 20)
        is_left = first.returncode is None
        asked_again = len(world.model.calls) - asked
        first.send_signal(2)
        _, ended = await asyncio.wait_for(first.communicate(), 20)

    assert told
    assert second.returncode == 130
    assert b"goes on" in left
    assert b"cancelled" not in left
    assert (is_left, asked_again) == (True, 0)
    assert b"is cancelled" in ended


def test_make_hands_a_question_on_as_it_was_typed(tmp_path: Path) -> None:
    """What make and shells expand is a part of a question like any other."""
    (tmp_path / "bin").mkdir()
    for program in ("python", "gorkd"):
        (tmp_path / "bin" / program).write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        (tmp_path / "bin" / program).chmod(0o755)
    (tmp_path / ".run").touch()
    question = 'Is $5 or $HOME "enough" for `x`; what\'s $(shell id) # about?'

    made = subprocess.run(
        ["make", "-s", "-C", ROOT, "ask", f"VENV={tmp_path}", "ARGS=", f"Q={question}"],
        check=True,
        capture_output=True,
        text=True,
        timeout=20,
    )

    assert made.stdout == f"ask\n--\n{question}\n"
