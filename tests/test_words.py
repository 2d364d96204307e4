"""Words that people see in a chat or on a page name no setting, no command of the operator's and no provider."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.model.errors import GorkdError, ModelError, ProviderError, SearchFailed, StoreError
from core.model.job import JobError, JobStatus
from core.presentation import wording
from core.presentation.follow_ups import no_answer
from core.text.saying import LANGUAGES, say, speaking
from tests.fakes import make_job
from tests.shared_data import ROOT

# What only whoever runs gorkd can understand, and do something about.
FORBIDDEN = re.compile(
    r"\b(?:[A-Z]{2,}_[A-Z_]{2,}|_KEY)\b"
    r"|`?\bgorkd (?:doctor|library|worker|all|web|ask|section|settings|trace|cache|forget|link|stats)\b"
    r"|free worker|\btavily\b|\bexa\b|\bsearxng\b|\bBM25\b|model endpoint|embedding model|(?:no|the) search provider\b"
)
# Whole rooms in which every string is said to people, and those of which only what is handed to an error is.
ROOMS = ("core/presentation", "core/library", "core/deep", "core/stages", "core/modes", "core/section", "core/findings",
         "core/evidence", "core/tenancy", "core/pipeline", "adapters/chat")  # fmt: skip
LOGS = frozenset({"debug", "info", "warning", "error", "exception"})
OPERATORS = frozenset({"SetupError", "operator_message", "alias", "extra"})
OWN = {  # what only operators and admins read
    "core/evidence/authority.py": ("GORKD_SOURCE_KINDS",),
    "core/pipeline/tracing.py": ("GORKD_PRICES",),
    "core/pipeline/checkup.py": ("gorkd worker",),
    "core/pipeline/work.py": ("OPENAI_API_KEY",),
    "core/presentation/wording.py": ("gorkd settings set --tenant",),
    "core/library/funnel.py": ("PAPER_ID",),  # S000-16's own words
    "core/library/wording.py": ("gorkd library add",),  # said to the local tenant alone
    "adapters/chat/discord/bot.py": ("DISCORD_TOKEN",),
    "adapters/chat/slack/client.py": ("SLACK_BOT_TOKEN",),
    "core/tenancy/settings.py": ("GORKD_PRICES", "medicine: pubmed"),  # for admins: a price, an example of groups
}


def said_in(path: Path) -> Iterator[tuple[int, str]]:
    """Every string of a file that may reach people: no docstring, nothing of a log, nothing for operators."""
    tree = ast.parse(path.read_text("utf-8"))
    hidden: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            hidden.add(id(node.value))
        if isinstance(node, ast.keyword) and node.arg in OPERATORS:
            hidden |= {id(inner) for inner in ast.walk(node.value)}
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            is_env = name in ("get", "getLogger", "compile") or name in LOGS
            is_error = name in OPERATORS or name.endswith(("Error", "Rejected", "Garbled", "Timeout", "Unavailable"))
            if is_env or is_error:
                hidden |= {id(inner) for one in node.args for inner in ast.walk(one)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden:
            yield node.lineno, node.value


def user_messages_in(path: Path) -> Iterator[tuple[int, str]]:
    """What any adapter hands to an error for people."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)) if "user_message" in text else ():  # to parse a file takes longest
        if isinstance(node, ast.keyword) and node.arg == "user_message":
            for inner in ast.walk(node.value):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    yield inner.lineno, inner.value


def forbidden_in(found: Iterator[tuple[int, str]], path: Path) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    own = OWN.get(name, ())
    return [
        f"{name}:{line} {text[:100]!r}"
        for line, text in found
        if " " in text and FORBIDDEN.search(text) and not any(words in text for words in own)
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_no_sentence_for_people_names_what_only_operators_know(room: str) -> None:
    """A whole walk: a sentence that is added tomorrow is read as well."""
    wrong = [one for path in sorted((ROOT / room).rglob("*.py")) for one in forbidden_in(said_in(path), path)]

    assert wrong == []


def test_no_error_tells_people_what_only_operators_know() -> None:
    paths = [path for floor in ("core", "adapters") for path in sorted((ROOT / floor).rglob("*.py"))]
    wrong = [one for path in paths for one in forbidden_in(user_messages_in(path), path)]

    assert wrong == []


def test_no_page_and_no_word_list_names_them() -> None:
    """Of templates what stands between tags; pages for admins and traces are the operator's."""
    texts = [*(ROOT / "adapters/web/templates").glob("*.html"), *(ROOT / "adapters/chat").rglob("*.toml")]
    shown = {
        path.name: re.sub(r"\{[{%#].*?[}%#]\}|<[^>]*>|^#.*$", " ", path.read_text(), flags=re.S | re.M)
        for path in texts
    }
    for operators in ("admin.html", "trace.html", "sign_in.html"):
        shown.pop(operators)

    assert [name for name, text in shown.items() if FORBIDDEN.search(text)] == []
    assert shown.keys() >= {"job.html", "words.toml"}


def _tree(root: type[GorkdError]) -> Iterator[type[GorkdError]]:
    yield root
    for kind in root.__subclasses__():
        yield from _tree(kind)


@pytest.mark.parametrize("root", [ModelError, ProviderError, StoreError])
def test_what_a_vendor_says_stays_in_the_log(root: type[GorkdError]) -> None:
    """Also where nobody who raised it thought of people: the cause is for operators, the log and `gorkd doctor`."""
    cause = "llm.internal: HTTP 401: check OPENAI_API_KEY"
    for kind in _tree(root):
        error = kind.__new__(kind)
        if kind.__init__ is not GorkdError.__init__ and issubclass(kind, ProviderError):
            error = kind("tavily", cause, operator_message=cause)
        else:
            Exception.__init__(error, cause)
            error._user_message = None

        assert error.user_message == kind.told != ""
        assert not FORBIDDEN.search(error.user_message)
        assert cause in error.operator_message


def test_a_failed_search_names_places_and_not_services() -> None:
    failed = SearchFailed({"tavily": "key refused", "exa": "no answer in time", "wikipedia": "no answer in time"})

    assert "tavily" in failed.operator_message
    assert "`gorkd doctor`" in failed.operator_message
    assert not FORBIDDEN.search(failed.user_message)
    assert "the web (key refused)" in failed.user_message
    assert "Wikipedia (no answer in time)" in failed.user_message


def test_a_failed_job_tells_people_one_thing_and_operators_the_cause() -> None:
    told, cause = "The language model is not answering; the admin can see why.", "Check OPENAI_BASE_URL."
    job = replace(make_job("Why?"), status=JobStatus.FAILED, error=JobError("LLM_FAILED", told, cause=cause))

    assert wording.failure_sentence(job) == told == ModelError.told
    assert wording.failure_cause(job) == cause


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_refusal_names_places_in_its_language(language: str) -> None:
    said = no_answer(language, ["tides"], ["tavily", "exa", "wikipedia", "files"])

    assert not FORBIDDEN.search(said)
    with speaking(language):
        assert f"{say('the web')}, Wikipedia, {say('the local files')}" in said
