"""Sentences: nothing is lost, stops are told from dots, and what asserts nothing is known."""

from __future__ import annotations

import html
import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.sentences import (
    MAX_KEPT_CHARS,
    code_spans,
    is_chatter,
    kept_by_length,
    may_end,
    split_sentences,
    tells_absence,
)
from tests.shared_data import shared_data


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in split_sentences(text)]


ONE_SENTENCE = {
    "title": "Dr. Smith met Prof. Jones and Mrs. Hall.",
    "latin": "Several tools, e.g. Redis, i.e. a cache, cf. Table 2, were used.",
    "et-al": "This was shown by Smith et al. (2020) in mice.",
    "et-al-marker": "This was shown by Smith et al. [12] in mice.",
    "figure": "See Fig. 3 and Figs. S1 and S2 and Eq. (4).",
    "number": "It was No. 5 on the list.",
    "country": "The U.S. Government and the U.K. Parliament agreed.",
    "initials": "J. R. R. Tolkien and C. S. Lewis taught there.",
    "decimal": "Python 3.11 is 1.25 times faster than 3.10.",
    "version": "It needs v2.0 or ver. 3 of the tool.",
    "url": "See https://example.org/a.b?c=d.e!f for more.",
    "lower-after-stop": '"Why?" he asked.',
    "yahoo": "Yahoo! is a company.",
    "ellipsis": "It went on ... and on … for years.",
    "time": "It began at 5 p.m. on Jan. 5 with tea.",
    "inline-code": "Call `a. B` before `c! D` runs.",
    "bracketed": "He said [it was done. Really] to them.",
    "german": "Am 3. Oktober kam z. B. Dr. Meier, d.h. der Chef.",
    "german-millions": "Das kostete 5 Mio. Euro und 3 Mrd. Dollar.",
    "german-spaced": "Das gilt u. a. Berlin, d. h. Hamburg nicht.",
    "german-ordinal": "Nach dem 2. Weltkrieg und im 19. Jh. wuchs sie.",
    "german-era": "Rom wurde 300 v. Chr. groß.",
    "german-figure": "Das zeigt Abb. 3 deutlich.",
    "german-duration": "Die Fahrt dauert 2 Std. Fahrzeit.",
    "spanish-country": "El Tribunal Supremo de EE. UU. restauró sus patentes.",
    "italian-titles": "Il dott. Rossi e il sig. Bianchi vennero.",
    "dutch-titles": "De hr. Jansen en mevr. De Vries kwamen.",
    "circa": "It fell c. 1500 and was rebuilt.",
    "circa-era": "It dates from c. AD 14 and cost (c. US$2m, c. £5) much.",
    "initial": "It is known by John C. Messenger's translation.",
    "marker-before-lower": "According to Fig. [1]. in the text it fell.",
    "japanese-quote": "「行く。」と言った。",
    "wrapped": "This line is long enough to look like one that was wrapped by\nGuido van Rossum and others.",
    "wrapped-short": "It prints what was answered, what was found, and has a\nPage of its own.",
    "wrapped-uneven": (
        "The harbour lies behind two long walls of stone\n"
        "Built by the Romans, who came with ships from Ostia and Puteoli,\n"
        "Misenum and Ravenna to trade oil and wine here."
    ),
    "formula": "Hydrogen burns with O\n2 to H\n2O in the flame.",
    "formula-last": "The metal was cut by burning acetylene and compressed O\n2.",
    "definition": "Plastome\n: the DNA of a chloroplast, often called ctDNA.",
    "bold-definition": "**Plastome**\n: the DNA of a chloroplast, often called ctDNA.",
    "set-apart": "$$\nE = \\frac{1}{2} m v^2\n$$",
    "set-apart-brackets": "\\[\nF = 2\n= 3\n\\]",
    "bold-label": "**Origin.** The bacterium came in as food.",
    "bold-question": "1. **How it was done**. They lowered the temperature.",
    "wrapped-title": "This line is long enough to look like one that was wrapped by Dr.\nSmith and others.",
}

TWO_SENTENCES = {
    "plain": ("It works.", "It is fast."),
    "quote": ('He said "Stop."', "Then he left."),
    "bracket": ("It works (mostly.)", "Then it fails."),
    "ellipsis": ("It went on...", "Then it stopped."),
    "etc": ("It has tea, milk, etc.", "Nothing else is there."),
    "formula": ("The metal was cut by compressed O\n2.", "This became common."),
    "plan-b": ("This is plan B.", "The first failed."),
    "year": ("It was in 2020.", "3 people came."),
    "identifier": ("It was found.", "mRNA carries it."),
    "exclamation": ("Stop!", "Go on."),
    "cited-before-lower": ("NaN is close to nothing [1].", "numpy has it [1]."),
    "german-millions": ("Der Umsatz stieg auf 5 Mio.", "Der Gewinn fiel."),
    "german-others": ("Es gibt Hunde, Katzen u. a.", "Die Liste ist lang."),
    "german-century": ("Es begann im 19. Jh.", "Die Stadt wuchs."),
    "spanish-country": ("Vive en EE. UU.", "En 1943 murió."),
    "chinese": ("今天下雨。", "我们走吧！"),
    "chinese-question": ("好吗？", "好。"),
    "arabic": ("هل هذا صحيح؟", "نعم."),
    "urdu": ("یہ ایک جملہ ہے۔", "یہ دوسرا ہے۔"),
    "hindi": ("यह पहला है।", "यह दूसरा है।"),
    "hebrew": ("זה משפט ראשון.", "זה משפט שני."),
    "spanish": ("Es cierto.", "¿Por qué no?"),
    "russian": ("Это первое.", "А это второе."),
    "bold": ("**It works.**", "*It is fast.*"),
    "sources": (
        "[1] Harbour Gazette, https://www.harbour-gazette.org",
        "[2] Almanac North, https://almanac-north.com/entry",
    ),
    "bold-claim": ("**The tea is safe.**", "Nobody fell ill."),
    "bold-cited": ("**Origin.** [5]", "The bacterium came in as food."),
}


@pytest.mark.parametrize("text", ONE_SENTENCE.values(), ids=ONE_SENTENCE.keys())
def test_a_dot_that_ends_nothing_does_not_split(text: str) -> None:
    """Abbreviations, numbers, names, addresses and code keep their sentence whole."""
    assert texts(text) == [text]


@pytest.mark.parametrize("pair", TWO_SENTENCES.values(), ids=TWO_SENTENCES.keys())
def test_a_stop_splits_in_every_script(pair: tuple[str, str]) -> None:
    assert texts(("\n" if pair[0][0] == "[" else " ").join(pair)) == list(pair)


def test_a_numbered_line_is_no_low_figure_of_a_formula() -> None:
    for lines in (
        ["1. Vitamin C", "2. Vitamin D"],
        ["1 Notes on the release of pure N", "2 Methods"],
        ["1. Preheat the oven to 350 F", "2. Mix the flour and the sugar"],
        ["1. Open the windows to let out the CO", "2. Call the fire brigade at once"],
    ):
        assert texts("\n".join(lines)) == lines


def test_chinese_needs_no_blank_behind_the_stop() -> None:
    assert texts("今天下雨。我们走吧！好吗？") == ["今天下雨。", "我们走吧！", "好吗？"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("A fact.[1] More follows.", "A fact.[1]"),
        ("A fact [1]. More follows.", "A fact [1]."),
        ("A fact. [1][2] More follows.", "A fact. [1][2]"),
        ("A fact. [1]✓ [2]◐ More follows.", "A fact. [1]✓ [2]◐"),
        ("A fact. [2509.10446v1, page 5] More follows.", "A fact. [2509.10446v1, page 5]"),
        ("A fact. (smith2024quantum) More follows.", "A fact. (smith2024quantum)"),
        ("A fact. (https://a.example/x_(y)) More follows.", "A fact. (https://a.example/x_(y))"),
        ("A fact.【1】More follows.", "A fact.【1】More follows."),
        ("A fact. [1] shows more.", "A fact."),
        ("A fact [1]?. More follows.", "A fact [1]?."),
    ],
)
def test_a_marker_behind_the_stop_belongs_to_the_sentence_before(text: str, first: str) -> None:
    """Unless the sentence goes on in lower case: then the marker is its subject."""
    assert texts(text)[0] == first


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("A fact [1][2].", id="numbers"),
        pytest.param("A fact (smith2024quantum).", id="key"),
        pytest.param("A fact (https://a.example/b_(c)).", id="url"),
    ],
)
def test_a_sentence_with_its_citation_stays_one(written: str) -> None:
    assert texts(f"{written} Another one.") == [written, "Another one."]


MARKDOWN = """# A heading. With a stop

Here is what was found:

- Performance
  - It is 3 GB.
- **Speed**: very fast. Twice.
1. First item
2. Second item [1]

| Name | Age |
|------|-----|
| Bob | 3 |
| Al. B. | 4 |

```python
x = "One. Two."

y = 2
```
After the code. Done.
"""


def test_markdown_blocks_end_sentences_and_code_is_one_unit() -> None:
    """Headings, list items, table rows and fences each stand alone, whatever dots they contain."""
    found = texts(MARKDOWN)

    assert found == [
        "# A heading. With a stop",
        "Here is what was found:",
        "- Performance",
        "- It is 3 GB.",
        "- **Speed**: very fast.",
        "Twice.",
        "1. First item",
        "2. Second item [1]",
        "| Name | Age |",
        "|------|-----|",
        "| Bob | 3 |",
        "| Al. B. | 4 |",
        '```python\nx = "One. Two."\n\ny = 2\n```',
        "After the code.",
        "Done.",
    ]


def test_an_open_fence_runs_to_the_end() -> None:
    assert texts("Text.\n```\na. b\n\nC. D") == ["Text.", "```\na. b\n\nC. D"]


SILENT = {
    "heading": "# Results",
    "setext": "Results\n=======",
    "bold-heading": "**Results**",
    "italic-heading": "*Definitions*",
    "question": "Is it safe?",
    "chinese-question": "好吗？",
    "arabic-question": "هل هذا صحيح؟",
    "announcement": "Here is what was found:",
    "summary": "In summary:",
    "sources": "Based on the provided sources:",
    "offer": "Let me know if you have more questions.",
    "nothing-found": "The provided sources do not mention its price.",
    "label": "- Side effects:",
    "rule": "---",
    "fence": "```\nAspirin cures it.\n```",
    "table-rule": "|---|---|",
    "table-rule-aligned": "|:--|:-:|-:|",
    "table-rule-short": "|-|-|",
    "question-heading": "## How confidence is scored",
    "title": "Side Effects\nThey are rare and mild.",
    "reasons": "**Reasons one might stop**",
    "things": "## Things you should know",
    "bold-above-items": "5. **Schedule it**\n   - On Linux use a timer [1].",
    "bold-above-bullets": "5. **Schedule it**\n- On Linux use a timer [1].",
    "bold-above-prose": "- **Cold periods**\n  Snow holds more oxygen [1].",
}

ASSERTING = {
    "plain": "Aspirin thins the blood.",
    "unterminated": "Aspirin thins the blood",
    "list-item": "- Reduces fever",
    "name-alone": "Ada Lovelace",
    "heading-statement": "## Confidence is scored by rules",
    "cited-heading": "## Results [1]",
    "announcement-with-content": "Here is what was found: aspirin thins the blood.",
    "denial-with-content": "The sources do not mention risks, but aspirin thins the blood.",
    "table-row": "| Aspirin | 500 mg |",
    "marked-unchecked": "Aspirin thins the blood [1]?.",
    "chinese": "今天下雨。",
    "figures": "- 45 %",
    "bold-item": "- **Schedule it**\n- On Linux use a timer [1].",
    "bold-statement-above-items": "- **Linux has a timer**\n  - It runs daily [1].",
    "bold-denial-above-items": "- **Not supported**\n  - Windows [1].",
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_what_states_nothing_does_not_assert(text: str) -> None:
    assert split_sentences(text)[0].asserts is False


@pytest.mark.parametrize(
    "text",
    [
        "Here is the answer:",
        "Here's a short summary of what I found.",
        "**Here is the answer in the requested format:**",
        "Sure!",
        "Here's a breakdown:",
        "Hier ist ein Überblick:",
        "Hier ist die Antwort auf deine Frage:",
        "Voici la réponse :",
        "Aquí tienes un breve resumen:",
        "Let me know if you want more on prices, taxes or charging!",
        "Sag mir Bescheid, wenn du mehr wissen möchtest.",
        "N'hésitez pas à me demander plus de détails.",
        "Avísame si necesitas más detalles.",
        "Fammi sapere se vuoi altro.",
        "Laat het me weten als je meer wilt weten.",
        "Hope that helps! 🚀",
        "Based on the search results, here's a summary:",
        "*This report was generated based on the sources provided.*",
        "Feel free to ask about refunds!",
        "I'd be happy to help!",
        "Note: This section is 110 words long.",
        "Please note that these are general suggestions and your mileage may vary.",
        "A few caveats are worth flagging.",
        "Two points to note:",
        "I'm not able to provide personal medical advice.",
        "This is not legal advice.",
        "Please consult your doctor before changing your dose.",
    ],
)
def test_what_speaks_of_the_answer_alone_is_told_apart(text: str) -> None:
    assert is_chatter(text)


@pytest.mark.parametrize(
    "text",
    [
        "Here is an overview of the risks:",
        "Here is the answer: aspirin thins the blood.",
        "Here are the steps for macOS:",
        "In Germany:",
        "Feel free to ask a guide in the hall.",
        "Based on the results of the trial, here is a summary of the risks:",
        "Sure signs are few.",
        "Hier ist die Antwort des Gerichts:",
        "Voici la loi :",
        "I hope it rains, said Bede.",
        "This section is 110 metres long.",
        "Please note that these are general suggestions of the WHO.",
        "Three things caused the fire.",
        "Some limitations apply to the trial of 2003.",
        "See a doctor if the pain lasts more than 3 days.",
    ],
)
def test_what_says_something_of_the_matter_is_no_chatter(text: str) -> None:
    assert not is_chatter(text)


@pytest.mark.parametrize("text", ASSERTING.values(), ids=ASSERTING.keys())
def test_what_states_something_asserts(text: str) -> None:
    """When in doubt it asserts: what does not is shown without being checked."""
    assert split_sentences(text)[0].asserts is True


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("The sources do not say what it costs.", True),
        ("Unfortunately, I could not find its price.", True),
        ("I'm sorry, but the provided sources do not state its price.", True),
        ("The sources do not mention risks, but aspirin thins the blood.", False),
        ("It has no price.", False),
    ],
)
def test_what_is_only_said_not_to_be_in_the_sources_is_known(text: str, *, tells: bool) -> None:
    assert tells_absence(text) is tells


def test_plain_text_of_a_list_item_has_no_bullet() -> None:
    assert [sentence.plain for sentence in split_sentences("- A b.\n2. C d.\n> E f.\n## G h")] == [
        "A b.",
        "C d.",
        "E f.",
        "G h",
    ]


PIECES = st.sampled_from(
    [
        "Dr. ",
        "e.g. ",
        ". ",
        "? ",
        "。",
        "[1]",
        " [2, 3]",
        "\n",
        "\n\n",
        "- ",
        "# ",
        "```",
        "`",
        "| a | b |\n",
        "Word ",
        "中",
        "…",
    ]
)
MIXED = st.one_of(st.text(max_size=300), st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=60).map("".join))


@given(MIXED)
def test_nothing_is_lost_between_sentences(text: str) -> None:
    """Spans are in order and exact, and only white space lies between them."""
    end = 0

    for sentence in split_sentences(text):
        assert sentence.text == text[sentence.start : sentence.end] != ""
        assert text[end : sentence.start].strip() == ""
        end = sentence.end
    assert text[end:].strip() == ""


@given(st.lists(MIXED.filter(lambda text: not {"`", "~"} & set(text)), max_size=6), st.integers(0, 300))
def test_blank_lines_more_or_fewer_change_no_sentence(parts: list[str], more: int) -> None:
    """A page of which most is blanked out has a line break for every character that is gone."""
    few, many = ("\n\n\n" + "\n" * count for count in (0, more))

    spaced = split_sentences(many.join(parts))

    assert [(one.text, one.asserts) for one in spaced] == [
        (one.text, one.asserts) for one in split_sentences(few.join(parts))
    ]


@given(MIXED)
def test_code_spans_are_in_order_and_apart(text: str) -> None:
    end = 0

    for start, stop in code_spans(text):
        assert end <= start < stop <= len(text)
        end = stop


@pytest.mark.parametrize(
    "unit", ["A. ", "[1].", "`a ", ".(http://(", "x\n", "- ", ". [1]", "中。", "the sources ", "**a", ".  ", "\n"]
)
def test_splitting_is_linear(unit: str) -> None:
    assert _is_linear("", unit)


@pytest.mark.parametrize(("lead", "unit"), [("1 ", "x"), ("", "the "), ("no ", "of the "), ("Here is ", "all ")])
def test_one_endless_sentence_does_not_stall(lead: str, unit: str) -> None:
    """A page can hold a sentence of any length; reading it takes time that grows with its length."""
    assert _is_linear(lead, unit)


def _is_linear(lead: str, unit: str) -> bool:
    """Eight times the text takes about eight times as long, not sixty-four; generous, as machines stutter."""
    small, large = (lead + unit * (size // len(unit)) for size in (12_500, 100_000))
    bound = 30 * min(_time(small) for _ in range(3)) + 0.05
    return any(_time(large) < bound for _ in range(3))


def _time(text: str) -> float:
    start = time.process_time()
    split_sentences(text)
    return time.process_time() - start


def test_nasty_strings_are_split_without_loss() -> None:
    for text in json.loads(shared_data("strings", "naughty.json").read_text(encoding="utf-8")):
        rest = re.sub(r"\s+", "", text)

        assert re.sub(r"\s+", "", "".join(texts(text))) == rest


def test_real_pages_give_sentences_of_readable_length() -> None:
    """On real documents hardly a sentence is longer than a paragraph or starts in lower case."""
    lengths, lower = [], 0
    for path in sorted(shared_data("pages").glob("*.html"))[:20]:
        body = re.sub(r"<(script|style|pre).*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.S)
        paragraphs = re.findall(r"<p[^>]*>(.*?)</p>", body, flags=re.S)
        for paragraph in paragraphs:
            for sentence in split_sentences(html.unescape(re.sub(r"<[^>]+>", "", paragraph))):
                lengths.append(len(sentence.text))
                lower += sentence.text[0].islower()

    assert len(lengths) > 1000
    assert sum(length > 500 for length in lengths) < 0.02 * len(lengths)
    assert lower < 0.1 * len(lengths)


@given(st.text(max_size=80))
def test_nothing_ends_where_neither_a_stop_nor_a_line_end_stands(text: str) -> None:
    """`may_end` is never wrongly False: a text that it calls open is one sentence at most."""
    assert may_end(text, 0) or len(split_sentences(text)) <= 1


def test_pages_are_kept_by_their_length_not_by_their_number() -> None:
    """A thesis takes the room of many pages: as many of the last as fit are known, and the last one always."""
    cut: list[str] = []
    page, thesis = "a" * (MAX_KEPT_CHARS // 4), "b" * (MAX_KEPT_CHARS + 1)
    remembered = kept_by_length(cut.append)

    for text in (page, "", page, "", thesis, thesis, page, page):
        remembered(text)

    assert cut == [page, "", thesis, page]
