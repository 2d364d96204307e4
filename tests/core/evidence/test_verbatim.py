"""A claim found word for word where it means the same: the first of the two keys (D18)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evidence.verbatim import QUOTED, find_frame, find_verbatim
from core.text.sentences import split_sentences

BRIDGE = (
    "The Meridian bridge was opened in June 1931. It was designed by Clara Voss. However, the bridge carries two "
    "railway tracks (since 1940) and is 412 metres long. Tolls were abolished in 1968, which pleased the whole town. "
    "The river freezes in January (though not every year)."
)
OPENED = "The Meridian bridge was opened in June 1931."

FOUND: list[tuple[str, str, str, str]] = [
    ("sentence", OPENED, BRIDGE, ""),
    ("without its stop", "The Meridian bridge was opened in June 1931", BRIDGE, ""),
    ("case and blanks", "the meridian bridge  was opened in june 1931.", BRIDGE, ""),
    ("connective of its own", "Also, the Meridian bridge was opened in June 1931.", BRIDGE, ""),
    ("connective and brackets left out", "The bridge carries two railway tracks and is 412 metres long.", BRIDGE, ""),
    ("clause left out", "Tolls were abolished in 1968.", BRIDGE, ""),
    ("pronoun", "It was designed by Clara Voss.", BRIDGE, OPENED),
    ("pronoun for the same", "It was designed by Clara Voss.", BRIDGE, "The Meridian bridge spans the bay."),
    ("two sentences", OPENED + " It was designed by Clara Voss.", BRIDGE, ""),
    ("list item", "Mix the flour with two eggs.", "To bake:\n1. Heat the oven.\n2. Mix the flour with two eggs.", ""),
    ("numbered", "1. Mix the flour with two eggs.", "Baking\n\n2. Mix the flour with two eggs.\n", ""),
    ("table row", "| Lund | 80 smiths |", "| Town | Staff |\n|---|---|\n| Lund | 80 smiths |\n", ""),
    ("curly quotes", "Voss called it 'the long one'.", "Voss called it ‘the long one’.", ""),
    ("true after a question", "The dam is safe.", "Is the dam safe? The dam is safe.", ""),
    ("after a closed quotation", "The dam is safe.", 'He said "no". The dam is safe.', ""),
    ("said again plainly", "Das Mittel wirkt.", "Es heißt, das Mittel wirkt. Das Mittel wirkt.", ""),
    ("attribution kept", "Critics say the dam is unsafe.", "Critics say the dam is unsafe.", ""),
    ("withdrawn itself", "The salve eases pain.", "The salve eases pain. It was withdrawn in 2004.", ""),
    ("behind a German quotation", "Der Damm hält.", "Man nannte ihn „den Riesen“. Der Damm hält.", ""),
    ("a number behind it", "The dam of Lund holds.", "The dam of Lund holds. No. 3 is its sluice.", ""),
    ("a limit behind it", "The dam of Lund holds.", "The dam of Lund holds. It does not hold ice.", ""),
    ("Chinese", "水在一百度沸腾。", "首先看这个。水在一百度沸腾。然后冷却。", ""),
    ("Arabic", "يغلي الماء عند مئة درجة.", "مرحبا بكم. يغلي الماء عند مئة درجة. شكرا.", ""),
    ("Polish", "Lek leczy silne bóle głowy.", "To jest lek. Lek leczy silne bóle głowy.", ""),
    ("rated true", "The dam of Lund holds.", "The dam of Lund holds. Rating: true. It is old.", ""),
    ("word of another matter behind", "The dam of Lund holds.", "The dam of Lund holds. Rubbish is burned there.", ""),
    ("what to do in a case", "Call the guild.", "## What do I do if the dam breaks?\n\nCall the guild.", ""),
    ("behind a numbered myth", "The dam of Lund holds.", "Myth 3. Dams never hold. The dam of Lund holds.", ""),
]

LOST: list[tuple[str, str, str, str]] = [
    ("numbered myth", "The dam of Lund holds.", "Common beliefs\n\nMyth 3. The dam of Lund holds. It leaks.", ""),
    ("rated on the next line", "The dam of Lund holds.", "The dam of Lund holds.\nRating: false\nIt leaks.", ""),
    ("verdict behind a label", "The dam of Lund holds.", "The dam of Lund holds. Fact check: Untrue. It leaks.", ""),
    ("rubbish", "The dam of Lund holds.", "The dam of Lund holds. Rubbish. It leaks.", ""),
    ("far from it", "The dam of Lund holds.", "The dam of Lund holds. Far from it: it leaks.", ""),
    ("German nonsense", "Der Damm von Lund hält.", "Der Damm von Lund hält. Unsinn. Er leckt.", ""),
    ("Spanish verdict", "La presa de Lund aguanta.", "La presa de Lund aguanta. Veredicto: falso. Gotea.", ""),
    ("called false", "The dam of Lund holds.", "The dam of Lund holds. False!", ""),
    ("called wrong with a reason", "The dam of Lund holds.", "The dam of Lund holds. Wrong: it leaks.", ""),
    ("not so", "The dam of Lund holds.", "The dam of Lund holds. Not so, say its builders.", ""),
    ("taken back later", "The dam of Lund holds.", "The dam of Lund holds. This statement was retracted.", ""),
    ("said to be believed", "The dam of Lund holds.", "Many people believe the following. The dam of Lund holds.", ""),
    ("denied in a word", "The dam of Lund holds.", "The dam of Lund holds. No, it leaks.", ""),
    ("denied in short", "The dam of Lund holds.", "The dam of Lund holds. It does not.", ""),
    ("supposed", "The dam of Lund holds.", "Suppose the following. The dam of Lund holds.", ""),
    ("part of a sentence", "The Meridian bridge was opened.", BRIDGE, ""),
    ("limiting brackets left out", "The river freezes in January.", BRIDGE, ""),
    ("pronoun for nobody", "It was designed by Clara Voss.", BRIDGE, ""),
    ("pronoun for another", "It was designed by Clara Voss.", BRIDGE, "The Ystad tower was opened in June 1931."),
    (
        "second without the first",
        "The second was paid by the guild.",
        "Two bells hang there. The second was paid by the guild.",
        "",
    ),
    ("consequence", "The dam will break.", "If it rains, the dam will break.", ""),
    ("denied", "The dam will break.", "It is false that the dam will break.", ""),
    ("denied behind it", "The dam will break.", "Many fear a flood. The dam will break. This is a myth.", ""),
    ("not true behind it", "Goldfish forget at once.", "Goldfish forget at once. That is not true.", ""),
    ("said", "The dam will break.", "Engineers claimed that the dam will break.", ""),
    ("quoted", "All will drown.", 'He wrote: "The dam will break. All will drown."', ""),
    ("quoted, German", "Alle ertrinken.", "Er schrieb: „Der Damm bricht. Alle ertrinken.“", ""),
    ("quoted, curly", "All will drown.", "He wrote: “The dam will break. All will drown.”", ""),
    (
        "myths",
        "Sugar makes children wild.",
        "# Myths\n\n- Knuckles crack.\n- Sugar makes children wild.\n\n# Facts\n",
        "",
    ),
    ("false statements", "Dogs see no red.", "The following are false:\n- Cats swim well.\n- Dogs see no red.", ""),
    ("asked as a myth", "The dam holds.", "## Is it a myth that the dam holds if it rains?\n\nThe dam holds.", ""),
    ("not covered", "Damage by frost in winter.", "Not covered:\n- Theft at night.\n- Damage by frost in winter.", ""),
    ("old rules", "Widows receive half.", "Under the old rules:\n- Men receive all.\n- Widows receive half.", ""),
    ("asked", "Is the dam safe?", "Is the dam safe?", ""),
    ("only", "Members may borrow maps.", "Only members may borrow maps.", ""),
    ("in another language, denied", "Das Mittel wirkt.", "Das Mittel wirkt nicht.", ""),
    ("in Polish, in part", "Lek leczy silne bóle głowy.", "Podobno lek leczy silne bóle głowy.", ""),
    ("in Chinese, said", "水在一百度沸腾。", "他说水在一百度沸腾。然后冷却。", ""),
    ("a number changed", "The Meridian bridge was opened in June 1932.", BRIDGE, ""),
    ("nothing", " … ", BRIDGE, ""),
]


@pytest.mark.parametrize(("claim", "content", "before"), [case[1:] for case in FOUND], ids=[case[0] for case in FOUND])
def test_what_means_the_same_there_is_found(claim: str, content: str, before: str) -> None:
    """The span holds the claim's words."""
    span = find_verbatim(claim, content, before=before)

    assert span is not None
    assert claim.rsplit(maxsplit=1)[-1].strip(".|'").lower() in content[slice(*span)].lower()


@pytest.mark.parametrize(("claim", "content", "before"), [case[1:] for case in LOST], ids=[case[0] for case in LOST])
def test_what_means_another_thing_there_is_not(claim: str, content: str, before: str) -> None:
    """Denied, ascribed, asked, limited or about somebody else in the source, it is not said by it (S003-14)."""
    assert find_verbatim(claim, content, before=before) is None


PIECES = st.lists(
    st.sampled_from(
        ["Voss drew it. ", "The dam holds.\n", "- ", "1. ", "“No.” ", "If so, ", "Is it? ", "(x) ", "\n\n"]
    ),
    max_size=12,
).map("".join)


@given(PIECES, st.integers(0, 11))
def test_a_span_lies_in_the_source_and_says_the_claim(content: str, which: int) -> None:
    """Whatever is found begins and ends in the text, with the claim's first and last word."""
    sentences = split_sentences(content) or split_sentences("Nothing.")
    claim = sentences[which % len(sentences)].plain

    span = find_verbatim(claim, content)

    assert span is None or 0 <= span[0] < span[1] <= len(content)
    assert span is None or claim.split()[-1].rstrip(".”") in content[slice(*span)]


@given(st.text(max_size=60), st.text(max_size=300), st.text(max_size=60))
def test_any_text_can_be_looked_for(claim: str, content: str, before: str) -> None:
    """A span or none, and no error."""
    span = find_verbatim(claim, content, before=before)

    assert span is None or 0 <= span[0] < span[1] <= len(content)


@pytest.mark.parametrize(
    ("before", "frame"),
    [
        ('Hart said: "All is lost. ', QUOTED),
        ('Hart was sure ("All is lost. ', QUOTED),
        ('Hart said—"All is lost. ', QUOTED),
        ('Hart said "no" and left. ', ""),
        ('and nobody had seen it." ', ""),
        ('They found a ruler of 12" there. ', ""),
        ('Hart said: "All is lost.\n', ""),
    ],
    ids=["open", "in brackets", "behind a dash", "closed", "opened on a page before", "inches", "a paragraph before"],
)
def test_a_sentence_is_quoted_where_a_mark_before_it_opens_and_is_not_closed(before: str, frame: str) -> None:
    """D20: and no other, or the source's own words are taken for somebody else's."""
    said = "The mill burned in 1931."

    assert find_frame(before + said, len(before), len(before + said), said) == frame
