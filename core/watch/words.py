"""What people write to watch something, and how a change is told: words alone.

Whatever is not wholly a wish to watch is a question, so the forms are few and begin alike.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import regex

from core.presentation.render import cut, one_line
from core.presentation.wording import say_level
from core.text.numbers import WEEKDAYS
from core.text.saying import say, say_day, say_moment, say_number, say_weekdays
from core.text.urls import ascii_host, domain_of
from core.watch.desk import WatchOffer, check_zone
from core.watch.watch import DIGEST_AT, ENDINGS, NEW_ENTRY, Change, Manner, Rhythm, Watch, WatchNotice

WishKind = Literal["watch", "schedule", "source", "list", "stop", "renew", "help"]

RHYTHMS = {"hours": Rhythm(6), "day": Rhythm(24), "week": Rhythm(168)}  # what a button offers, by its word
HELP = (
    "Say `watch this daily` under an answer, `watch https://… weekly`, `every Monday 9:00: your question`, "
    "`watch list` or `stop watching`."
)
END_FIRST = "Say `stop watching 1` to end the first."
_ENDINGS = {kept: kept for kept in ENDINGS.values()}
MAX_CLAIM_CHARS, MAX_QUOTE_CHARS = 400, 300

_EVERY = (
    r"(?P<daily>daily|every day|each day)|(?P<weekly>weekly|every week|each week)"
    r"|(?P<hourly>hourly|every hour)|every (?P<number>\d{1,3}) ?(?P<unit>hours?|days?|weeks?)"
    r"|(?P<hours>every few hours)"
)
_DAYS = rf"(?:{'|'.join(WEEKDAYS)})(?:(?:,? and |, )(?:{'|'.join(WEEKDAYS)}))*"
_CLOCK = rf"(?:daily|(?:every|each) (?P<days>day|weekday|{_DAYS}))"
_AT = (
    r",?(?: at)? (?P<hour>[01]?\d|2[0-3])(?:[:.h](?P<minute>[0-5]\d))?"
    r"(?: ?(?:(?P<half>[ap])\.?m\b\.?|(?:o['’]clock|uhr|uur|h)\b))?"
)
_MANNER = r"(?:,? in (?:(?P<fresh>a new thread)|(?P<digest>(?:a|the|one)(?: daily)? digest)))?"
_WATCH = regex.compile(
    rf"(?:please )?watch(?: (?:this|it|that|the answer|the question))?(?:,? (?:{_EVERY}))?{_MANNER}[.!]?",
    regex.IGNORECASE,
)
_SOURCE = regex.compile(
    r"(?:please )?watch (?:the (?:page|source|feed) )?<?(?P<url>https?://[^\s>|]+)(?:\|[^>]*)?>?"
    rf"(?:,? (?:{_EVERY}))?{_MANNER}[.!]?",
    regex.IGNORECASE,
)
_SCHEDULE = regex.compile(
    rf"(?:(?:{_CLOCK}{_AT})|(?:{_EVERY}))(?: in (?P<channel><#[^>]+>|#\S+?))?(?P<fresh>,? in a new thread)?"
    r"\s*:\s*(?P<question>\S.*)",
    regex.IGNORECASE | regex.DOTALL,
)
_LIST = regex.compile(r"(?:watch list|list (?:my )?watches|my watches|watches)[.!]?", regex.IGNORECASE)
_STOP = regex.compile(
    r"(?:stop watching|unwatch|watch stop)(?: (?:this|it|that))?(?: #?(?P<place>\d{1,3}))?[.!]?", regex.IGNORECASE
)
_RENEW = regex.compile(r"(?:keep watching|watch on)(?: (?:this|it))?[.!]?", regex.IGNORECASE)

# What these forms are in other languages, with what the buttons say there: what a wish begins with, and its parts.
_BEGINNINGS = {
    "stop watching": r"nicht mehr beobachten|hör auf zu beobachten|ne plus suivre|arrête de suivre|dejar? de seguir"
    r"|smetti di seguire|deixar? de acompanhar|niet meer volgen|stop met volgen",
    "keep watching": r"weiter beobachten|continuer à suivre|continuar el seguimiento|continua a seguire"
    r"|continuar a acompanhar|blijven volgen",
    "watch list": r"meine beobachtungen|mes suivis|mis seguimientos|cosa seguo|os meus acompanhamentos|wat volg ik",
    "watch this": r"beobachte (?:bitte )?(?:das|dies)|(?:suis|suivez) (?:ça|ceci|cela)|(?:sigue|siga) (?:esto|eso)"
    r"|(?:segui|segua) (?:questo|ciò)|acompanh[ae] (?:isto|isso)|volg (?:dit|dat)",
    "watch": r"beobachten|suivre|seguir|segui|acompanhar|volgen"
    r"|(?:beobachte|suis|suivez|sigue|siga|segua|acompanh[ae]|volg)(?= https?:)",
}
_PARTS = {  # days stand here too: Babel's own tables of six languages take 8 MB
    "monday": "montags?|lundis?|lunes|lunedì|segundas?(?:-feiras?)?|maandag",
    "tuesday": "dienstag|mardis?|martes|martedì|terças?(?:-feiras?)?|dinsdag",
    "wednesday": "mittwoch|mercredis?|miércoles|mercoledì|quartas?(?:-feiras?)?|woensdag",
    "thursday": "donnerstag|jeudis?|jueves|giovedì|quintas?(?:-feiras?)?|donderdag",
    "friday": "freitags?|vendredis?|viernes|venerdì|sextas?(?:-feiras?)?|vrijdag",
    "saturday": "samstag|samedis?|sábados?|sabato|zaterdag",
    "sunday": "sonntag|dimanches?|domingos?|domenica|zondag",
    "every weekday": r"(?:on )?(?:week|work)days|(?:every|each) (?:work(?:ing )?|business )day"
    r"|(?:jeden |an )?werktag(?:en|s)?|(?:elke|op) werkdag(?:en)?"
    r"|(?:chaque|tous les) jours? ouvr(?:é|able)s?|(?:cada|todos los) d[ií]as? (?:laborable|hábil|hábile)s?"
    r"|(?:ogni|tutti i) giorn[oi] (?:ferial|lavorativ)[eio]|(?:cada|todos os) dias? út(?:il|eis)"
    r"|(?:(?:every|from|von|du|de|dal|van) )?mondays? (?:to|through|bis|au|al?|tot(?: en met)?|t/m) fridays?",
    "in the digest": r"in einer täglichen zusammenfassung|dans un résumé quotidien|en un resumen diario"
    r"|in un riepilogo quotidiano|num resumo diário|in een dagelijks overzicht",
    "in a new thread": r"in einem neuen thread|dans un nouveau fil|en un hilo nuevo|in un nuovo thread|num novo fio"
    r"|in een nieuwe thread",
    "daily": r"jeden tag|täglich|chaque jour|tous les jours|cada d[ií]a|todos los días|ogni giorno|tutti i giorni"
    r"|todos os dias|elke dag|dagelijks",
    "weekly": r"jede woche|wöchentlich|chaque semaine|toutes les semaines|cada semana|todas (?:las|as) semanas"
    r"|ogni settimana|tutte le settimane|elke week|wekelijks",
    r"every \1 hours": r"(?:alle|toutes les|a?\s?cada|ogni|elke) (\d{1,3}) (?:stunden|heures|horas|ore|uur)",
    r"\1 and \2": r"(\p{L}+day) (?:und|et|y|e|en) (\p{L}+day)",
    r"every \1": r"(?:jeden|chaque|tous les|cada|todos l?os|ogni|toda(?:s as)?|elke) (\p{L}+day(?: and \p{L}+day)*)",
    "at": r"(?:um|à|a las?|alle(?: ore)?|às?|om)(?= \d)",
}


@dataclass(frozen=True)
class WatchWish:
    """`place` counts from 1 among one's watches, 0 for the one that is meant by where it is said."""

    kind: WishKind
    rhythm: Rhythm = RHYTHMS["day"]
    question: str = ""
    url: str = ""
    channel: str = ""
    place: int = 0
    manner: Manner = "thread"


def read_wish(text: str) -> WatchWish | None:
    """None where it is no wish to watch.

    >>> read_wish("watch this weekly").rhythm.hours
    168
    >>> read_wish("every Monday 9:00 in #news: What is new in robotics?").rhythm.at
    '09:00'
    >>> read_wish("watch out for bears?") is None
    True
    """
    said = " ".join(text.split())
    return _read(said) or _read(_in_english(said))


def _in_english(said: str) -> str:
    """A wish in another of our languages in English words, up to the question behind a colon; all else as it was."""
    head, colon, question = said.partition(": ")
    for means, words in _means():
        head = words.sub(means, head)
    return f"{head}{colon}{question}"


@cache
def _means() -> list[tuple[str, regex.Pattern[str]]]:
    """What words in other languages mean, days among them, in the order in which they are read."""
    said = [(means, f"^(?:{words})") for means, words in _BEGINNINGS.items()]
    said += [(means, f"(?<!\\p{{L}})(?:{words})") for means, words in _PARTS.items()]
    return [(means, regex.compile(rf"{words}(?![\p{{L}}\p{{N}}-])", regex.IGNORECASE)) for means, words in said]


def _read(said: str) -> WatchWish | None:
    if found := _WATCH.fullmatch(said):
        return WatchWish("watch", _rhythm(found), manner=_manner(found))
    if found := _SOURCE.fullmatch(said):
        return WatchWish("source", _rhythm(found), url=found["url"], manner=_manner(found))
    if found := _SCHEDULE.fullmatch(said):
        rhythm = _by_the_clock(found) if found["hour"] else _rhythm(found)
        return WatchWish(
            "schedule", rhythm, question=found["question"].strip(), manner="fresh" if found["fresh"] else "thread",
            channel=(found["channel"] or "").strip("<#>").partition("|")[0],  # its id as chats write it, or its name
        )  # fmt: skip
    if _LIST.fullmatch(said):
        return WatchWish("list")
    if found := _STOP.fullmatch(said):
        return WatchWish("stop", place=int(found["place"] or 0))
    return WatchWish("renew") if _RENEW.fullmatch(said) else None


def command_wish(text: str) -> WatchWish:
    """The same behind a command that says "watch" itself; nothing more is the last answer, what is no wish the help."""
    said = text.strip()
    wish = read_wish(f"watch {said}".strip()) or read_wish(said) or read_wish(f"watch this {said}")
    return wish or WatchWish("help")


def read_rhythm(text: str) -> Rhythm | None:
    """`day`, `week`, `hours`, `12 hours`, `Monday 9:00`, `weekday 08:30`; None for anything else."""
    said = " ".join(text.split()).casefold().removeprefix("every ").removeprefix("each ")
    if said in RHYTHMS:
        return RHYTHMS[said]
    for words in (said, f"every {said}"):
        if found := regex.fullmatch(_EVERY, words, regex.IGNORECASE):
            return _rhythm(found)
        if found := regex.fullmatch(f"{_CLOCK}{_AT}", words, regex.IGNORECASE):
            return _by_the_clock(found)
    return None


def rhythm_words(rhythm: Rhythm) -> str:
    """`every day`, `every 6 hours`, `every Monday at 09:00 (Europe/Berlin)`."""
    if rhythm.at:
        at = {(): "every day at {time} ({zone})", (0, 1, 2, 3, 4): "every weekday at {time} ({zone})"}
        days = say_weekdays(rhythm.weekdays)
        said = at.get(rhythm.weekdays, "every {days} at {time} ({zone})")
        return say(said, days=days, time=rhythm.at, zone=rhythm.zone)
    named = {1: "every hour", 24: "every day", 168: "every week"}
    return say(named.get(rhythm.hours, "every {hours} hours"), hours=rhythm.hours)


def in_zone(rhythm: Rhythm, zone: str) -> Rhythm:
    """With the zone of its time of day. Raises `InvalidQuery` for an unknown one, also where there is no such time."""
    check_zone(zone)
    return replace(rhythm, zone=zone) if rhythm.at else rhythm


def offer_lines(offer: WatchOffer) -> list[str]:
    """What watching means, and what it costs, before it begins."""
    cost = _dollars(offer.run_usd)
    month = _dollars(offer.month_usd(RHYTHMS["day"]))
    lines = [
        say(OFFER),
        say(OFFER_COST, cost=cost, month=month) if cost else say("What the model costs is not known here."),
        say("Until {day}; I ask before it ends.", day=say_day(offer.ends_at)),
    ]
    if offer.known:
        lines.append(say("You watch it already, {often}.", often=rhythm_words(offer.known.rhythm)))
    return lines


def begun_line(watch: Watch, run_usd: float | None = None) -> str:
    cost, until = _dollars(run_usd) if run_usd else "", say_day(watch.ends_at)
    filled = {"often": rhythm_words(watch.rhythm), "first": say_moment(watch.next_at), "until": until, "cost": cost}
    if watch.kind == "schedule":
        return say(ASKED_AT_COST if cost else ASKED, **filled)
    if watch.kind == "source":
        return f"{say(PAGE_WATCHED, **filled)} {say(_TELLS[watch.manner])}"
    return f"{say(WATCHED_AT_COST if cost else WATCHED, **filled)} {say(_TELLS[watch.manner])}"


def next_line(watch: Watch) -> str:
    """When it is looked at next, of one that has not ended."""
    return say(NEXT_LOOK, when=say_moment(watch.next_at)) if watch.stage == "waiting" else say(LOOKING)


def why_ended(watch: Watch) -> str:
    return say(_ENDINGS.get(watch.ended_because, "")) or watch.ended_because


def spent_line(spent_usd: float) -> str:
    """What its runs have cost; "" for nothing, or for what nobody knows."""
    return say(SPENT, cost=_dollars(spent_usd)) if spent_usd else ""


def list_lines(watches: Sequence[Watch], aside: Collection[str] = ()) -> list[str]:
    """Those with ids in `aside` are counted, and not named."""
    if not watches:
        return [say("You watch nothing."), say(HELP)]
    lines = [
        f"{place}. {cut(one_line(watch.subject), 120)} – "
        + say("{often}, until {day}", often=rhythm_words(watch.rhythm), day=say_day(watch.ends_at))
        for place, watch in enumerate(watches, start=1)
        if watch.id not in aside
    ]
    elsewhere = "What you watch elsewhere ({number}) is listed by the command, for you alone."
    lines += [say(elsewhere, number=len(aside))] if aside else []
    return [*lines, say(END_FIRST)]


OFFER = "Watch this question? I look at its pages again and tell you here only when the answer means something else."
OFFER_COST = (
    "About {cost} a run in which something may have changed (at most {month} a month when looked at daily); "
    "next to nothing otherwise."
)
ASKED = "I ask this {often}, first on {first}, until {until}."
ASKED_AT_COST = "I ask this {often}, first on {first}; about {cost} a run, until {until}."
SEE_OR_STOP = "Say `watch list` to see or stop it."
WATCHED = "Watching this question {often}, first on {first}, until {until}."
WATCHED_AT_COST = "Watching this question {often}, first on {first}; about {cost} a run, until {until}."
PAGE_WATCHED = "Watching that page {often}, first on {first}, until {until}."
_TELLS: dict[Manner, str] = {
    "thread": "I tell you only when it says something else.",
    "fresh": "I tell you only when it says something else, each time in a new thread.",
    "digest": f"I tell you only when it says something else, at {DIGEST_AT}, together with what else is watched here.",
}
NEXT_LOOK = "Next look on {when}."
LOOKING = "Being looked at now."
SPENT = "Its runs have cost {cost} so far."
STOPPED = "Stopped: it is watched no more."
RENEWED = "Watched on, for another 90 days."
TIGHTENED = "Understood: I tell less from now on."
NOTHING_WATCHED = "That is not watched."

_TONES = {
    "changed": "The answer changed",
    "still": "Still watched, and nothing has changed",
    "renew": "Watched for nearly 90 days",
    "ended": "Watched no more",
    "digest": "What is watched here",
}
NEWS = "Something is new there"
DIGEST = "What is watched here: {news} changed"
DIGEST_STILL = "What is watched here: nothing has changed"
DIGEST_HELP = "`watch list` shows what is watched, and ends it."
_SENTENCES = {
    "still": "I have looked at it for a month and nothing means anything else. I go on looking.",
    "renew": "It ends in a week. Shall I go on?",
    "ended": "I have stopped looking at it. Ask again to watch it anew.",
}
_LABELS = {
    "value": ("Was", "Now"), "new": ("", "New"), "gone": ("No longer said", ""), "verdict": ("Was", "Now"),
    "confidence": ("Confidence was", "Now"), "conflict": ("Some say", "Others say"), "retraction": ("Rests on", "Now"),
}  # fmt: skip


@dataclass(frozen=True)
class ToldChange:
    """Lines of a label and text, and the passages behind them with their addresses, "" for one told in a line."""

    lines: tuple[tuple[str, str], ...]
    quotes: tuple[tuple[str, str], ...]


def heading(notice: WatchNotice) -> str:
    if notice.tone == "digest":
        news = sum(part.tone == "changed" for part in notice.parts)
        return say(DIGEST, news=news) if news else say(DIGEST_STILL)
    return f"{tone_words(notice)}: {cut(one_line(notice.subject), 150)}"


def tone_words(notice: WatchNotice) -> str:
    """The heading where its subject stands above it already."""
    is_page = notice.subject.startswith(("http://", "https://"))
    return say(NEWS) if is_page and notice.tone == "changed" else say(_TONES[notice.tone])


def sentence(notice: WatchNotice) -> str:
    """What is said besides the changes, "" for nothing."""
    return notice.sentence or say(_SENTENCES.get(notice.tone, ""))


def notice_buttons(notice: WatchNotice) -> tuple[str, ...]:
    """By name, what can be done with it."""
    if notice.tone == "digest":
        return ()
    if notice.tone == "changed":
        return "show_answer", "not_worth_telling", "stop_watching"
    return {"still": ("stop_watching",), "renew": ("keep_watching", "stop_watching")}.get(notice.tone, ("watch",))


def digest_parts(notice: WatchNotice) -> list[WatchNotice]:
    """Of a digest what it tells one after the other, changes first; nothing of what is told by itself."""
    return sorted(notice.parts, key=lambda part: part.tone != "changed")


def told_change(change: Change) -> ToldChange:
    before, now = change.before, change.now
    if change.kind == "confidence":
        before, now = say_level(before), say_level(now)
    was, named = say(_LABELS[change.kind][0]), say(_LABELS[change.kind][1])
    lines = [(was, before)] if was and before else []
    lines += [(named, now)] if named and now else []
    place = ascii_host(domain_of(change.now_url or change.before_url))
    why = say(NEW_ENTRY) if change.because == NEW_ENTRY else change.because
    if not why and place and change.kind != "retraction":
        why = say("{place} says so now" if change.now_quote else "{place} says it no more", place=place)
    lines += [(say("Because"), why)] if why else []
    quotes = [(change.before_quote, change.before_url), (change.now_quote, change.now_url)]
    said = tuple((label, cut(one_line(text), MAX_CLAIM_CHARS)) for label, text in lines)
    known = {one_line(text) for _, text in lines}
    shown = {("" if one_line(quote) in known else cut(one_line(quote), MAX_QUOTE_CHARS), url): None
             for quote, url in quotes if quote}  # fmt: skip
    return ToldChange(said, tuple(shown))


def plain_lines(notice: WatchNotice) -> list[str]:
    """A notice as a terminal or a notification says it."""
    lines = [heading(notice), *([sentence(notice)] if sentence(notice) else [])]
    for change in notice.changes:
        lines += [f"{label}: {text}" for label, text in told_change(change).lines]
    for part in digest_parts(notice):
        lines += plain_lines(part)
    return lines


def _rhythm(found: regex.Match[str]) -> Rhythm:
    if found["weekly"]:
        return RHYTHMS["week"]
    if found["hourly"]:
        return Rhythm(1)
    if found["hours"]:
        return RHYTHMS["hours"]
    if found["number"]:
        hours = {"h": 1, "d": 24, "w": 168}[found["unit"][0].casefold()]
        return Rhythm(int(found["number"]) * hours)
    return RHYTHMS["day"]


def _manner(found: regex.Match[str]) -> Manner:
    return "fresh" if found["fresh"] else "digest" if found["digest"] else "thread"


def _by_the_clock(found: regex.Match[str]) -> Rhythm:
    said = (found["days"] or "day").casefold()
    days = {"day": (), "weekday": (0, 1, 2, 3, 4)}.get(said)
    if days is None:
        days = tuple(place for place, day in enumerate(WEEKDAYS) if day in said)
    hour = int(found["hour"])
    hour = hour % 12 + 12 * (found["half"] in "pP") if found["half"] else hour
    return Rhythm(at=f"{hour:02d}:{found['minute'] or '00'}", weekdays=days)


def _dollars(usd: float | None) -> str:
    if usd is None or not usd:
        return "" if usd is None else "$0"
    return f"${say_number(usd, 2)}" if usd >= 0.01 else say("less than ${cost}", cost=say_number(0.01, 2))
