"""Every error gorkd raises on purpose.

    GorkdError
    ├── InvalidQuery            the asker can mend it (exit 2, HTTP 400)
    │   └── NoSuchPaper         an id that names no paper, or several versions of one (core/library/desk.py)
    ├── SetupError              the operator can mend it (exit 4)
    │   └── NobodyThere         a platform that no connection reaches (core/pipeline/checkup.py)
    ├── ProviderError           one search provider
    │   ├── ProviderTimeout     retryable
    │   ├── ProviderUnavailable retryable: connection refused, 5xx
    │   ├── ProviderRateLimited retryable, after `retry_after_s`
    │   ├── ProviderRejected    key refused, request refused
    │   └── ProviderGarbled     an answer that cannot be read
    ├── SearchFailed            every provider failed
    ├── NothingIndexed          the operator can mend it: papers without an index (core/modes/library.py)
    ├── EmptyLibrary            the asker can add papers first (core/modes/section.py)
    ├── NoProviderAllowed       an admin can mend it: the settings leave nothing to search with
    ├── FetchError              one page
    │   ├── AddressBlocked      private, link-local or otherwise not to be dialled
    │   ├── SiteExcluded        an admin can mend it: the tenant's settings permit no such source
    │   ├── RobotsDisallowed
    │   ├── PageTooLarge
    │   ├── PageTimeout         retryable
    │   ├── PageStatus          an HTTP status that is not success
    │   └── PageUnreadable      no text could be extracted
    ├── ModelError              the language or embedding model
    │   ├── ModelTimeout        retryable
    │   ├── ModelUnavailable    retryable: connection refused, 5xx
    │   │   └── ModelRateLimited retryable, after `retry_after_s`
    │   ├── ModelRejected       key, model name or request refused
    │   │   └── PromptTooLong   it does not fit into the model's window
    │   ├── ToolsUnsupported    the model takes no tools: ask for structured output instead
    │   ├── ModelGarbled        retryable: an answer that cannot be parsed
    │   ├── ControlFailed       the operator can mend it: a judge that confirms what is false (core/evidence/judge.py)
    │   └── WebSearchUnavailable the model cannot search the web by itself
    ├── JobNotFound             the asker can mend it (exit 2, HTTP 404)
    ├── TookTooLong             retryable: a mode that had to be ended
    ├── QueueFull               retryable: too many questions are waiting
    ├── QuotaExceeded           retryable, after `retry_after_s`: asked too often (core/tenancy/admission.py)
    ├── AttachmentUnreadable    the asker can send another file (core/model/job.py)
    ├── PaperUnreadable         the asker can add another file (core/library/ingest.py)
    ├── BudgetSpent             a month's money is spent (core/tenancy/admission.py)
    ├── NotAnsweredHere         an admin can mend it: a channel that is not to be answered (core/tenancy/admission.py)
    ├── SettingsRefused         a setting that cannot be (core/tenancy/settings.py)
    ├── SettingsChanged         somebody else has saved meanwhile (core/tenancy/settings_desk.py)
    ├── WatchNotFound           no such watch, or another's (core/watch/watch.py)
    ├── WatchRefused            it cannot be watched (core/watch/watch.py)
    ├── Doubt                   the operator should look at it, though it works (core/pipeline/checkup.py)
    ├── TooMany                 too many requests from one address (adapters/web/faults.py)
    ├── Forbidden               the asker must sign in (adapters/web/faults.py)
    ├── KeyReused               an Idempotency-Key of another question (adapters/web/faults.py)
    ├── NotInstalled            a team without the app (adapters/chat/slack/client.py)
    │   └── TokenRefused        the operator can mend it: Slack takes the token no more (adapters/chat/slack/client.py)
    └── StoreError              the database
        ├── RowUnreadable       nobody can, but by hand: a row that is damaged, or of another version
        ├── Unstorable          the asker can mend it: a value that no database takes
        └── StaleAttempt        a newer attempt owns the job

`str(error)` is for the log. `user_message` is the one sentence a person reads, who knows no setting and no command of
ours; `operator_message` is the one for whoever runs gorkd, and says what to look at. `retryable` tells the worker
whether the same call may succeed later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.text.saying import later, say, say_again


class GorkdError(Exception):
    """Root of the tree. `code` is the API's error code (G-01); `told` is what people hear where no raiser says more.

    `retry_after_s` is when the same may succeed, where that is known.
    """

    code = "INTERNAL_ERROR"
    retryable = False
    told = ""
    retry_after_s: float | None = None
    _operator_message: str | None = None  # journals of before have none

    def __init__(
        self,
        message: str,
        *,
        user_message: str | None = None,
        operator_message: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self._user_message = user_message
        self._operator_message = operator_message
        self.retry_after_s = retry_after_s

    @property
    def user_message(self) -> str:
        """One sentence for the person who asked: what happened and what to do next."""
        return self._user_message or say(self.told) or str(self)

    @property
    def operator_message(self) -> str:
        """One sentence for whoever runs gorkd: what happened, and which setting to look at."""
        return self._operator_message or self._user_message or (f"{self.told} ({self})" if self.told else str(self))


class InvalidQuery(GorkdError):
    """The question cannot be researched as it stands. `rule` names the intake rule that refused it."""

    code = "INVALID_QUERY"

    def __init__(self, message: str, *, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


class SetupError(GorkdError):
    """Configuration or the machine is wrong, e.g. a data folder that cannot be written."""

    told = "Something is not set up right here; the admin can see what."

    @property
    def operator_message(self) -> str:
        return self._operator_message or self._user_message or str(self)

    @classmethod
    def of(cls, variable: str, problem: Mapping[str, Any], *, is_secret: bool = False) -> SetupError:
        """What a variable must be, from the first of a pydantic `ValidationError.errors()`."""
        must = _MUST_BE.get(problem["type"], "another").format_map(problem.get("ctx") or {})
        given = "" if is_secret else f", not {problem['input']!r}"
        return cls(f"{variable} must be {must}{given}. docs/configuration.md says what it takes.")


_MUST_BE = {  # by pydantic's name of the problem
    "int_parsing": "a whole number",
    "float_parsing": "a number",
    "finite_number": "a number",
    "bool_parsing": "1 or 0",
    "greater_than_equal": "{ge:g} or more",
    "less_than_equal": "{le:g} or less",
    "literal_error": "{expected}",
    "ip_v4_network": "addresses or networks such as 10.0.0.0/8, separated by commas",
    "string_pattern_mismatch": "TENANT=TOKEN, several separated by commas",
    "value_error": "an address with http:// or https://",
}


class ProviderError(GorkdError):
    """A search provider did not deliver. `provider` is its name in `GORKD_PROVIDERS`.

    `reason` is for logs and traces, `plain` the same in a few words for those who asked.
    """

    code = "SEARCH_FAILED"
    told = "A search gave no answer; please try again."

    def __init__(
        self,
        provider: str,
        message: str,
        *,
        operator_message: str | None = None,
        plain: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(f"{provider}: {message}", operator_message=operator_message, retry_after_s=retry_after_s)
        self.provider = provider
        self.reason = message
        self.plain = plain or message


class ProviderTimeout(ProviderError):
    retryable = True


class ProviderUnavailable(ProviderError):
    retryable = True


class ProviderRateLimited(ProviderError):
    retryable = True


class ProviderRejected(ProviderError):
    pass


class ProviderGarbled(ProviderError):
    pass


class SearchFailed(GorkdError):
    """Every provider failed. `failures` maps the provider's name to its reason, in plain words."""

    code = "SEARCH_FAILED"
    retryable = True

    def __init__(self, failures: dict[str, str]) -> None:
        named = ", ".join(f"{name} ({reason})" for name, reason in failures.items())
        shown = ", ".join(f"{say_place(name)} ({say_again(reason)})" for name, reason in failures.items())
        super().__init__(
            f"no provider answered: {named}",
            user_message=say(
                "No search gave an answer: {places}. Please retry in a minute; if it stays so, the admin can see why.",
                places=shown,
            ),
            operator_message=f"No search gave an answer: {named}. Please retry in a minute; if it stays so, "
            "`gorkd doctor` says which setting to look at.",
        )
        self.failures = failures


_PLACES = {
    "arxiv": "arXiv", "pubmed": "PubMed", "europepmc": "Europe PMC", "openalex": "OpenAlex", "crossref": "Crossref",
    "unpaywall": "Unpaywall", "wikipedia": "Wikipedia", "files": "the local files",
    "library": "the library", "tavily": "the web", "exa": "the web", "searxng": "the web",
}  # fmt: skip


# The others are names in every language.
_UNNAMED = {place: place for place in ("the web", "the local files", "the library")}


def place_name(provider: str) -> str:
    """Where a provider searches, as people say it: which service does it is the operator's business."""
    return _PLACES.get(provider, provider)


def say_place(provider: str) -> str:
    """The same in the language spoken; of a place too."""
    place = place_name(provider)
    return say(_UNNAMED[place]) if place in _UNNAMED else place


def places_of(providers: Sequence[str]) -> tuple[str, ...]:
    """Each once."""
    return tuple(dict.fromkeys(map(place_name, providers)))


class NoProviderAllowed(GorkdError):
    """The tenant's settings leave nothing to search with."""

    code = "SEARCH_FAILED"


class FetchError(GorkdError):
    """One page could not be read. `reason` is a few words for limitations and traces."""

    reason = "could not be read"

    def __init__(self, url: str, message: str) -> None:
        super().__init__(f"{url}: {message}")
        self.url = url


def say_reason(error: FetchError) -> str:
    """In the language spoken; a status is a number in each."""
    return say_again(error.reason)


class AddressBlocked(FetchError):
    reason = "address not allowed"


class SiteExcluded(FetchError):
    reason = "the settings here exclude its site"


class RobotsDisallowed(FetchError):
    reason = "disallowed by robots.txt"


class PageTooLarge(FetchError):
    reason = "too large"


class PageTimeout(FetchError):
    reason = "did not answer in time"
    retryable = True


class PageStatus(FetchError):
    """The server answered with a status that is not success; `status` is that number."""

    def __init__(self, url: str, status: int) -> None:
        super().__init__(url, f"HTTP {status}")
        self.status = status
        self.reason = f"HTTP {status}"


class PageUnreadable(FetchError):
    reason = "no readable text"


class ModelError(GorkdError):
    """The language or embedding model did not deliver."""

    code = "LLM_FAILED"
    told = "The language model is not answering; the admin can see why."


class ModelTimeout(ModelError):
    retryable = True
    told = "The language model did not answer in time; please try again."


class ModelUnavailable(ModelError):
    """`retry_after_s` is known of a model that is still being loaded, for one."""

    retryable = True


class ModelRateLimited(ModelUnavailable):
    told = "The language model is asked too much just now; please try again in a minute."


class ModelRejected(ModelError):
    pass


DECLINED = later("The model declined to answer this question; please rephrase it.")


class PromptTooLong(ModelRejected):
    """What was sent does not fit into the model's window, which has `window` tokens, 0 where nobody says.

    `sent` is how many tokens the endpoint counted, 0 likewise.
    """

    told = "This is too long for the language model here; please ask about less at once."

    def __init__(self, message: str, *, window: int = 0, sent: int = 0, operator_message: str | None = None) -> None:
        super().__init__(message, operator_message=operator_message)
        self.window, self.sent = window, sent


class ToolsUnsupported(ModelError):
    """The model, or its endpoint, takes no tools; whoever asked falls back to structured output."""


class ModelGarbled(ModelError):
    retryable = True
    told = "The language model's answer could not be read; please try again."


class ControlFailed(ModelError):
    """The model that judges citations confirmed a control sentence that its passage denies."""


class WebSearchUnavailable(ModelError):
    """The endpoint's model cannot search the web by itself; research goes on with our own search."""


class JobNotFound(GorkdError):
    code = "JOB_NOT_FOUND"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"no job {job_id}", user_message=say("There is no such job, or it is not yours to see."))


class TookTooLong(GorkdError):
    """A mode that did not end by itself, so it was ended: the machine has more to do than it can."""

    retryable = True

    def __init__(self, names: str) -> None:
        said = say("This took longer than it may; please try again.")
        super().__init__(f"{names} did not end in time", user_message=said)


class QueueFull(GorkdError):
    code = "RATE_LIMITED"
    retryable = True

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"{limit} jobs are waiting",
            user_message=say("Too many questions are waiting right now; please try again in a minute."),
        )


class StoreError(GorkdError):
    """The database could not be read or written. What exactly happened is for the log alone, unless the caller says."""

    code = "UNAVAILABLE"
    told = "What is kept here cannot be read or written now; please try again soon."
    is_told = False  # whether the log has it from the store already: an outage is one line there


class RowUnreadable(StoreError):
    """Whenever it is tried: damaged, or of another version."""


class Unstorable(StoreError):
    """Whenever it is tried, as with half a surrogate pair."""

    told = "This cannot be kept as it is written; please write it in other words."


class StaleAttempt(StoreError):
    """A newer attempt owns the job, so an older one may no longer write."""
