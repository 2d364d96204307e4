"""What a section is written about: concept, hypothesis and experiment, read from YAML or JSON files of the asker's.

Pure. Whatever is wrong with a file is said with the name of the file and of the field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, TypeVar

import yaml
from pydantic import BeforeValidator, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from core.model.errors import InvalidQuery
from core.presentation.render import cut, one_line

MAX_BRIEF_CHARS = 200_000  # a file; the output of a long run is cut below
MAX_VALUES = 10_000  # of a file, its lists and mappings included; reading them takes a second
MAX_DEPTH = 30  # of lists and mappings within each other; people's files have five
MAX_FIELD_CHARS = 20_000  # of one field: what is longer is a log, of which the beginning and the end matter


def _as_text(value: object) -> str:
    """A text, or a list, mapping or number as text: items and pairs one a line."""
    if isinstance(value, str):
        text = value.strip()
    elif isinstance(value, Mapping):
        text = "\n".join(f"{name}: {_as_text(entry)}" for name, entry in value.items())
    elif isinstance(value, list):
        text = "\n".join(map(_as_text, value))
    else:
        text = "" if value is None else str(value)
    half = MAX_FIELD_CHARS // 2
    return text if len(text) <= MAX_FIELD_CHARS else f"{text[:half]}\n[…]\n{text[-half:]}"


class _AsWritten(yaml.SafeLoader):
    """Numbers and dates stay the text that they are: `0.50` keeps its nought, and `1:1:1…` costs no long sum."""

    yaml_implicit_resolvers = {  # noqa: RUF012 -- as the loader declares it
        first: [(tag, pattern) for tag, pattern in known if tag.rpartition(":")[2] in ("null", "bool", "merge")]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


T = TypeVar("T")
Text = Annotated[str, BeforeValidator(_as_text)]
_STRICT = {"extra": "forbid"}


@dataclass(frozen=True)
class Hypothesis:
    __pydantic_config__ = _STRICT
    description: Text = ""
    method_combination: Text = ""


@dataclass(frozen=True)
class PaperConcept:
    __pydantic_config__ = _STRICT
    description: Text
    title: Text = ""
    open_questions: Text = ""


@dataclass(frozen=True)
class ExecutionResult:
    __pydantic_config__ = _STRICT
    stdout: Text = ""


@dataclass(frozen=True)
class ExperimentResult:
    """`metrics` and `plots` may be lists or mappings in the file; here they are lines of text."""

    __pydantic_config__ = _STRICT
    experimental_plan: Text = ""
    experiment_code: Text = ""
    execution_result: ExecutionResult = ExecutionResult()
    metrics: Text = ""
    plots: Text = ""
    results: Text = ""
    verdict: Text = ""
    reasoning: Text = ""
    summary: Text = ""


@dataclass(frozen=True)
class Brief:
    """All that the asker has said of the work: a context file's fields. `experiment` is None where there was none."""

    __pydantic_config__ = _STRICT
    concept: PaperConcept
    hypothesis: Hypothesis = Hypothesis()
    experiment: ExperimentResult | None = None

    @property
    def text(self) -> str:
        """Everything as a document, a heading a field: what sentences on the own work are checked against."""
        parts = [("Title", self.concept.title), ("Concept", self.concept.description)]
        parts += [("Open questions", self.concept.open_questions), ("Hypothesis", self.hypothesis.description)]
        parts.append(("Combination of methods", self.hypothesis.method_combination))
        if self.experiment is not None:
            ran = self.experiment
            parts += [("Experimental plan", ran.experimental_plan), ("Code", ran.experiment_code)]
            parts += [("Output", ran.execution_result.stdout), ("Metrics", ran.metrics), ("Plots", ran.plots)]
            parts += [("Results", ran.results), ("Verdict", ran.verdict), ("Reasoning", ran.reasoning)]
            parts.append(("Summary", ran.summary))
        return "\n\n".join(f"## {heading}\n\n{text}" for heading, text in parts if text)


_CONTEXT: TypeAdapter[Brief] = TypeAdapter(Brief)
_EXPERIMENT: TypeAdapter[ExperimentResult] = TypeAdapter(ExperimentResult)
_EXPERIMENT_FIELDS = frozenset(field.name for field in fields(ExperimentResult))


def read_brief(files: Sequence[tuple[str, str]]) -> Brief:
    """From (name, text) of the context file and perhaps the experiment's, in any order.

    The file with `concept` is the context. Raises `InvalidQuery` with a sentence that names file and field.
    """
    context: Brief | None = None
    experiment: ExperimentResult | None = None
    for name, text in files:
        value = _load(name, text)
        if "concept" in value or not _EXPERIMENT_FIELDS.intersection(value):
            context = _validated(_CONTEXT, name, value)
        else:
            experiment = _validated(_EXPERIMENT, name, value)
    if context is None:
        raise InvalidQuery("The context is missing: a YAML or JSON file with a field `concept`.", rule="brief")
    if not context.concept.description:
        raise InvalidQuery("concept.description is empty: say what the paper is about.", rule="brief")
    return replace(context, experiment=experiment or context.experiment)


def is_brief(name: str) -> bool:
    """Whether a file's name says that it may hold a brief."""
    return name.lower().endswith((".yaml", ".yml", ".json"))


def _load(name: str, text: str) -> Mapping[str, object]:
    if len(text) > MAX_BRIEF_CHARS:
        raise InvalidQuery(f"{name} is longer than {MAX_BRIEF_CHARS:,} characters.", rule="brief")
    try:
        _refuse_bombs(name, text)
        value: object = yaml.load(text, _AsWritten)  # noqa: S506 -- a safe loader; JSON is YAML
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        mark = getattr(exc, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        raise InvalidQuery(f"{name}{where}: this is no valid YAML or JSON.", rule="brief") from exc
    if not isinstance(value, dict):
        raise InvalidQuery(f"{name}: expected fields such as `concept:`, found none.", rule="brief")
    return {str(key): entry for key, entry in value.items()}


def _refuse_bombs(name: str, text: str) -> None:
    """An alias can blow a small file up without end, and the parser's time grows with the square of the depth."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, yaml.SafeLoader)):
        if number > MAX_VALUES:
            raise InvalidQuery(f"{name} has more than {MAX_VALUES:,} values.", rule="brief")
        if isinstance(event, yaml.AliasEvent):
            raise InvalidQuery(f"{name} uses YAML aliases (*name); write the values out.", rule="brief")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise InvalidQuery(f"{name} is nested more than {MAX_DEPTH} levels deep.", rule="brief")


def _validated(adapter: TypeAdapter[T], name: str, value: Mapping[str, object]) -> T:
    try:
        return adapter.validate_python(value)
    except ValidationError as exc:
        raise InvalidQuery(f"{name}: {_fault(exc.errors()[0])}", rule="brief") from exc


def _fault(error: ErrorDetails) -> str:
    place = ".".join(str(part) for part in error["loc"])
    match error["type"]:
        case "missing":
            return f"the field {place} is missing."
        case "unexpected_keyword_argument":
            return f"there is no field {place}; docs/section.md lists those there are."
        case "dataclass_type" | "dataclass_exact_type":
            return f"the field {place} must have fields of its own, not {cut(one_line(repr(error['input'])), 40)}."
        case _:
            return f"the field {place}: {one_line(error['msg'])}."
