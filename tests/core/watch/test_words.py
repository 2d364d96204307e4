"""What people write to watch, when a watch is next due, and how a change is told."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from core.model.job import LOCAL, ResearchRequest
from core.presentation import wording
from core.text.saying import LANGUAGES, say, say_weekdays, speaking
from core.watch.watch import Change, Rhythm, Watch, WatchNotice, backed_off, ended, next_run
from core.watch.words import (
    END_FIRST,
    HELP,
    RHYTHMS,
    SEE_OR_STOP,
    begun_line,
    command_wish,
    in_zone,
    plain_lines,
    read_rhythm,
    read_wish,
    rhythm_words,
    why_ended,
)

BEGAN = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "kind", "rhythm"),
    [
        ("watch this daily", "watch", "every day"),
        ("Watch it every 6 hours.", "watch", "every 6 hours"),
        ("watch", "watch", "every day"),
        ("watch https://news.example/feed weekly", "source", "every week"),
        ("every Monday 9:00 in #news: What is new in robotics?", "schedule", "every Monday at 09:00 (UTC)"),
        ("every weekday at 08:30: What is new?", "schedule", "every weekday at 08:30 (UTC)"),
        ("every week: What is new?", "schedule", "every week"),
        ("watch list", "list", "every day"),
        ("stop watching 2", "stop", "every day"),
        ("keep watching", "renew", "every day"),
    ],
)
def test_a_wish_is_read(text: str, kind: str, rhythm: str):
    wish = read_wish(text)

    assert (wish.kind, rhythm_words(wish.rhythm)) == (kind, rhythm)


@pytest.mark.parametrize(
    ("said", "rhythm"),
    [
        ("every Monday at 9", "every Monday at 09:00 (UTC)"),
        ("every Monday, 9am", "every Monday at 09:00 (UTC)"),
        ("each day at 12:30 a.m.", "every day at 00:30 (UTC)"),
        ("daily at 5 pm", "every day at 17:00 (UTC)"),
        ("every weekday at 8 o'clock", "every weekday at 08:00 (UTC)"),
        ("jeden Montag um 9 Uhr", "every Monday at 09:00 (UTC)"),
        ("jeden Tag um 9.30 Uhr in #news", "every day at 09:30 (UTC)"),
        ("tous les jours à 8h", "every day at 08:00 (UTC)"),
        ("tous les lundis à 8h30 ", "every Monday at 08:30 (UTC)"),
        ("todos los lunes a las 9", "every Monday at 09:00 (UTC)"),
        ("ogni lunedì alle ore 9", "every Monday at 09:00 (UTC)"),
        ("todas as segundas às 9h", "every Monday at 09:00 (UTC)"),
        ("elke maandag om 9 uur", "every Monday at 09:00 (UTC)"),
        ("weekdays at 9", "every weekday at 09:00 (UTC)"),
        ("every working day at 9", "every weekday at 09:00 (UTC)"),
        ("Monday to Friday at 9", "every weekday at 09:00 (UTC)"),
        ("every Monday to Friday at 9", "every weekday at 09:00 (UTC)"),
        ("jeden Werktag um 9 Uhr", "every weekday at 09:00 (UTC)"),
        ("werktags 9:00", "every weekday at 09:00 (UTC)"),
        ("von Montag bis Freitag um 9 Uhr", "every weekday at 09:00 (UTC)"),
        ("chaque jour ouvré à 9h", "every weekday at 09:00 (UTC)"),
        ("tous les jours ouvrables à 9h", "every weekday at 09:00 (UTC)"),
        ("du lundi au vendredi à 9h", "every weekday at 09:00 (UTC)"),
        ("cada día laborable a las 9", "every weekday at 09:00 (UTC)"),
        ("todos los días hábiles a las 9", "every weekday at 09:00 (UTC)"),
        ("de lunes a viernes a las 9", "every weekday at 09:00 (UTC)"),
        ("ogni giorno feriale alle 9", "every weekday at 09:00 (UTC)"),
        ("tutti i giorni lavorativi alle 9", "every weekday at 09:00 (UTC)"),
        ("tutti i giorni alle 9", "every day at 09:00 (UTC)"),
        ("todos os dias úteis às 9h", "every weekday at 09:00 (UTC)"),
        ("de segunda a sexta às 9h", "every weekday at 09:00 (UTC)"),
        ("elke werkdag om 9 uur", "every weekday at 09:00 (UTC)"),
        ("op werkdagen om 9 uur", "every weekday at 09:00 (UTC)"),
    ],
)
def test_a_time_is_read_as_people_say_it(said: str, rhythm: str):
    """What is not read would be researched as a question (N-21)."""
    wish = read_wish(f"{said}: What is new?")

    assert (wish.kind, rhythm_words(wish.rhythm), wish.question) == ("schedule", rhythm, "What is new?")


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_help_says_and_buttons_are_wishes_in_every_language(language: str):
    """Each with its rhythm and manner; also what is told to end one."""
    with speaking(language):
        told = re.findall("`(.+?)`", f"{say(HELP)} {say(END_FIRST)}")
        both, each = say_weekdays((0, 3)), [say_weekdays((day,)) for day in range(7)]
        label = {name: say(wording.BUTTONS[name]) for name in wording.BUTTONS}
        every = say("every {days} at {time} ({zone})", days="", time="", zone="").split()[0]
        workdays = say("every weekday at {time} ({zone})", time="09:00", zone="").removesuffix(" ()")
    read = [read_wish(words.replace("…", "news.example")) for words in told]

    assert [wish.kind for wish in read] == ["watch", "source", "schedule", "list", "stop", "stop"]
    assert [wish.rhythm for wish in read[:2]] == [Rhythm(24), Rhythm(168)]
    assert (read[2].rhythm.at, read[2].rhythm.weekdays, read[5].place) == ("09:00", (0,), 1)
    assert read_wish(f"{every} {both} 17:00: Montag?") == read_wish("every Monday and Thursday 17:00: Montag?")
    assert [read_wish(f"{every} {day} 9:00: Montag?").rhythm.weekdays for day in each] == [(day,) for day in range(7)]
    assert read_wish(f"{workdays}: Montag?") == read_wish("every weekday at 09:00: Montag?")
    assert {name: read_wish(label[name]).kind for name in ("watch", "stop_watching", "keep_watching")} == {
        "watch": "watch", "stop_watching": "stop", "keep_watching": "renew",
    }  # fmt: skip
    for often in ("watch_hours", "watch_day", "watch_week"):
        wish = read_wish(f"{label['watch']} {label[often].lower()}")
        assert wish.rhythm == RHYTHMS[often.removeprefix("watch_")]
    assert read_wish(f"{label['watch']} {label['watch_digest'].lower()}").manner == "digest"


@pytest.mark.parametrize(
    "text",
    [
        "Was beobachtet das Webb-Teleskop täglich?",
        "suivre une formation",
        "sigue lloviendo",
        "jeden Montag laufe ich",
        "jeden Werktag laufe ich",
        "volgen honden hun baas?",
        "Which watch did Neil Armstrong wear?",
        "watch out for bears",
        "every Monday I run",
        "every day at 25: what is that?",
        "jeden Tag um 9 Uhr laufe ich",
        "stop watching films",
        "watch a film",
        "list",
    ],
)
def test_what_is_no_wish_is_a_question(text: str):
    assert read_wish(text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "watch"),
        ("weekly", "watch"),
        ("list", "list"),
        ("stop 1", "stop"),
        ("https://a.example", "source"),
        ("every Friday 17:00: What happened?", "schedule"),
        ("every banana: What happened?", "help"),
    ],
)
def test_behind_a_command_the_word_watch_may_be_missing(text: str, kind: str):
    wish = command_wish(text)

    assert wish.kind == kind


def test_watches_are_spread_over_the_hour_in_which_they_began():
    """The hour of the day stays; the minute is the watch's own, and always the same."""
    times = {next_run(Rhythm(24), began=BEGAN, after=BEGAN, key=f"watch_{n}") for n in range(60)}
    again = {next_run(Rhythm(24), began=BEGAN, after=BEGAN + 3 * DAY, key=f"watch_{n}") for n in range(60)}

    assert len({moment.minute for moment in times}) > 30
    assert {moment.hour for moment in times} == {8}
    assert {moment.time() for moment in again} == {moment.time() for moment in times}
    assert {moment.date() for moment in times} == {(BEGAN + DAY).date()}
    assert all(BEGAN + 3 * DAY < moment <= BEGAN + 4 * DAY for moment in again)


@pytest.mark.parametrize("hours", [1, 6, 12, 24, 168])
def test_the_first_look_is_a_whole_interval_away_but_for_what_spreads_it(hours: int):
    """Said at 12:42, it may look a little before the hour is full; never at once."""
    said_at, interval, spread = BEGAN.replace(hour=12, minute=42), timedelta(hours=hours), timedelta(hours=1)

    waits = [next_run(Rhythm(hours), began=said_at, after=said_at, key=f"watch_{n}") - said_at for n in range(60)]

    assert interval - spread < min(waits) < interval < max(waits) < interval + spread


def test_nine_in_the_morning_stays_nine_when_the_clocks_change():
    """Berlin: on 29 March 2026 the hour moves."""
    rhythm = in_zone(Rhythm(at="09:00"), "Europe/Berlin")
    before = next_run(rhythm, began=BEGAN, after=datetime(2026, 3, 28, tzinfo=UTC), key="x")
    after = next_run(rhythm, began=BEGAN, after=datetime(2026, 3, 29, tzinfo=UTC), key="x")

    assert (before.hour, after.hour) == (8, 7)


def test_failures_double_the_time_up_to_a_week():
    waits = [
        backed_off(Rhythm(24), began=BEGAN, after=BEGAN + DAY, key="x", failures=failures) - BEGAN - DAY
        for failures in range(1, 9)
    ]

    assert waits == sorted(waits)
    assert waits[0] <= DAY
    assert 7 * DAY <= waits[-1] <= 8 * DAY


def test_nonsense_is_no_rhythm():
    assert read_rhythm("now and then") is None
    assert read_rhythm("Monday 25:00") is None
    assert read_rhythm("12 hours") == Rhythm(12)
    assert read_rhythm("daily at 9") == read_rhythm("day 09:00") == Rhythm(at="09:00")


def test_a_change_says_what_it_was_what_it_is_and_why():
    change = Change("value", "It is 3 m.", "It is 4 m.", now_quote="It is 4 m.", now_url="https://a.example/x")
    notice = WatchNotice("watch_1", 1, "job_1", "changed", BEGAN, "How long is it?", (change,))

    assert plain_lines(notice) == [
        "The answer changed: How long is it?",
        "Was: It is 3 m.",
        "Now: It is 4 m.",
        "Because: a.example says so now",
    ]


def test_a_change_and_a_rhythm_are_told_in_the_language_spoken():
    """N-28: German names the days, the month and how sure it is."""
    change = Change("confidence", "medium", "low")
    notice = WatchNotice("watch_1", 1, "job_1", "changed", BEGAN, "Wie lang ist es?", (change,))
    watch = Watch(
        "watch_1", "schedule", ResearchRequest("Wie lang ist es?", LOCAL), Rhythm(at="09:00", weekdays=(0, 4)), BEGAN,
        ends_at=BEGAN + 30 * DAY, next_at=BEGAN + DAY, said_at=BEGAN,
    )  # fmt: skip

    with speaking("de"):
        assert plain_lines(notice) == [
            "Die Antwort hat sich geändert: Wie lang ist es?",
            "Verlässlichkeit bisher: mittel",
            "Jetzt: gering",
        ]
        assert begun_line(watch, 0.05) == (
            "Ich frage das jeden Montag und Freitag um 09:00 (UTC), zuerst am 3. März 2026, 08:00 UTC; etwa $0,05 je "
            "Durchlauf, bis zum 1. April 2026."
        )
        assert say(SEE_OR_STOP) == "`watch list` zeigt und beendet es."
        assert why_ended(ended(watch, "it was stopped")) == "es wurde beendet"
    assert "first on 3 March 2026, 08:00 UTC" in begun_line(watch)  # a day of one digit as everywhere else
