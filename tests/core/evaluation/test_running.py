"""Runs go on where they stopped, and what was recorded is asked again without the outside (N-23)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from core.evaluation.cases import Answered, Case, read_cases
from core.evaluation.running import (
    Outcome,
    Recording,
    Tape,
    asking,
    recording_of,
    run_cases,
    taped,
)
from core.model.codec import decode, encode
from core.model.errors import ProviderTimeout, SetupError
from tests.core.evaluation import worlds
from tests.core.evaluation.worlds import EDDYSTONE, FASTNET
from tests.core.findings import test_rounds as rounds
from tests.fakes import NOW, FakeModel, FakeSearch, make_deps

CASES = read_cases(
    f"- {{id: eddystone, ask: '{EDDYSTONE}', contains: '49', judge: 'It is 49 metres tall.'}}\n"
    f"- {{id: fastnet, ask: '{FASTNET}'}}"
)


async def run_all(search: FakeSearch, model: FakeModel, tapes: dict[str, Tape] | None = None) -> list[Outcome]:
    def deps_of(case: Case):
        deps = worlds.deps(model, search)
        return taped(deps, tapes[case.id]) if tapes else deps

    return await run_cases(CASES, asking(deps_of), at_once=2)


def same(outcomes: list[Outcome]) -> list[Outcome]:
    """What must be the same of two runs: all but job ids and times."""
    return [replace(outcome, job_id="", seconds=0.0) for outcome in outcomes]


async def test_an_outcome_tells_what_was_answered():
    first, second = await run_all(worlds.search(), worlds.model())

    assert first.summary.startswith("The Eddystone lighthouse is 49 metres tall [")
    assert (first.ticked, len(first.claims), first.has_failed) == (2, 2, False)
    assert "https://trinity.example/eddystone" in first.cited
    assert second.summary.startswith("The Fastnet lighthouse is 54 metres tall [")


async def test_a_recording_gives_the_same_answers_without_the_outside():
    """Neither a search nor a model is called, nor who judges what is expected: repeatable and free (N-23).

    A recording is kept as text.
    """
    tapes = {case.id: Tape(NOW) for case in CASES}
    recorded = await run_all(worlds.search(), worlds.model(), tapes)
    kept = {name: Tape.of(decode(encode(tape.recording()), Recording)) for name, tape in tapes.items()}
    search, model = worlds.search(), worlds.model()

    replayed = await run_all(search, model, kept)

    assert same(replayed) == same(recorded)
    assert [one.is_met for one in replayed[0].met] == [True, True]
    assert (search.asked, model.asked) == ([], [])
    assert [tape.new_calls for tape in kept.values()] == [0, 0]


async def test_another_model_reads_what_was_recorded():
    """It is asked anew, and counted; the sources are those of the recording."""
    tapes = {case.id: Tape(NOW) for case in CASES}
    await run_all(worlds.search(), worlds.model(), tapes)
    kept = {name: Tape.of(tape.recording()) for name, tape in tapes.items()}
    search, other = worlds.search(), worlds.model("other-2", says={EDDYSTONE: (worlds.TALL,), FASTNET: ()})

    first, _ = await run_all(search, other, kept)

    assert search.asked == []
    assert len(first.claims) == 1
    assert all(tape.new_calls > 0 for tape in kept.values())


async def test_a_search_that_failed_fails_again():
    tapes = {case.id: Tape(NOW) for case in CASES}
    broken = FakeSearch("web", error=ProviderTimeout("web", "no answer in 10 s"))
    recorded = await run_all(broken, worlds.model(), tapes)
    kept = {name: Tape.of(tape.recording()) for name, tape in tapes.items()}

    replayed = await run_all(worlds.search(), worlds.model(), kept)

    assert [outcome.error for outcome in replayed] == [outcome.error for outcome in recorded]
    assert all(outcome.error for outcome in replayed)


async def test_what_is_kept_of_a_job_is_a_recording():
    """Any search finds its sources, whichever words it has."""
    found = await asking(lambda case: worlds.deps())(CASES[0])
    recording = recording_of(found.sources, NOW)

    again = await asking(lambda case: taped(worlds.deps(), Tape.of(recording)))(CASES[0])

    assert {source.url for source in again.sources} <= {source.url for source in found.sources}
    assert again.text == found.text


async def test_what_is_done_is_not_asked_again():
    asked = []
    done = Outcome("eddystone", EDDYSTONE, "job_0", "earlier")

    async def ask(case: Case) -> Answered:
        asked.append(case.id)
        return await asking(lambda one: worlds.deps())(case)

    told = []
    outcomes = await run_cases(
        CASES, ask, at_once=1, done={"eddystone": done}, tell=lambda one: told.append(one.case_id)
    )

    assert (asked, told) == (["fastnet"], ["fastnet"])
    assert outcomes[0] is done


async def test_a_question_that_breaks_costs_itself_alone():
    async def ask(case: Case) -> Answered:
        if case.id == "eddystone":
            raise SetupError("no model is set")
        return await asking(lambda one: worlds.deps())(case)

    first, second = await run_cases(CASES, ask, at_once=2)

    assert (first.error, first.has_failed) == ("no model is set", True)
    assert not second.error


async def test_no_more_run_at_once_than_are_wanted():
    running, most = 0, 0

    async def ask(case: Case) -> Answered:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        found = await asking(lambda one: worlds.deps())(case)
        running -= 1
        return found

    await run_cases(CASES, ask, at_once=1)

    assert most == 1


async def test_a_models_own_web_search_is_replayed():
    """Its text from the recording, the pages it found read from there; one that was not made is not made up."""
    case = read_cases(f"- {{ask: '{rounds.QUESTION}', mode: idea}}")[0]
    tapes = [Tape(NOW)]

    async def ask(tape: Tape, web_model: rounds.Searching, pages: Mapping[str, str]) -> Outcome:
        deps = replace(make_deps(pages=pages, model=FakeModel({})), web_model=web_model)
        return (await run_cases([case], asking(lambda _: taped(deps, tape)), at_once=1))[0]

    recorded = await ask(tapes[0], rounds.Searching(rounds.ROUNDS), rounds.SAID)
    kept = Tape.of(decode(encode(tapes[0].recording()), Recording))
    idle = rounds.Searching(())
    replayed = await ask(kept, idle, {})
    unknown = await ask(Tape.of(replace(tapes[0].recording(), web_searches=())), idle, {})

    assert recorded.claims != ()
    assert same([replayed]) == same([recorded])
    assert idle.asked == []
    assert unknown.claims == ()
