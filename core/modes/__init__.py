"""Every mode in one table, from which all interfaces take their choices. A new mode is one file and one line.

Modes with a folder of their own (core/deep, core/findings) are declared here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import regex

from core.deep.research import conduct as research_deeply
from core.findings.research import conduct as find
from core.findings.viewing import finding_files
from core.model.answer import AnswerFile, JobResult
from core.model.config import FindingsSettings
from core.model.errors import InvalidQuery
from core.model.job import JobStatus, ResearchJob
from core.modes import check, library, quick, references, section
from core.modes.mode import DEPTH, ROUNDS, TOP_K, Mode, Option
from core.modes.several import together
from core.text.saying import later, say


def _finding(name: str, title: str, description: str, options: tuple[Option, ...]) -> Mode:
    """A mode that lists what it finds, each item with the page that carries it. Code is never run."""
    return Mode(
        name=name,
        title=title,
        description=description,
        deadline_s=FindingsSettings().deadline_s,
        run=find,
        files=finding_files,
        options=options,
        needs_model=True,
    )


DEEP = Mode(
    name="deep",
    title=later("Deep research"),
    description=later("Rounds of search and reading by a checklist, typically 1–3 minutes"),
    deadline_s=600.0,
    run=research_deeply,
    is_steerable=True,
    options=(ROUNDS,),
    needs_model=True,
)
IDEA = _finding("idea", later("Ideas"), later("The best ideas and approaches, each with its source"), (TOP_K, DEPTH))
IMPLEMENTATION = _finding(
    "implementation", later("Implementations"), later("Working code with its dependencies and source"), (TOP_K, DEPTH)
)
FREEFORM = _finding("freeform", later("Report"), later("A research report in five sections, like a paper"), (DEPTH,))

_ALL = (quick.MODE, DEEP, library.MODE, section.MODE, IDEA, IMPLEMENTATION, FREEFORM)
MODES: dict[str, Mode] = {mode.name: mode for mode in _ALL}

# Not to be chosen: each is what a button or a command of its own does.
_ACTIONS: dict[str, Mode] = {module.MODE.name: module.MODE for module in (check, references)}
DEFAULT_MODE = quick.MODE.name
_FOUND_TOGETHER = (IDEA.name, IMPLEMENTATION.name, FREEFORM.name)
_RETIRED = {"both": "freeform"}


def find_mode(name: str) -> Mode:
    """Raises `InvalidQuery` that names the known modes."""
    mode = MODES.get(name) or _ACTIONS.get(name)
    if name in _RETIRED:
        raise InvalidQuery(
            say('The mode "{name}" is retired; use {other}.', name=name, other=_RETIRED[name]), rule="retired-mode"
        )
    if mode is None:
        known = ", ".join(MODES)
        raise InvalidQuery(
            say('There is no mode "{name}"; known modes: {known}.', name=name[:40], known=known), rule="unknown-mode"
        )
    return mode


def find_modes(names: Sequence[str]) -> Mode:
    """The mode, or several as one that runs them at once. Raises `InvalidQuery` as `check_modes` does."""
    check_modes(names)
    chosen = [find_mode(name) for name in dict.fromkeys(names)]
    return together(chosen) if len(chosen) > 1 else chosen[0]


def read_modes(text: str) -> tuple[str, ...]:
    """Names as people write them, `idea, Freeform` or `idea+freeform`; each once. They may be unknown, or none."""
    return tuple(dict.fromkeys(name for name in regex.split(r"[\s,;+]+", text.strip().casefold()) if name))


def choices_for(typed: str) -> list[tuple[str, tuple[str, ...]]]:
    """What a menu of modes offers for what is `typed` so far, best first: what is shown, and the names of its modes.

    `typed` may be names, or a part of a title or a description. Further modes beside the first are offered once that
    is named; idea, implementation and freeform together also before anything is typed.
    """
    chosen = tuple(name for name in read_modes(typed) if name in MODES)
    wanted = typed.casefold().strip()
    said = {name: f"{say(one.title)}: {say(one.description)}" for name, one in MODES.items()}
    if chosen:
        offered = [chosen, *((*chosen, name) for name in MODES if name not in chosen)]
    else:
        offered = [(name,) for name in MODES if wanted in f"{name} {said[name]}".casefold()]
        offered += [] if wanted else [names for size in (2, 3) for names in combinations(_FOUND_TOGETHER, size)]
    return [
        (said[names[0]] if len(names) == 1 else " + ".join(say(MODES[name].title) for name in names), names)
        for names in offered
    ]


def option_words(option: Option) -> str:
    """`How many results to list (idea, implementation)`: what an option does, and in which modes."""
    names = [mode.name for mode in MODES.values() if option in mode.options]
    return f"{say(option.description)} ({', '.join(names)})"


def can_be_steered(modes: Sequence[str]) -> bool:
    """Whether a job of these modes hears what is said to it while it runs."""
    return any(MODES[name].is_steerable for name in modes if name in MODES)


def needs_files(modes: Sequence[str]) -> bool:
    """Whether a job of these modes is asked for with files, so that the question alone does not ask for it again."""
    return any({**MODES, **_ACTIONS}[name].needs_files for name in modes if name in {**MODES, **_ACTIONS})


def check_modes(names: Sequence[str]) -> None:
    """Raises `InvalidQuery` for modes that are unknown or retired, and for what a button does beside anything else."""
    for name in names or ("",):
        find_mode(name)
    if len(set(names)) > 1 and any(name in _ACTIONS for name in names):
        raise InvalidQuery(say("A check is made by itself; please name no other mode."), rule="modes-together")


def files_of(job: ResearchJob, result: JobResult | None) -> tuple[AnswerFile, ...]:
    """The files that a job's answer has; none before it is complete."""
    if result is None or job.status is not JobStatus.COMPLETED:
        return ()
    return find_modes(job.request.modes).files(result)
