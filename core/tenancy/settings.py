"""The settings of one workspace or guild. Their defaults are how gorkd behaves where nobody has set anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import regex

from core.evidence.authority import PRIMARY_KINDS
from core.model.errors import GorkdError
from core.model.source import SearchFilters, SourceKind
from core.text.saying import LANGUAGES, say
from core.text.urls import ascii_host, domain_of

# `workspace` lets everyone see what was asked in an open channel, `channel` only that channel's members; `private`
# besides answers commands to the asker alone.
Visibility = Literal["workspace", "channel", "private"]
# `auto` is each platform's own way: in Discord when a channel is busy, in Slack always.
Threading = Literal["auto", "always", "never"]


# PubMed, Europe PMC, and the sites of those who give guidelines; a web search is asked for these sites alone.
MEDICINE = (
    "medicine: pubmed europepmc tavily exa searxng web_search nih.gov europepmc.org doi.org who.int nice.org.uk "
    "sign.ac.uk cdc.gov fda.gov ema.europa.eu ecdc.europa.eu cochranelibrary.com uspreventiveservicestaskforce.org"
)
AS_ASKED = "question"  # in place of a language: the question's own
EVERYWHERE = "everywhere"  # in place of a channel: all that have no lens of their own


@dataclass(frozen=True)
class TenantSettings:
    """An empty tuple or None is no restriction of the tenant's own; what the operator has set always holds.

    `channels` are platform ids; `…_per_min` questions a minute; `monthly_usd` dollars a calendar month (UTC);
    `retention_days` says after how many days questions, answers and conversations are removed. `lenses` are named
    policies as `name: word word`, `channel_lenses` which of them holds where, as `channel: name`; `corpus` are
    addresses of pages, sitemaps and feeds that are searched here alone; `timezone` is the IANA name of the one that
    schedules are in; `language` what everything is said in, by its code.
    """

    channels: tuple[str, ...] = ()
    visibility: Visibility = "workspace"
    threads: Threading = "auto"
    retention_days: int | None = None
    user_per_min: int | None = None
    workspace_per_min: int | None = None
    monthly_usd: float | None = None
    providers: tuple[str, ...] = ()
    primary_only: bool = False
    allow_domains: tuple[str, ...] = ()
    block_domains: tuple[str, ...] = ()
    lenses: tuple[str, ...] = (MEDICINE,)
    channel_lenses: tuple[str, ...] = ()
    corpus: tuple[str, ...] = ()
    timezone: str = "UTC"
    language: str = AS_ASKED
    watches_per_person: int | None = None
    watches_per_workspace: int | None = None

    @property
    def policy(self) -> SourcePolicy:
        return SourcePolicy(self.providers, self.allow_domains, self.block_domains, self.primary_only)

    @property
    def spoken(self) -> str:
        """The language everything is said in; "" where each question has its own."""
        return "" if self.language == AS_ASKED else self.language

    def policy_in(self, channel: str) -> SourcePolicy:
        """The policy as the lens of `channel` sees it; "" is no channel, where the one for everywhere holds."""
        chosen = dict(line.split(": ") for line in self.channel_lenses)
        lenses = dict(line.split(": ") for line in self.lenses)
        words = lenses.get(chosen.get(channel) or chosen.get(EVERYWHERE, ""))
        return self.policy if words is None else self.policy.through(_lens(words.split()))

    def answers_in(self, channel: str) -> bool:
        """`channel` is "" in direct messages and outside of chat, where it always answers."""
        return not channel or not self.channels or channel in self.channels


@dataclass(frozen=True)
class Ceilings:
    """What the operator lets a tenant decide. None is no ceiling; `providers` are those configured.

    `is_priced` says whether what the models cost is known, so that a budget can be counted.
    """

    providers: tuple[str, ...] = ()
    user_per_min: int | None = None
    workspace_per_min: int | None = None
    monthly_usd: float | None = None
    retention_days: int | None = None
    watches_per_person: int | None = None
    watches_per_workspace: int | None = None
    is_priced: bool = True


DEFAULTS = TenantSettings()


# Which sources a question may rest on: providers, sites, and whether only primary ones count. The default is all


@dataclass(frozen=True)
class SourcePolicy:
    """`providers` and `allow` permit everything while they are empty; `block` goes before `allow`.

    A domain stands for itself and all below it. Files and papers have no site, so only `providers` bear on them.
    """

    providers: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    primary_only: bool = False

    def permits_provider(self, name: str) -> bool:
        return not self.providers or name in self.providers

    def permits(self, url: str, kind: SourceKind) -> bool:
        """`kind` is what core/evidence/authority.py, or the provider, says of who stands behind `url`."""
        is_weighty = not (self.primary_only and domain_of(url)) or kind in PRIMARY_KINDS
        return is_weighty and self.permits_site(url)

    def permits_site(self, url: str) -> bool:
        """Whether its site may be read, whoever stands behind it."""
        host = ascii_host(domain_of(url))
        return not host or (not _is_below(host, self.block) and (not self.allow or _is_below(host, self.allow)))

    def through(self, lens: SourcePolicy) -> SourcePolicy:
        """What a lens names takes the place of what is named here; what is excluded here stays excluded."""
        return SourcePolicy(
            lens.providers or self.providers,
            lens.allow or self.allow,
            tuple(dict.fromkeys((*self.block, *lens.block))),
            self.primary_only or lens.primary_only,
        )

    def narrow(self, filters: SearchFilters) -> SearchFilters:
        """For a search engine that can be told which sites count: it finds more of them."""
        return replace(
            filters,
            include_domains=(*filters.include_domains, *self.allow),
            exclude_domains=(*filters.exclude_domains, *self.block),
        )

    @property
    def key(self) -> str:
        """Equal for policies that permit the same; "" for one that permits everything."""
        parts = [sorted(self.providers), sorted(self.allow), sorted(self.block), ["primary"] * self.primary_only]
        return "\x1e".join(",".join(part) for part in parts) if any(parts) else ""


EVERYTHING = SourcePolicy()


def _is_below(host: str, domains: Iterable[str]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


# The table of settings: what each is called, how it is written as text, and what may not be set


Group = Literal["answers", "language", "limits", "sources", "lenses"]
Value = str | int | float | bool | tuple[str, ...] | None

MAX_LISTED = 50  # entries of one list: what a form shows and a person still overlooks
MAX_CHARS = 2500  # of one list: a text input of Slack's holds 3,000
MAX_PER_MIN = 10_000
MAX_DAYS = 36_500
MAX_WATCHES = 100_000
MAX_USD = 1_000_000
_CHANNEL = regex.compile(r"[CG][A-Z0-9]{5,24}|[0-9]{15,25}")  # Slack's and Discord's ids
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN = regex.compile(rf"(?:{_LABEL}\.)+{_LABEL}|edu|gov|mil|int")  # the suffixes that only institutions register
_PROVIDER = regex.compile(r"[a-z][a-z_]{1,29}")
_KEYED = regex.compile(r"(?<![^\s,;])([^\s,;:]+):(?!//)")  # `medicine:` before the words of that lens
_LENS_NAME = regex.compile(r"\p{L}[\p{L}\p{N}_-]{0,29}")
_PRIMARY = "primary"
MAX_PLACES = 20  # sitemaps, feeds and pages of one workspace, each with up to 2,000 pages
MAX_ADDRESS = 500  # characters
_SCHEME = regex.compile(r"^(?:[a-z]+://)?(?:\*\.)?(?:www\.)?", regex.IGNORECASE)
_BETWEEN = regex.compile(r"[\s,;]+")


_NO_PROVIDER = "{names} is not a provider here; none is configured."
_NO_PROVIDER_OF = "{names} is not a provider here; choose from {offered}."
_NO_LENS, _NO_LENS_OF = "{names} is no lens; there is none.", "{names} is no lens; there are {offered}."
_NO_PRICES = "What the model costs is not known here; whoever runs gorkd can set GORKD_PRICES."
_NO_CHANNEL = "{given} is not a channel's id; it looks like C0123456789 or 1234567890123456789."
_NO_DOMAIN = "{given} is not a domain; write one a line, such as who.int or nature.com."
_NO_ADDRESS = "{given} is no address; it looks like https://example.com/sitemap.xml."
_ALONE = "{given} stands alone; write a name, a colon, and what belongs to it."
_NO_LENS_NAME = "{given} cannot be a lens; write a name of its own, a colon, and providers and sites."
_TOO_MUCH = "That is too much; at most {most} are possible."


class SettingsRefused(GorkdError):
    """What cannot be set: a sentence by key."""

    code = "INVALID_QUERY"

    def __init__(self, refusals: Mapping[str, str]) -> None:
        super().__init__(
            " ".join(sentence if key in sentence else f"{key}: {sentence}" for key, sentence in refusals.items())
        )
        self.refusals = dict(refusals)


@dataclass(frozen=True)
class Field:
    """`unset` is the word for no restriction; `choices` are all words with what each means; `example` is of a list."""

    key: str
    group: Group
    title: str
    hint: str
    read: Callable[[str], Value]
    unset: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    example: str = "example.com"


def said_word(text: str) -> str:
    """A title, a hint, a choice or the word for no restriction in the language spoken; any other text as it stands."""
    return say(_WORDS[text]) if text in _WORDS else text


def write_setting(key: str, settings: TenantSettings) -> str:
    """As text that `read_setting` takes and a person understands."""
    value: Value = getattr(settings, key)
    if value is None or value == ():
        return FIELDS[key].unset
    match value:
        case bool():
            return "yes" if value else "no"
        case tuple():
            return ", ".join(value)
        case float():
            return f"{value:.2f}"
    return str(value)


def unset_words(field: Field, ceilings: Ceilings) -> str:
    """What an empty field means, with the operator's number where there is one: `As usual: 5`."""
    most = getattr(ceilings, field.key, None)
    said = said_word(field.unset)
    said = f"{said[:1].upper()}{said[1:]}"
    return f"{said}: {most:g}" if isinstance(most, int | float) else said


def read_setting(key: str, text: str, settings: TenantSettings) -> TenantSettings:
    """`settings` with one of them set. Raises `SettingsRefused`, also for a key that is none."""
    if key not in FIELDS:
        raise SettingsRefused(
            {key: say("There is no setting {key}; there are {keys}.", key=key, keys=", ".join(FIELDS))}
        )
    field = FIELDS[key]
    text = text.strip()
    is_unset = bool(field.unset) and text.casefold() in ("", field.unset, "none", "default")
    try:
        value = getattr(TenantSettings(), key) if is_unset else field.read(text)
    except ValueError as exc:
        raise SettingsRefused({key: str(exc)}) from exc
    changes: dict[str, Any] = {key: value}  # the table pairs each key with what reads it
    return replace(settings, **changes)


def read_settings(given: Mapping[str, str], settings: TenantSettings) -> TenantSettings:
    """Several at once. Raises `SettingsRefused` with a sentence for each that cannot be read."""
    refusals: dict[str, str] = {}
    for key, text in given.items():
        try:
            settings = read_setting(key, text, settings)
        except SettingsRefused as refused:
            refusals |= refused.refusals
    if refusals:
        raise SettingsRefused(refusals)
    return settings


def refusals(settings: TenantSettings, ceilings: Ceilings) -> dict[str, str]:
    """What goes beyond what the operator allows, a sentence by key."""
    found: dict[str, str] = {}
    for key in (
        "user_per_min", "workspace_per_min", "monthly_usd", "retention_days", "watches_per_person",
        "watches_per_workspace",
    ):  # fmt: skip
        wanted, most = getattr(settings, key), getattr(ceilings, key)
        if wanted is not None and most is not None and wanted > most:
            found[key] = say("At most {most} here; whoever runs gorkd can allow more.", most=f"{most:g}")
    unknown = [name for name in settings.providers if name not in ceilings.providers]
    if unknown:
        told = _NO_PROVIDER_OF if ceilings.providers else _NO_PROVIDER
        found["providers"] = say(told, names=", ".join(unknown), offered=", ".join(ceilings.providers))
    found |= _lens_refusals(settings, ceilings)
    both = [domain for domain in settings.allow_domains if domain in settings.block_domains]
    if both:
        found["block_domains"] = say(
            "{names} cannot be both allowed and blocked; please take it out of one.", names=", ".join(both)
        )
    if settings.monthly_usd is not None and not ceilings.is_priced:
        found["monthly_usd"] = say(_NO_PRICES)
    return found


def _lens_refusals(settings: TenantSettings, ceilings: Ceilings) -> dict[str, str]:
    found: dict[str, str] = {}
    names = [line.partition(": ")[0] for line in settings.lenses]
    usual = _lens(MEDICINE.split()[1:]).providers  # some of them are not configured everywhere
    asked = [name for line in settings.lenses for name in _lens(line.split()[1:]).providers]
    unknown = [name for name in asked if name not in (*ceilings.providers, *usual)]
    if unknown:
        found["lenses"] = say("{names} is neither a provider here nor a site.", names=", ".join(unknown))
    missing = [name for line in settings.channel_lenses if (name := line.partition(": ")[2]) not in names]
    if missing:
        told = _NO_LENS_OF if names else _NO_LENS
        found["channel_lenses"] = say(told, names=", ".join(missing), offered=", ".join(names))
    if settings.corpus and "files" not in ceilings.providers:
        found["corpus"] = say("Own pages need the provider files, which whoever runs gorkd has not turned on.")
    return found


def _listed(text: str, one: Callable[[str], str]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(one(part) for part in _BETWEEN.split(text) if part))
    if len(found) > MAX_LISTED or sum(map(len, found)) > MAX_CHARS:
        raise ValueError(say(_TOO_MUCH, most=MAX_LISTED))
    return found


def _channels(text: str) -> tuple[str, ...]:
    def channel(part: str) -> str:
        bare = part.strip("<#>").partition("|")[0]
        if not _CHANNEL.fullmatch(bare):
            raise ValueError(say(_NO_CHANNEL, given=part[:80]))
        return bare

    return _listed(text, channel)


def _domains(text: str) -> tuple[str, ...]:
    def domain(part: str) -> str:
        host = ascii_host(_SCHEME.sub("", part).split("/", 1)[0])
        if not _DOMAIN.fullmatch(host) or len(host) > 253:
            raise ValueError(say(_NO_DOMAIN, given=part[:80]))
        return host

    return _listed(text, domain)


def _keyed(text: str) -> list[tuple[str, list[str]]]:
    """Each word before a colon with the words behind it."""
    found: list[tuple[str, list[str]]] = []
    for part in filter(None, _BETWEEN.split(_KEYED.sub(r"\1: ", text))):
        if part.endswith(":") and part != ":":
            found.append((part[:-1], []))
        elif found:
            found[-1][1].append(part)
        else:
            raise ValueError(say(_ALONE, given=part[:80]))
    if len(found) > MAX_LISTED or len(text) > MAX_CHARS:
        raise ValueError(say(_TOO_MUCH, most=MAX_LISTED))
    return found


def _lenses(text: str) -> tuple[str, ...]:
    lenses: dict[str, str] = {}
    for name, words in _keyed(text):
        if not _LENS_NAME.fullmatch(name) or name.casefold() in lenses or not words:
            raise ValueError(say(_NO_LENS_NAME, given=name[:80]))
        lenses[name.casefold()] = f"{name.casefold()}: {' '.join(dict.fromkeys(map(_lens_word, words)))}"
    return tuple(lenses.values())


def _lens_word(word: str) -> str:
    word = word.casefold()
    if len(word) > 1 and word.startswith("-"):
        return f"-{_domains(word[1:])[0]}"
    is_name = _PROVIDER.fullmatch(word) and not _DOMAIN.fullmatch(word)
    return word if is_name else _domains(word)[0]


def _lens(words: Sequence[str]) -> SourcePolicy:
    """Providers by their names, sites by their domains, `-` before a site that never counts, and `primary`."""
    sites = [word for word in words if _DOMAIN.fullmatch(word)]
    blocked = [word[1:] for word in words if word.startswith("-")]
    named = [word for word in words if word not in sites and not word.startswith("-") and word != _PRIMARY]
    return SourcePolicy(tuple(named), tuple(sites), tuple(blocked), primary_only=_PRIMARY in words)


def _channel_lenses(text: str) -> tuple[str, ...]:
    chosen: dict[str, str] = {}
    for where, words in _keyed(text):
        if len(words) != 1:
            raise ValueError(say("{where} needs one lens; write for example C0123456789: medicine.", where=where[:80]))
        is_channel = where.casefold() != EVERYWHERE
        chosen[_channels(where)[0] if is_channel else EVERYWHERE] = words[0].casefold()
    return tuple(f"{where}: {name}" for where, name in chosen.items())


def _addresses(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(part.rstrip(",;") for part in text.split()))
    for address in found:
        if not regex.fullmatch(r"https?://[^\s@/]+(?:/\S*)?", address) or len(address) > MAX_ADDRESS:
            raise ValueError(say(_NO_ADDRESS, given=address[:80]))
    if len(found) > MAX_PLACES:
        raise ValueError(say(_TOO_MUCH, most=MAX_PLACES))
    return found


def _providers(text: str) -> tuple[str, ...]:
    return _listed(text, str.casefold)


def _whole(most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) <= 9 and 1 <= int(text) <= most):
            raise ValueError(say("Please give a whole number from 1 to {most}, or leave it empty.", most=most))
        return int(text)

    return number


def _dollars(text: str) -> float:
    bare = text.removeprefix("$").strip()
    if not regex.fullmatch(r"[0-9]{1,7}(?:\.[0-9]{1,2})?", bare) or not 0 < float(bare) <= MAX_USD:
        raise ValueError(say("Please give an amount in dollars, such as 25 or 12.50, or leave it empty."))
    return float(bare)


def _timezone(text: str) -> str:
    try:
        return ZoneInfo(text or "UTC").key
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise ValueError(say("{given} is not a time zone; it looks like Europe/Berlin.", given=text[:80])) from exc


def _one_of(words: Sequence[str]) -> Callable[[str], str]:
    def word(text: str) -> str:
        if text.casefold() not in words:
            raise ValueError(say("Please choose one of {words}.", words=", ".join(words)))
        return text.casefold()

    return word


def _yes_or_no(text: str) -> bool:
    return _one_of(("yes", "no"))(text) == "yes"


_ALL = (
    Field(
        "channels", "answers", "Channels",
        "Where I answer questions. None chosen means everywhere; direct messages are always answered.",
        _channels, unset="everywhere",
    ),
    Field(
        "visibility", "answers", "Who may see answers",
        "What everyone may see is also given again to who asks the same elsewhere.",
        _one_of(get_args(Visibility)),
        choices=(
            ("workspace", "Everyone, where the channel is open to all"),
            ("channel", "Only members of the channel it was asked in"),
            ("private", "As above, and commands answer the asker alone"),
        ),
    ),
    Field(
        "threads", "answers", "Threads",
        "Whether answers and their details go into threads.",
        _one_of(get_args(Threading)),
        choices=(
            ("auto", "As usual on this platform"),
            ("always", "Always"),
            ("never", "Never"),
        ),
    ),
    Field(
        "retention_days", "answers", "Days that answers are kept",
        "Older questions, answers, sources and conversations are removed for good. Empty keeps them.",
        _whole(MAX_DAYS), unset="until forgotten",
    ),
    Field(
        "language", "language", "Language",
        "What buttons, headings and remarks are in; an answer is always in the language of its question.",
        _one_of((AS_ASKED, *LANGUAGES)),
        choices=((AS_ASKED, "As the question"), *LANGUAGES.items()),
    ),
    Field(
        "timezone", "language", "Time zone",
        "Of schedules such as every Monday at 9:00.",
        _timezone, unset="UTC",
    ),
    Field(
        "user_per_min", "limits", "Questions a minute, each person",
        "Empty is as whoever runs gorkd has set it.",
        _whole(MAX_PER_MIN), unset="as usual",
    ),
    Field(
        "workspace_per_min", "limits", "Questions a minute, all together",
        "Empty is as whoever runs gorkd has set it.",
        _whole(MAX_PER_MIN), unset="as usual",
    ),
    Field(
        "monthly_usd", "limits", "Budget a month, in dollars",
        "When it is spent, new questions wait for the next month. Empty is no limit.",
        _dollars, unset="no limit",
    ),
    Field(
        "watches_per_person", "limits", "Watches, each person",
        "How many questions and pages one person may watch. Empty is as whoever runs gorkd has set it.",
        _whole(MAX_WATCHES), unset="as usual",
    ),
    Field(
        "watches_per_workspace", "limits", "Watches, all together",
        "Empty is as whoever runs gorkd has set it.",
        _whole(MAX_WATCHES), unset="as usual",
    ),
    Field(
        "providers", "sources", "Search providers",
        "Where I may search. None chosen means all of them.",
        _providers, unset="all",
    ),
    Field(
        "primary_only", "sources", "Primary sources only",
        "Of web pages, only officials, standards bodies and peer-reviewed journals count.",
        _yes_or_no,
        choices=(("no", "All sources, the weighty ones first"), ("yes", "Primary sources only")),
    ),
    Field(
        "allow_domains", "sources", "Only these sites",
        "One domain a line; what lies below it counts too. Empty allows every site.",
        _domains, unset="every site", example="who.int\nnature.com",
    ),
    Field(
        "block_domains", "sources", "Never these sites",
        "One domain a line; what lies below it counts too.",
        _domains, unset="no site",
    ),
    Field(
        "lenses", "lenses", "Lenses",
        "One a line: a name, a colon, providers and sites; - before a site excludes it, primary is a word too.",
        _lenses, example="law: eur-lex.europa.eu gov.uk -example.com",
    ),
    Field(
        "channel_lenses", "lenses", "Lenses by channel",
        "One a line: a channel's id, a colon and a lens; everywhere: for all other channels.",
        _channel_lenses, unset="none", example="C0123456789: medicine",
    ),
    Field(
        "corpus", "lenses", "Own pages",
        "Searched here alone. One address a line: a page, a sitemap, a feed, or a list of addresses.",
        _addresses, unset="none", example="https://example.com/sitemap.xml",
    ),
)  # fmt: skip
FIELDS: Mapping[str, Field] = {field.key: field for field in _ALL}
GROUPS: Mapping[Group, str] = {
    "answers": "Where and how I answer",
    "language": "Language and time",
    "limits": "Limits and budget",
    "sources": "Sources",
    "lenses": "Lenses and own pages",
}
_WORDS: Mapping[str, str] = {
    text: text
    for field in _ALL
    for text in (field.title, field.hint, field.unset, *(meaning for _, meaning in field.choices))
    if text not in (*LANGUAGES.values(), "UTC")
}
