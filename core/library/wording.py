"""What the paper library says (S000-31 … S000-40); the sentences are given."""

from __future__ import annotations

from core.model.job import LOCAL, Scope
from core.presentation.render import one_line
from core.text.saying import say

STAGE_1 = "🔍 Stage 1: Searching summaries for relevant papers..."
STAGE_2 = "📚 Stage 2: Gathering detailed evidence from {papers} papers..."
STAGE_3 = "✍️  Stage 3: Synthesizing answer from evidence..."
FOUND_PAPERS = "   Found {papers} relevant papers"
FOUND_CHUNKS = "   Retrieved {chunks} content chunks"
EMPTY = "The library is empty; send a PDF and say “add to library”, or name an arXiv id, a DOI or an address."
EMPTY_AT_TERMINAL = "The library is empty: `gorkd library add` takes a PDF, an arXiv id, a DOI or an address."
NO_PAPERS = '❌ No papers found relevant to query: "{query}". Try refining your search terms.'
OTHER_LANGUAGE = (
    "Without embeddings, papers in another language than the question are found only by names, numbers and words that "
    "both share: ask in theirs, or have the admin set up embeddings."
)
BY_WORDS = "Meanings could not be compared just now, so papers were found by their words alone."
FOUND_IN = "Found in {places}"
ADD_FOUND = "Add one with `summarize <number>`."
NOT_SEARCHED = "No answer came from {places}; say it again in a moment to look there, too."
NO_CONTENT = "❌ No detailed content found in the selected papers. Papers may not be properly indexed."
SUGGEST_REBUILD = "Run `rebuild-index` to index the papers anew."
SYNTHESIS_FAILED = "❌ Failed to synthesize research answer: {reason}"
CITATIONS_ODD = "⚠️  Some citations could not be formatted correctly"
PANEL_TITLE = "📝 Research Results"
NEXT_STEPS = (
    "💡 Next steps:",
    "• Use `save` to save these results",
    "• Use `improve <feedback>` to refine the answer",
    "• Use `summary <number>` to view paper summaries (e.g., `summary 1`)",
    "• Use `open <number>` to view full papers (e.g., `open 2`)",
)
IMPROVING = "✍️  Improving research answer with your feedback..."
OFFER_SUMMARY = "{id} has no summary yet. Shall I write one? Say `yes` or `no`."
NO_SUMMARY = "{id} has no summary yet; an admin can write one with `summarize {id}`."
SAVING = "💾 Saving research results..."
SAVED = "✅ Research results saved to: {place}"
LIST_SAVED = "✅ Reading list saved to: {place}"
EXPORTING_ONE, EXPORTING = "📚 Exporting {number} paper …", "📚 Exporting {number} papers …"
LEFT_OVER_ONE = "{number} paper of the list are still to come; send it once more to go on."
LEFT_OVER = "{number} papers of the list are still to come; send it once more to go on."
RESTARTED = "I was restarted before this was done; please say it again: {said}"
RESTARTED_ALONE = "I was restarted before this was done; please say it again."
SAY_AGAIN = "I am being restarted; please say that again in a moment."
REWRITING_NEEDS_MODEL = "Rewriting needs a language model; none is set up here."
REMOVED_MEANWHILE = "{id} was removed meanwhile; it was left so."
ADMINS_ONLY = "Only admins may change the library."
ADD_WHAT = (
    "Attach a PDF, a Markdown file or a reading list (BibTeX, RIS), or name an arXiv id, a DOI or an address, "
    "and say “add to library”."
)
READING = "📄 Reading {name} …"
STEP = "   [{number}/{count}] {said}"
CHECKING_ONE, CHECKING = "🔎 Looking over {number} paper …", "🔎 Looking over {number} papers …"
DID_YOU_MEAN = "Did you mean `{command}`? `help` shows what can be said."
TAKEN_AS_QUESTION = "_Taken as a question to your papers, like `research …`; `help` shows the commands._"
FETCHING = "📥 Fetching {name} …"
ADDED = "✅ Added {id}, {title}{pages}."
THERE_ALREADY = "{id}, {title}, is in the library already."
TOO_LARGE = "{name} is larger than {megabytes} MB; please send a smaller file."
WITHOUT_SUMMARY = "⚠️ {why} Its abstract stands for a summary until it is read anew."
BESIDE = "It is another version of {id}, which stays with its summary and notes; the newest answers."
IMPROVED = "improved here, and kept when the paper is read anew"
MOVED_ON = "The conversation has moved on since; this button is about what was shown then. Please ask again."


def empty_library(scope: Scope) -> str:
    """With how papers come into it: in a chat, else at the terminal, since pages and programs can add none."""
    return say(EMPTY_AT_TERMINAL if scope.tenant == LOCAL.tenant else EMPTY)


def saved(place: str) -> str:
    """Where what was handed over lies."""
    return say(SAVED if place.endswith(".md") else LIST_SAVED, place=place)


def not_whole(gap: str) -> str:
    """`gap` (of a `Paper`) as a sentence, "" for none."""
    return f"⚠️ {gap[0].upper()}{one_line(gap[1:])}." if gap else ""


def without_vectors(reason: str) -> str:
    """Why a paper (`Ingested`) has no vectors yet, as a sentence and what follows; "" where it has them."""
    later = "⚠️ {why} It is found by its words; its vectors come with the next paper or question."
    return say(later, why=one_line(reason)) if reason else ""


def without_summary(reason: str) -> str:
    """Why a paper (`Ingested`) has no summary by the model, as a sentence; "" where it has one or needs none."""
    return say(WITHOUT_SUMMARY, why=one_line(reason)) if reason else ""


def beside(other_id: str) -> str:
    """That another version of the work is there too, as a sentence; "" for none."""
    return say(BESIDE, id=other_id) if other_id else ""
