"""Discord's renderer: any answer whatsoever becomes a message that Discord takes, and that pings and hides nothing."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from urllib.parse import urlsplit

import discord
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.chat.discord.markup import plain, rich
from adapters.chat.discord.payload import DiscordMessage, view_of
from adapters.chat.discord.render import DiscordVoice, sources_text
from adapters.chat.fitting import units
from adapters.chat.watching import WatchSaid
from core.deep.state import Coverage
from core.deep.viewing import CardItem, ChecklistCard
from core.model.answer import Citation, Confidence, RemovedSentence, Verdict
from core.model.job import Scope
from core.presentation import wording
from core.presentation.page_links import PageLinks
from core.presentation.snapshot import Snapshot
from core.watch.words import list_lines
from tests.golden import samples
from tests.golden.compare import assert_golden
from tests.golden.strategies import outcomes, texts
from tests.loopback.discord_limits import message_problems
from tests.shared_data import shared_data

VOICE = DiscordVoice(samples.LINKS)
JOB = samples.COMPLETED.id
PAGE = f"https://gorkd.test/jobs/{JOB}"
PASSAGE = PAGE + "/sources/{}?claim=summary-0#passage"
PRIVATE = replace(
    samples.COMPLETED,
    request=replace(samples.COMPLETED.request, scope=Scope("discord:1", "user:7"), is_private=True, asker="7"),
)

# What Discord would make a ping, a channel, command, emoji, timestamp or invite of (its message formatting reference).
ACTIVE = re.compile(
    r"@(?:everyone|here)|(?<!\\)<(?:@[!&]?|#|/[^:<>]+:|a?:\w+:|t:|id:)[\w-]+[^\\]?>|discord(?:app)?\.(?:gg|com/invite)",
    re.I,
)
MASKED = re.compile(r"(?<!\\)\]\((?P<address>[^)]*)\)")
LINK = re.compile(r"(?<!\\)\[(?P<label>\[\d{1,3}\]|[^\[\]]*)\]\((?P<address>[^)]*)\)")
BARE = re.compile(r"https?://\S+")
# What begins a line and would be a heading, a subtext, a quote or a fence, unless we wrote it.
FORMATTED_LINE = re.compile(r"(?m)^(?:#{1,3} |>>> |```|\|\|)")


def text_of(message: DiscordMessage) -> str:
    return message.embed.description or ""


def sent(message: DiscordMessage, *, embedded: bool = True) -> dict[str, object]:
    """What goes to Discord, with and without the right to embed."""
    view = view_of(message)
    body = {"embeds": [message.embed.to_dict()]} if embedded else {"content": message.text}
    return {**body, "components": view.to_components() if view else [], "allowed_mentions": {"parse": []}}


def assert_accepted(message: DiscordMessage) -> None:
    """Within every limit, counted as Discord's clients count, in both forms; nothing blank, no half character."""
    shown = message.embed.to_dict()
    description = shown.get("description", "")
    for text in (shown.get("title", ""), description, shown.get("footer", {}).get("text", ""), message.text):
        assert not re.search("[\ud800-\udfff]", text)
    assert message_problems(sent(message)) == message_problems(sent(message, embedded=False)) == []
    assert 0 < units(description.strip()) <= units(description) <= 4096
    assert 0 < units(message.text.strip()) <= units(message.text) <= 2000
    for embed in message.details:
        assert message_problems({"embeds": [embed.to_dict()], "allowed_mentions": {}}) == []
        assert 0 < units((embed.description or "").strip()) <= 4096
        assert_harmless(embed.description or "")
    assert units(message.thread_name) <= 100
    assert bool(message.thread_name.strip()) or not message.details
    assert_harmless(description)
    assert_harmless(message.text)


def outside_code(text: str) -> str:
    """What Discord's client formats: an escaped sign begins no code, and in code nothing acts."""
    assert text.count("```") % 2 == 0
    return re.sub(
        r"(\\.)|`[^`\n]+`",
        lambda found: {None: "code", r"\\": "/"}.get(found[1], found[1]),
        re.sub(r"(?s)```.*?```", "code", text),
    )


def assert_harmless(text: str) -> None:
    """No ping, no formatting that is not ours, and links only to our pages and to hosts named by their label."""
    text = outside_code(text)
    assert not ACTIVE.search(text)
    assert not FORMATTED_LINE.search(text)
    for link in LINK.finditer(text):
        host = (urlsplit(link["address"]).hostname or "").removeprefix("www.")
        if link["label"] == "View Full Analysis" or link["label"].startswith("["):  # the page, and numbers there
            assert host == "gorkd.test"
        else:
            assert link["label"].replace("\\", "") == host
    assert len(MASKED.findall(text)) == len(LINK.findall(text))
    assert not BARE.search(MASKED.sub("", text))
    assert not re.search(r"(?<!\\)\[[\d, ]*$", text)  # a citation that was cut


def test_each_number_leads_to_what_its_own_claim_cites():
    """Two claims on one source; the second's number stands behind bold words, in a list, and before its full stop."""
    lands, tall = (
        replace(samples.ANSWER.claims[0], id=f"summary-{place}", text=text)
        for place, text in enumerate(["It stands on the Eddystone rocks.", "It is 49 metres tall."])
    )
    answer = replace(
        samples.ANSWER,
        summary="It stands on the Eddystone rocks. [1]\n\n- It is **49 metres** tall [1].",
        claims=(lands, tall),
    )

    text = text_of(VOICE.outcome(samples.COMPLETED, replace(samples.RESULT, answer=answer), samples.SOURCES))

    assert f"rocks. [[1]]({PASSAGE.format(1)})✓" in text
    assert f"tall [[1]]({PASSAGE.format(1).replace('summary-0', 'summary-1')})✓." in text


def test_embed_reads_as_the_documents_show_it():
    """S003-20: title, question, answer, confidence, numbered sources `N. Domain - Title`, the link."""
    message = VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES)

    assert message.embed.title == "📊 Research Complete"
    text = text_of(message)
    parts = [
        f"**Question**: {samples.QUESTION}",
        "**Answer**: The Eddystone lighthouse is 49 metres tall "
        f"[[1]]({PASSAGE.format(1)})✓[[2]]({PASSAGE.format(2)})◐.",
        "**Confidence**: Medium (3 corroborating sources) · 3 independent sources. "
        "Sources disagree on height of the tower: 49 metres [[1]]",
        "**Sources**:\n1. [trinity.example](https://trinity.example/eddystone) - Eddystone Lighthouse\n2. ",
        f"[View Full Analysis]({PAGE})",
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
    assert message.embed.footer.text == "12.3 s · 4 sources · $0.004"


@pytest.mark.parametrize(
    ("level", "colour"),
    [
        (Confidence.HIGH, "#2ecc71"),
        (Confidence.MEDIUM, "#f1c40f"),
        (Confidence.LOW, "#e67e22"),
        (Confidence.INSUFFICIENT, "#e74c3c"),
    ],
)
def test_colour_tells_the_confidence(level: Confidence, colour: str):
    """G-02."""
    result = replace(samples.RESULT, answer=replace(samples.ANSWER, confidence=level))

    assert str(VOICE.outcome(samples.COMPLETED, result, samples.SOURCES).embed.colour) == colour


@pytest.mark.parametrize(("is_embedded", "least", "most"), [(True, 3500, 4096), (False, 1500, 2000)])
def test_long_answer_ends_at_a_sentence_with_the_link(is_embedded: bool, least: int, most: int):
    """G-02: truncated with a link to the whole, in the embed and in the text that takes its place."""
    answer = replace(samples.ANSWER, summary="The tower is tall [1]. " * 400, claims=())

    message = VOICE.outcome(samples.COMPLETED, replace(samples.RESULT, answer=answer), samples.SOURCES)

    text = text_of(message) if is_embedded else message.text
    assert f"The tower is tall [1]. … [View Full Analysis]({PAGE})\n\n**Confidence**" in text
    assert least < units(text) <= most


def test_endings_are_told_apart():
    """D11, D14: failed is not insufficient; a failed job shows what it had found and offers Retry."""
    failed = VOICE.outcome(samples.FAILED, None, samples.SOURCES)
    insufficient = VOICE.outcome(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT, [])
    cancelled = VOICE.outcome(samples.CANCELLED, None, [])

    assert failed.embed.title == "⚠️ Research Failed"
    assert "The language model did not answer; please retry." in text_of(failed)
    assert "1. trinity.example - Eddystone Lighthouse" in text_of(failed)
    assert labels(failed)[:2] == ["Retry", "Show Sources"]
    assert insufficient.embed.title == "🔎 Not Enough Sources"
    assert "wikipedia: connection refused" in text_of(insufficient)
    assert "**Searched**: “eddystone” in the local files" in text_of(insufficient)
    assert "Try naming the subject in full" in text_of(insufficient)
    assert "Retry" not in labels(insufficient)
    assert cancelled.embed.title == "⚠️ Research Cancelled"
    assert labels(cancelled)[0] == "Ask Again"


def test_buttons_are_the_same_words_everywhere_and_carry_the_job():
    """G-02: `show_sources:{job_id}` within 100 characters; Share only where there is something to share."""
    message = VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES)
    private = VOICE.outcome(PRIVATE, samples.RESULT, samples.SOURCES)

    assert rows(message) == [
        ["View Full Analysis", "Show Sources", "Improve", "👍", "👎"],
        ["Ask Again", "Watch", "Export"],
    ]
    assert rows(private) == [
        ["View Full Analysis", "Show Sources", "Share", "👍", "👎"],
        ["Ask Again", "Improve", "Watch", "Export"],
    ]
    assert items(message)[0]["url"] == PAGE
    assert items(message)[1]["custom_id"] == f"show_sources:{JOB}"
    assert "?sig=" in items(private)[0]["url"]
    assert view_of(VOICE.refusal("no")) is None


def test_progress_tells_stage_queries_sources_place_in_the_queue_and_time():
    """The message that lives."""
    snapshot = Snapshot(
        message="Reading the sources", queries=("tide cause", "moon gravity"), sources=("a.test – A", "b.test – B")
    )

    message = VOICE.progress(samples.PENDING, snapshot, 12.34)
    waiting = VOICE.progress(samples.PENDING, Snapshot(message=wording.queue_message(3), position=3), 1.0)

    assert message.embed.title == "🔍 Researching"
    for part in (samples.QUESTION, "Reading the sources", "tide cause · moon gravity", "· b.test – B"):
        assert part in text_of(message)
    assert message.embed.footer.text == "12.3 s · 2 sources"
    assert labels(message) == ["Cancel"]
    assert "3 questions are ahead of yours" in text_of(waiting)


def test_sentences_are_shown_as_they_are_checked():
    """With their marks, in the embed's own words; what is searched for has had its time then."""
    snapshot = Snapshot(
        message="Writing", queries=("eddystone height",), sources=("trinity.example – Eddystone",),
        sentences={"summary-0": "It is **49 metres** tall [1].", "detail-0": "It is of granite."},
        marks={"summary-0": "✓"},
    )  # fmt: skip

    message = VOICE.progress(samples.RUNNING, snapshot, 4.2)

    assert text_of(message) == (
        f"**Question**: {samples.QUESTION}\n\n**Answer**: It is **49 metres** tall [1]✓.\n\n-# Writing …"
    )
    assert labels(message) == ["Cancel"]


def test_a_list_is_a_list_while_it_is_checked():
    said = {"summary-1": "1. Boil it [1].", "summary-2": "2. Pour it [1]."}
    snapshot = Snapshot(message="Writing", sentences=said, leads={"summary-1": "Do so:\n\n", "summary-2": "\n"})

    message = VOICE.progress(samples.RUNNING, snapshot, 4.2)

    assert "**Answer**: Do so:\n\n1. Boil it [1].\n2. Pour it [1].\n\n-# Writing …" in text_of(message)


@pytest.mark.parametrize(
    ("cited", "detailed", "listed"),
    [
        pytest.param([1, 4], [], ["1.", "4.", "2. (also read)"], id="what is cited, filled up to three"),
        pytest.param([1], [5], ["1.", "5. (cited in the details)", "2. (also read)"], id="what the details cite"),
        pytest.param([9, 8, 7, 6, 5, 4, 3], [], ["3.", "4.", "5.", "6.", "7.", "8.", "and 1 more"], id="at most six"),
    ],
)
def test_the_sources_below_are_those_that_the_shown_sentences_cite(
    cited: list[int], detailed: list[int], listed: list[str]
):
    """D26: by number, whatever its place; Discord's own numbering of lists changes none of them."""
    sources = [samples.source(n, url=f"https://a{n}.test", title="T", domain=f"a{n}.test") for n in range(1, 10)]
    markers = "".join(f"[{number}]" for number in cited)
    answer = replace(samples.ANSWER, summary=f"So it is {markers}.", claims=(), conflicts=(), citations=tuple(
        Citation("So it is", f"src_{number}", None, Verdict.PARTIAL) for number in [*cited, *detailed]
    ))  # fmt: skip

    text = text_of(VOICE.outcome(samples.COMPLETED, replace(samples.RESULT, answer=answer), sources))

    lines = text.partition("**Sources**:\n")[2].partition("\n\n")[0].replace("-# ", "").splitlines()
    bare = [re.sub(r"^(\d)\\?\. .* - T", r"\1.", line) for line in lines]
    assert bare == listed
    assert ("\n4\\. " in text) is (4 in cited and 3 not in cited)


def test_what_is_to_be_typed_to_watch_stands_as_code():
    """Discord shows escaped signs of code as they are."""
    shown = VOICE.watching(WatchSaid(tuple(list_lines([]))))

    assert "`watch this daily`" in shown.text
    assert "\\`" not in shown.text


def test_no_relevance_is_told_of_a_source_that_shares_no_word_with_the_question():
    """As of one in another language: that is no measure of it, and "0 %" beside what is cited would be false."""
    foreign = replace(samples.SOURCES[0], scores=replace(samples.SOURCES[0].scores, relevance=0.004))

    shown = sources_text([foreign, *samples.SOURCES[1:]], samples.ANSWER)

    first, *others = shown.splitlines()
    assert "relevance" not in first
    assert all("relevance" in line for line in others)


def test_a_comparison_shows_its_table():
    """What was asked for, in columns; the rest of the detail is on the page."""
    table = "| Tower | Height |\n|---|---|\n| Eddystone | 49 m [1] |"
    answer = replace(samples.ANSWER, detail=f"Some words.\n\n{table}\n\nMore words.")

    text = text_of(VOICE.outcome(samples.COMPLETED, replace(samples.RESULT, answer=answer), samples.SOURCES))

    assert "```\nTower      Height\n─────────  ────────\nEddystone  49 m [1]" in text
    assert "words" not in text


def test_a_shared_answer_names_who_shared_it_and_offers_nothing_that_is_the_askers():
    message = VOICE.shared(PRIVATE, samples.RESULT, samples.SOURCES, by="ada")

    assert message.embed.author.name == "Shared by ada"
    assert labels(message) == ["View Full Analysis", "Show Sources"]
    assert items(message)[1]["custom_id"] == f"shared_sources:{JOB}"


def test_the_thread_takes_the_detail_and_all_sources():
    message = VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES)

    detail, listed = message.details
    assert message.thread_name == "The Eddystone lighthouse is 49 metres tall."
    assert "A helipad was added in 1980 [[3]](https://gorkd.test/jobs/" in (detail.description or "")
    assert "4. [shop.example](https://shop.example/mugs) - Lighthouse mugs · relevance 50 % · not cited" in (
        listed.description or ""
    )


@settings(max_examples=60)
@given(outcomes())
def test_any_outcome_is_accepted_and_harmless(outcome):
    """Whatever the answer, Discord accepts the message in both forms, and it pings nobody and hides no link."""
    job, result, sources = outcome
    message = VOICE.outcome(job, result, sources)

    assert_accepted(message)
    if result is not None and result.answer is not None:
        assert_accepted(VOICE.shared(job, result, sources, by=job.query))


@settings(max_examples=20)
@given(outcomes())
def test_an_address_of_any_length_leaves_room_for_the_answer(outcome):
    """Where the pages live is the operator's choice, not the renderer's."""
    job, result, sources = outcome
    links = PageLinks("https://gorkd.test/" + "long/" * 70, samples.LINKS.keys, samples.LINKS.clock)

    assert_accepted(DiscordVoice(links).outcome(job, result, sources))


@given(texts)
def test_any_refusal_and_progress_is_accepted(text: str):
    job = replace(samples.PENDING, request=replace(samples.PENDING.request, query=text, quoted=text))
    item = CardItem("1", text, Coverage.PARTIAL)
    snapshot = Snapshot(
        message=text, sources=(text,) * 9, queries=(text,) * 5, earlier=text, sentences={"summary-0": text * 9}
    )
    planned = replace(snapshot, card=ChecklistCard(text, (item,) * 12, 2, 10, 14, text))
    progress = [VOICE.progress(job, one, 3.0) for one in (snapshot, planned)]

    for message in (VOICE.refusal(text), *progress):
        assert_accepted(message)


@settings(max_examples=60)
@given(outcomes())
def test_any_list_of_sources_fits_a_message(outcome):
    _, result, sources = outcome

    text = sources_text(sources, result.answer if result else None)

    assert 0 < units(text) <= 2000
    assert_harmless(text)


FORMS = [
    "{}", "**{}**", "*{}*", "`{}`", "> {}", "## {}", "- {}", "1. {}", "[1]{}", "**[1]** {}", "```\n{}\n```",
    "| head | {0} |\n|---|---|\n| {0} | [1] |", "`code` **bold {}", "*[1]*({})", "\\\\`{}`", "``{}`",
]  # fmt: skip
FRAGMENTS = [
    *"*`_~|>#-+\\[]()<@! \n1a", "**", "***", "```", "``", "> ", ">>> ", "# ", "- ", "1. ", "[1]",
    "[1, 2]", "[x](https://e.test)", "(https://e.test)", "https://e.test", "<https://e.test>", "@everyone",
    "<@1>", "<#1>", "<:a:1>", "<t:1>", "discord.gg/x",
    "\n| a | b |\n|---|---|\n| c | d |", "||", "~~", "__", "```py\n", "\n```\n",
]  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join), st.integers(40, 400))
def test_only_markdown_that_is_let_through_acts(text: str, limit: int):
    """Outside code every sign that acts is escaped or ours, and every address is one that we gave."""
    shown = rich(text, limit, cite=lambda number, words: f"https://gorkd.test/{number}")

    assert units(shown) <= limit
    assert_harmless(shown)
    bare = LINK.sub("", re.sub(r"(?m)^-# |^ {0,8}- |^> ", "", re.sub(r"\\.", "", outside_code(shown))))
    assert not set(bare.replace("[1]", "").replace("[1, 2]", "")) & set("`_~|<>#[]\\")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("It **is [1]✓** so.", "It **is [[1]](https://p.test/1)✓** so.", id="bold"),
        pytest.param("- a\n- *b* [1, 2]", "- a\n- *b* [[1]](https://p.test/1)[[2]](https://p.test/2)", id="list"),
        pytest.param("## What `*args` **is**", "**What `*args` is**", id="heading with code"),
        pytest.param("## Why\n> They said `x_y`.", "**Why**\n> They said `x_y`.", id="quote"),
        pytest.param("[1](https://e.test)", "\\[1\\](https:\u200b//e.test)", id="masked link"),
        pytest.param("snake_case and 3*4*5", "snake\\_case and 3\\*4\\*5", id="no emphasis"),
        pytest.param(
            "| Roof | Cools |\n|---|:-:|\n| **Sedum** | 1 °C [1]✓ |\n| Grass<br>mix | 2 °C |\n| `a**b|c` | *hot* |",
            "```\nRoof       Cools\n─────────  ─────────\nSedum      1 °C [1]✓\nGrass mix  2 °C\na**b|c     hot\n```",
            id="table",
        ),
    ],
)
def test_an_answers_own_markdown_is_passed_through(text: str, shown: str):
    assert rich(text, 500, cite=lambda number, words: f"https://p.test/{number}") == shown


@given(st.lists(st.lists(st.text("ab 語", max_size=60), min_size=2, max_size=4), min_size=1, max_size=6))
def test_a_table_is_no_wider_than_an_embed(rows: list[list[str]]):
    """Where its columns can be that narrow; no word of it is lost."""
    lines = ["|".join(["", *row, ""]) for row in rows]

    shown = rich("\n".join([lines[0], "|---|---|", *lines[1:]]), 10_000)

    said = sorted(char for row in rows for cell in row for char in cell if not char.isspace())
    assert sorted("".join(shown.strip("`").replace("─", "").split())) == said
    assert all(len(line) <= 56 for line in shown.splitlines())


@pytest.mark.parametrize("of_each", [1, pytest.param(len(FORMS), marks=pytest.mark.slow)])
def test_known_mention_and_link_tricks_stay_text(of_each: int):
    """The collected samples in question, answer, title and limitation, each in the next forms."""
    forms = itertools.cycle(FORMS)
    lines = shared_data("hostile_sample", "mention_link_cases.jsonl").read_text("utf-8").splitlines()
    payloads = [json.loads(line)["payload"] for line in lines]

    for payload in [form.format(payload) for payload in payloads for form in itertools.islice(forms, of_each)]:
        request = replace(samples.COMPLETED.request, query=payload, quoted=payload)
        answer = replace(
            samples.ANSWER, summary=payload, limitations=(payload,), removed=(RemovedSentence(payload, ""),)
        )
        sources = [samples.source(1, url=payload, title=payload, domain="a.test")]
        result = replace(samples.RESULT, answer=answer, understood=payload, queries=(payload,))
        assert_accepted(VOICE.outcome(replace(samples.COMPLETED, request=request), result, sources))
    assert len(payloads) > 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a*b_c", "a\\*b\\_c"),
        ("@everyone", "@\u200beveryone"),
        ("<@1>", "\\<@\u200b1\\>"),
        ("[x](https://e.test)", "\\[x\\](https:\u200b//e.test)"),
        ("# title", "\\# title"),
        ("||boo||", "\\|\\|boo\\|\\|"),
        ("-# small", "-\\# small"),
    ],
)
def test_plain_text_is_shown_literally(text: str, shown: str):
    assert plain(text, 100) == shown


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("discord_complete.json", VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES)),
        ("discord_german.json", VOICE.outcome(samples.GERMAN, samples.RESULT, samples.SOURCES)),
        ("discord_french.json", VOICE.outcome(samples.FRENCH, samples.RESULT, samples.SOURCES)),
        ("discord_insufficient.json", VOICE.outcome(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT, [])),
        ("discord_failed.json", VOICE.outcome(samples.FAILED, None, samples.SOURCES)),
        (
            "discord_progress.json",
            VOICE.progress(
                samples.RUNNING,
                Snapshot(message="Reading", queries=("eddystone height",), sources=("trinity.example – Eddystone",)),
                4.2,
            ),
        ),
    ],
    ids=["complete", "german", "french", "insufficient", "failed", "progress"],
)
def test_golden_embeds(name: str, message: DiscordMessage):
    shown = {"embed": message.embed.to_dict(), "text": message.text, "buttons": labels(message)}

    assert_golden(name, json.dumps(shown, ensure_ascii=False, indent=2, sort_keys=True) + "\n")


def items(message: DiscordMessage) -> list[dict[str, object]]:
    view = view_of(message)
    return [item for row in view.to_components() for item in row["components"]] if view else []


def labels(message: DiscordMessage) -> list[object]:
    return [label for row in rows(message) for label in row]


def rows(message: DiscordMessage) -> list[list[object]]:
    """The labels of each row of buttons, and of a menu its choices."""
    view = view_of(message)
    shown = view.to_components() if view else []
    return [[one["label"] for item in row["components"] for one in item.get("options", [item])] for row in shown]


def test_the_view_is_a_view():
    """No components v2: an embed may not stand beside them."""
    view = view_of(VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES))

    assert isinstance(view, discord.ui.View)
    assert view.timeout is None
