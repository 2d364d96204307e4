"""What the model writes, well-formed or not, is read: no item is lost and nothing raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.findings.opening import NO_ITEMS, NO_WRAPPER, NOTHING, UNCLOSED, ReadItem, parse_research_result, read_output
from core.findings.results import ALL_MODES, ResearchMode

A, B = "https://a.example/1", "https://b.example/2"


def item(source: str, content: str) -> str:
    return f"<research_item>\n<source>{source}</source>\n<content>\n{content}\n</content>\n</research_item>"


def wrapped(*items: str) -> str:
    return "<research_result>\n" + "\n".join(items) + "\n</research_result>"


CODE = "Reads tags.\n\n```html\n<content>x</content></research_item></research_result>\n```\n\nDependencies: none"


@pytest.mark.parametrize(
    ("raw", "items", "notes"),
    [
        pytest.param(wrapped(item(A, "One."), item(B, "Two.")), [(A, "One."), (B, "Two.")], (), id="well-formed"),
        pytest.param(
            f"I write <research_result>…</research_result> below.\n{wrapped(item(A, 'One.'))}",
            [(A, "One.")], (), id="the analysis mentions the tags",
        ),
        pytest.param(wrapped(item(A, CODE), item(B, "Two.")), [(A, CODE), (B, "Two.")], (), id="code holds tags"),
        pytest.param(
            wrapped(item(A, "One.\n```\nx\n````"), item(B, "Two.\n```\n<content>\n```")),
            [(A, "One.\n```\nx\n````"), (B, "Two.\n```\n<content>\n```")], (), id="a fence ends with a longer one",
        ),
        pytest.param(item(A, "One."), [(A, "One.")], (NO_WRAPPER,), id="no wrapper"),
        pytest.param(
            wrapped(item(A, "One.")).replace("</research_result>", ""), [(A, "One.")], (UNCLOSED,), id="unclosed"
        ),
        pytest.param(
            f"<research_result>{item(A, 'One.')}<research_item><source>{B}</source><content>Two. Three, cut o",
            [(A, "One."), (B, "Two.")], (UNCLOSED,), id="broken off within an item: half a sentence is none",
        ),
        pytest.param(
            f"<research_result>{item(A, 'One.')}<research_item><source>{B}</source><content>Two, cut o",
            [(A, "One.")], (UNCLOSED,), id="broken off within the first sentence of an item",
        ),
        pytest.param(
            f"<research_result><research_item><source>{A}</source><content>One.\n\n```python\nx = 1\nprint(",
            [(A, "One.\n\n```python\nx = 1\nprint(")], (UNCLOSED,), id="broken off within code",
        ),
        pytest.param(wrapped(item(A, "<![CDATA[One.]]>")), [(A, "One.")], (), id="as character data"),
        pytest.param(
            f'So [1]:\n```json\n[{{"source": "{A}", "content": "One."}}, {{"url": "{B}", "idea": "Two."}}]\n```',
            [(A, "One."), (B, "Two.")], (NO_WRAPPER,), id="a list of JSON",
        ),
        pytest.param(
            f'{{"results": [{{"title": "T", "source": "[T]({A})", "description": "One.", "code": "x = 1", '
            '"dependencies": ["a", "b"]}]}',
            [(A, "T\n\nOne.\n\n```\nx = 1\n```\n\nDependencies: a, b")], (NO_WRAPPER,), id="an object of JSON",
        ),
        pytest.param(
            f"1. **One** — it is so. Source: {A}\n2. Two is less ({B}).\n3. Three, [as told]({A}), is. [Told]({B})",
            [(A, "**One** — it is so."), (B, "Two is less."), (A, f"Three, [as told]({A}), is.")], (NO_WRAPPER,),
            id="points of a list",
        ),
        pytest.param(
            f"Use queues, as {A} says, and wait.", [(A, f"Use queues, as {A} says, and wait.")],
            (NO_WRAPPER, NO_ITEMS), id="prose only",
        ),
        pytest.param("", [], (NOTHING,), id="nothing"),
    ],
)  # fmt: skip
def test_the_best_is_made_of_any_output(raw: str, items: list[tuple[str, str]], notes: tuple[str, ...]) -> None:
    """S004-17, S004-09: with a plain note where the output was not as it should be."""
    read = read_output(raw, "idea")

    assert [(found.source, found.content) for found in read.items] == items
    assert read.notes == notes


def test_the_documents_own_parser_wants_the_wrapper_and_both_tags() -> None:
    """S004-14: without a wrapper the findings are empty; an item needs a source and a content."""
    halves = (
        f"<research_item><source>{B}</source></research_item>",
        f"<research_item><source>{B}</source>Two.</research_item>",
        "<research_item><content>Two.</content></research_item>",
    )

    bare = parse_research_result(item(A, "One."), "idea", "q", 5)
    whole = parse_research_result(wrapped(item(A, "One."), *halves), "idea", "q", 5)
    listed = parse_research_result(wrapped(f'[{{"url": "{A}", "text": "One."}}]'), "idea", "q", 5)

    assert (bare.ideas, bare.modes, bare.top_k) == ([], ["idea"], 5)
    assert [idea.to_dict() for idea in whole.ideas] == [{"source": A, "content": "One."}]
    assert listed.ideas == []


@pytest.mark.parametrize("around", ["", "I write <research_result> and </research_result> around it.\n"])
def test_a_short_report_is_one(around: str) -> None:
    """S004-14: however little stands in the wrapper, where the wrapper stands by itself."""
    found = parse_research_result(
        f"{around}<research_result>\nNo source says so.\n</research_result>", "freeform", "q", 5
    )

    assert found.report is not None
    assert found.report.content == "No source says so."


def test_a_report_is_what_stands_in_the_last_wrapper() -> None:
    """S004-09, S004-13: also where it holds code with tags."""
    report = "## Abstract\n\nThis report has enough words to count.\n\n```xml\n</research_result>\n```\n\nEnd."

    read = read_output(f"Notes.\n<research_result>\n{report}\n</research_result>\nBye.", "freeform")

    assert read.report == report


def test_a_report_that_breaks_off_ends_with_its_last_whole_sentence() -> None:
    """Half a sentence may say something else than the whole one."""
    read = read_output("<research_result>\n## Abstract\n\nTides follow the moon. They never follow the", "freeform")

    assert (read.report, read.notes) == ("## Abstract\n\nTides follow the moon.", (UNCLOSED,))


@given(
    st.text(st.sampled_from("<>/ abresearch_itultourcn`~\n") | st.characters(), max_size=400),
    st.sampled_from(ALL_MODES),
)
def test_reading_never_raises(raw: str, mode: ResearchMode) -> None:
    """S004-17: whatever a model writes; what is not wrapped as it was told to is said."""
    read = read_output(raw, mode)

    assert read.is_wrapped or read.notes
    assert len(set(read.notes)) == len(read.notes)


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="<>`~"), min_size=1).map(str.strip).filter(bool)
FENCED = WORDS.map(lambda text: f"Before.\n\n```xml\n<content>{text}</content></research_item>\n```\n\nAfter.")


@given(st.lists(st.one_of(WORDS, FENCED), min_size=1, max_size=6), WORDS)
def test_no_item_is_lost(contents: list[str], analysis: str) -> None:
    """S004-17: every well-formed item comes back as it was, whatever its code holds."""
    items = [ReadItem(f"https://a.example/{number}", text) for number, text in enumerate(contents)]

    read = read_output(f"{analysis}\n{wrapped(*(item(one.source, one.content) for one in items))}", "implementation")

    assert list(read.items) == items


@given(st.lists(WORDS, min_size=1, max_size=5), st.data())
def test_wherever_the_output_breaks_off_whole_items_stay(contents: list[str], data: st.DataObject) -> None:
    """S004-17: every item that was closed comes back as it was, and that something is missing is said."""
    items = [item(f"https://a.example/{number}", text) for number, text in enumerate(contents)]
    raw = wrapped(*items)
    at = data.draw(st.integers(len("<research_result>"), len(raw) - len("</research_result>")))

    read = read_output(raw[:at], "idea")

    closed = raw[:at].count("</research_item>")
    assert [(found.source, found.content) for found in read.items[:closed]] == [
        (f"https://a.example/{number}", text) for number, text in enumerate(contents[:closed])
    ]
    assert read.notes


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        pytest.param("Said.<source>https://x.example</source>", "Said.https://x.example", id="a second source"),
        pytest.param("<content>Said.</content>", "Said.", id="nested"),
        pytest.param("Write `<content>` first.", "Write `<content>` first.", id="named in code"),
    ],
)
def test_stray_tags_are_no_text(content: str, kept: str) -> None:
    """S004-17: tags of ours in prose are slips; in code they are meant."""
    read = read_output(wrapped(item(A, content)), "idea")

    assert [found.content for found in read.items] == [kept]
