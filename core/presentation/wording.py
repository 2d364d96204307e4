"""Every word that people read on more than one interface: statuses, buttons, confidence, errors, footer.

Plain text without markup; each interface adds its own. Nothing here comes from the web. Constants are English and are
said by whoever shows them (`say(wording.SHARE)`); functions have said theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from core.model.answer import Confidence, JobResult, ResearchAnswer, Verdict
from core.model.errors import places_of, say_place
from core.model.job import JobStatus, ResearchJob, Tenant
from core.model.source import Source
from core.model.works import fullest
from core.text.saying import ENGLISH, known_language, say, say_again, say_many, say_moment, say_number
from core.watch.comparison import AnswerChanges

CONFIRMED_CHARS = 80  # of a sentence where it is only named
NAMED_CHARS = 150  # of an earlier question where it is named

STATUS_MESSAGES = {
    JobStatus.PENDING: "Waiting for its turn",
    JobStatus.PLANNING: "Planning the search",
    JobStatus.SEARCHING: "Searching",
    JobStatus.FETCHING: "Reading the sources",
    JobStatus.SYNTHESIZING: "Writing the answer and checking its citations",
    JobStatus.COMPLETED: "Done",
    JobStatus.FAILED: "Failed",
    JobStatus.CANCELLED: "Cancelled",
}

TITLE_COMPLETE = "Research Complete"
TITLE_INSUFFICIENT = "Not Enough Sources"
TITLE_FAILED = "Research Failed"
TITLE_CANCELLED = "Research Cancelled"

VIEW_FULL_ANALYSIS = "View Full Analysis"
SHOW_SOURCES = "Show Sources"
SHARE = "Share"
ASK_AGAIN = "Ask Again"
RETRY = "Retry"
CANCEL = "Cancel"
RESEARCH_THIS = "Research This"
IMPROVE = "Improve"
GOOD, BAD = "👍", "👎"
EXPORT = "Export"
RECEIPT = "Receipt"
BAD_ANSWER = "Somebody found this answer bad"
TEST_MEANS = "A test asks the question again from these sources whenever gorkd eval --from-votes runs."
GOOD_ANSWER_SAYS = "A good answer says (a sentence, which a model judges; it may be left out)"
MAKE_A_TEST = "Make this a test"
NO_BAD_VOTE = "Nobody has found this answer bad yet: press 👎 first, and it can be made a test."
TESTS_ADMINS_ONLY = "Only admins can make a test of an answer; please ask one of them."
RECEIPT_MEANS = "A receipt of this answer: gorkd verify checks it on any machine, without this server."
IS_A_TEST = "This question is a test."
TEST_NO_MORE = "A test no more"
IMPROVE_IT = "Give a better answer: more complete, and more exact."
START = "Start"
NOT_NOW = "Not now"
SEND = "Send"
ADD_ITEM = "Add Item"  # these two are said by adapters/web/templates/running.html
DROP_ITEM = "Drop Item"
GO_DEEPER = "Go Deeper"
ANSWER_NOW = "Answer Now"
OFFERS_DEEP = "Deep research would look for"
OFFER_DEEP = OFFERS_DEEP + " {what}; it typically takes 1–3 minutes. Start it?"
OFFER_DEEP_BOTH = OFFERS_DEEP + " {one}, and {other}; it typically takes 1–3 minutes. Start it?"
CHECKLIST = "Checklist"
HEARD = "Noted; the next round minds it."
HEARD_ANSWER_NOW = "Noted; the answer is written as soon as there is something to answer from."
HOW_TO_STEER = "Reply to add a wish; or write: add …, drop 2, go deeper, answer now, cancel."
NO_MODEL = "Needs a language model; none is set up here."
CHECK_QUESTION = "Is what this message says true?"

RESEARCH_IT = "Research it"
RESEARCH = "Research"  # a form's title and its button
EXTRAS = "Options"
QUESTION_CHANGED = "You changed your question. Research it?"

REFRESH = "Refresh"
WHAT_CHANGED = "What changed"

# What each button says, by the name of what it does, which is its id on every platform.
BUTTONS = {
    "view_full_analysis": VIEW_FULL_ANALYSIS,
    "show_sources": SHOW_SOURCES,
    "share": SHARE,
    "ask_again": ASK_AGAIN,
    "improve": IMPROVE,
    "refresh": REFRESH,
    "what_changed": WHAT_CHANGED,
    "good": GOOD,
    "bad": BAD,
    "retry": RETRY,
    "cancel": CANCEL,
    "start_deep": START,
    "not_now": NOT_NOW,
    "go_deeper": GO_DEEPER,
    "answer_now": ANSWER_NOW,
    "changed": RESEARCH_IT,
    "watch": "Watch",
    "watch_hours": "Every 6 hours",
    "watch_day": "Every day",
    "watch_week": "Every week",
    "watch_digest": "In a daily digest",
    "stop_watching": "Stop watching",
    "keep_watching": "Watch on",
    "not_worth_telling": "Not worth telling",
    "show_answer": "New answer",
    "export": EXPORT,
    "receipt": RECEIPT,
    "make_test": MAKE_A_TEST,
}

QUESTION, MESSAGE, ANSWER = "Question", "Message", "Answer"
CONFIDENCE, SOURCES, LIMITATIONS = "Confidence", "Sources", "Limitations"
CONFLICTS = "Sources disagree on"
# Limitations that tell of a conflict; how they begin tells them from others.
DISAGREE = "The sources disagree on “{subject}”: {sides}."
DISAGREES_ALONE = "One weaker source says otherwise on “{subject}”: {sides}."
DISAGREE_ON_ONE_MORE = "They disagree on {number} more point."
DISAGREE_FURTHER = "They disagree on {number} more points."
NOT_FOUND, PARTLY_FOUND = "Not found: {item}.", "Only partly found: {item}."  # of an item of a checklist
FOUND_SO_FAR = "Found so far"
SEARCHED, SEARCHING_FOR = "Searched", "Searching for"
RESULT_MORE, RESULTS_MORE = "and {number} more result on the page", "and {number} more results on the page"
CLAIM_MORE, CLAIMS_MORE = "and {number} claim more on the page", "and {number} claims more on the page"
NO_SOURCES = "No sources were found."
UNTITLED = "untitled"
NOT_CITED = "not cited"
READY = "your answer is ready."
SHARED_BY = "Shared by {who}"
SHARE_TITLE = "Share this answer?"
SHARE_QUESTION = "Everyone in this channel will see your question and the answer."
WRONG_TITLE = "What went wrong?"
WRONG_LABEL = "What is wrong with this answer?"
WRONG_HINT = "For example: a source says something else, or the answer is out of date"
IMPROVE_TITLE = "Improve this answer"
IMPROVE_LABEL = "What should be better?"
IMPROVE_HINT = "For example: cover the costs as well, or use newer studies"
CHECKING_EARLIER = "Earlier answer, checking that it is the same question"
_STAGE_MESSAGES = {one: one for one in (*STATUS_MESSAGES.values(), CHECKING_EARLIER)}
NOTHING_TO_COMPARE = "There is no newer answer to compare with yet: press Refresh, and ask again when it has come."
ALREADY_BEGUN = "That has been started already; its answer appears further up."
WAS_ANSWERED = "That question was answered; to research it anew, refresh its answer."
NOT_ANSWERED_YET = "That question is still being researched; its answer can be improved when it is there."

WELCOME = "Thank you for inviting gorkd"
DISCORD_SETTINGS = "Channels, limits, budget and sources: `/research-settings`, for who may manage the server."
WHAT_IT_IS = "Ask a question, and gorkd answers with sources that say it: each sentence is checked against its source."
YOUR_QUESTIONS = "Your questions"
OPEN_QUESTIONS = "Asked in open channels"

ASK_WHAT = "Ask me a question and I will answer it with sources."
ON_IT = "On it …"
NO_HISTORY = "You have not asked anything yet."
FORGOTTEN_THREAD = "Forgotten"  # was named after the question
NO_LIST = "Please attach the list whose references I am to check: BibTeX, RIS, Markdown, PDF or Word."
NOTHING_HERE = "There is no answer here yet; ask me a question first."
CANCELLING = "Cancelling; what was found is kept."
FORGOTTEN = "Forgotten: the question, its answer and its sources."
SETTINGS = "Settings"
SETTINGS_ADMINS_ONLY = "Only admins can see and change the settings; please ask one of them."
SETTINGS_CHANGED = "Somebody else has saved other settings meanwhile, so yours were not saved; please look again."
SETTINGS_UNCHANGED = "Nothing has changed."
SETTINGS_SAVED = "Saved. It holds from the next question on."
SETTINGS_LOG = "Changes of the settings"
NO_CHANGES_YET = "Nobody has changed anything yet."
FORM_NOT_OPENED = "The form did not open; please press the button again."
HOW_TO_SHARE = "Press {share} under the answer; where there is no such button, everybody here can read it already."
NOT_YOURS = "Only the person who asked can do that."
NO_LONGER_KEPT = "That answer is no longer kept; please ask again."
THANKS = "Thank you."
WHAT_DOES_IT_SAY = "What does this document say?"
INSTRUCTS = "tried to instruct the assistant"
REMOVED_HEADING = "Removed: could not be confirmed"
SHARES = "Everyone who reaches this address can read the answer."
SHARES_PRIVATE = "Private: everyone who has this link can read the answer until the link expires."
NO_ANSWER = "I couldn't find reliable sources that answer this."
OTHER_LANGUAGE = (
    "Without a language model, sources in another language than the question are found only by names, numbers and "
    "words that both share: ask in theirs, or have the admin set up a model."
)
BACK_SOON = "I am being restarted; your answer will appear here."
RECORDS_AWAY = "What is kept here cannot be reached now; I go on as soon as it can be."
SOMETHING_BROKE = "Something went wrong on our side; please try again."

CHECKED_BY_RULES = "compared by rules; no language model judged what they left open"
STANDS = {
    "supported": "Supported",
    "contradicted": "Contradicted",
    "differs": "Differs from a source",
    "mixed": "Mixed",
    "unconfirmed": "Not confirmed",
    "no evidence": "No evidence",
}
READING_FIRST = "Your own pages of the web are read first; this takes a moment, once."
STILL_READING = "Your own pages of the web are still being read; what is not read yet was not searched."
MARKS_EXPLAINED = "✓ the source says so · ◐ only in part, or not confirmed · ↪ moved to the source that says it"
NOTHING_TO_CHECK = "This message states nothing that could be checked."

CONFIDENCE_WORDS = {
    Confidence.HIGH: "High",
    Confidence.MEDIUM: "Medium",
    Confidence.LOW: "Low",
    Confidence.INSUFFICIENT: "Insufficient",
}


CORROBORATING = "{level} ({number} corroborating sources)"
CITED_ONE, CITED = "{level} ({number} cited source)", "{level} ({number} cited sources)"
LEVELS = {level.value: words.lower() for level, words in CONFIDENCE_WORDS.items()}  # within a sentence


def caveats(source: Source) -> list[str]:
    """How much was read, what of a paper, what was published of it since, whether it gave orders: a few words each."""
    why = say_again(source.extract_of_page)
    read = [say("only an extract: {why}", why=why)] if why else []
    read += [say("read as {version}", version=say_again(source.metadata.version))] if source.metadata.version else []
    kinds = {"retraction": "retracted", "concern": "expression of concern", "correction": "corrected"}
    told = [
        " ".join(filter(None, (say(kinds[notice.kind]), notice.date, notice.url)))
        for notice in source.metadata.notices
        if notice.url or notice == fullest(source.metadata.notices, notice.kind)
    ]
    return [*read, *dict.fromkeys(told), *([say(INSTRUCTS)] if source.instructs else [])]


MARK_MEANINGS = {
    Verdict.SUPPORTED: "supported",
    Verdict.PARTIAL: "in part",
    Verdict.MOVED: "moved to the source that says it",
    Verdict.UNCHECKED: "not confirmed",
    Verdict.UNSUPPORTED: "not in this source",
}


def language_of(job: ResearchJob) -> str:
    """What is said of a job is in, from its first message to its last: the workspace's, else the question's."""
    return job.request.language or known_language(job.intent.language) or ENGLISH


def stage_said(message: str) -> str:
    """What a running job tells of itself, as it was recorded: said where it is one of the known messages."""
    return say(_STAGE_MESSAGES.get(message, "")) or message


def queue_message(ahead: int) -> str:
    """What who waits is told; `ahead` is at least 0."""
    if ahead == 0:
        return say(STATUS_MESSAGES[JobStatus.PENDING])
    return say_many("{number} question is ahead of yours", "{number} questions are ahead of yours", ahead)


def title(job: ResearchJob, result: JobResult | None) -> str:
    """What became of the job, in two or three words."""
    if job.status is JobStatus.FAILED:
        return say(TITLE_FAILED)
    if job.status is JobStatus.CANCELLED:
        return say(TITLE_CANCELLED)
    if job.status is not JobStatus.COMPLETED:
        return say(STATUS_MESSAGES[job.status])
    answer = result.answer if result else None
    is_answered = answer is not None and answer.confidence is not Confidence.INSUFFICIENT
    return say(TITLE_COMPLETE) if is_answered else say(TITLE_INSUFFICIENT)


def checks_summary(counts: Mapping[str, int]) -> str:
    """`Checked 4 claims: 2 supported, 1 contradicted, 1 no evidence.` from the number of claims by their stand."""
    if not sum(counts.values()):
        return say(NOTHING_TO_CHECK)
    parts = ", ".join(f"{counts[stand]} {say(words).lower()}" for stand, words in STANDS.items() if counts.get(stand))
    return say_many(
        "Checked {number} claim: {stands}.", "Checked {number} claims: {stands}.", sum(counts.values()), stands=parts
    )


def evidence_line(quote: str, verdict: Verdict, *, is_for: bool) -> str:
    """What a source says for or against a claim, in its own words; `UNCHECKED` is what only rules compared."""
    if verdict is Verdict.UNCHECKED:
        side = say("Near") if is_for else say("Differs")
    elif is_for:
        side = say("For") if verdict is Verdict.SUPPORTED else say("For a part of it")
    else:
        side = say("Against")
    return f"{side}: “{quote}”"


def changed_by(who: str) -> str:
    """Who has changed a setting, where it is no person that is known."""
    return say("whoever runs gorkd") if who else say("somebody")


def settings_command(tenant: str) -> str:
    """What an admin of this tenant types to see and change its settings."""
    commands = {"slack": "/research settings", "discord": "/research-settings"}
    return commands.get(Tenant.read(tenant).platform, f"gorkd settings set --tenant {tenant}")


def not_answered_here(tenant: str) -> str:
    """For who asks in a channel that is not among those where questions are answered."""
    said = "I do not answer in this channel; ask me in a direct message, or have an admin add it with {command}."
    return say(said, command=settings_command(tenant))


def no_provider_allowed(tenant: str) -> str:
    said = "I am allowed to search nothing here; an admin can change that with {command}."
    return say(said, command=settings_command(tenant))


def please_wait(seconds: int) -> str:
    """For who asks too often (G-02, G-03)."""
    return say_many("Please wait {number} second…", "Please wait {number} seconds…", seconds)


def heard(kind: str) -> str:
    """For who has said something to a running job; `kind` is a steering's (core/pipeline/conversation.py)."""
    return say({"answer_now": HEARD_ANSWER_NOW, "cancel": CANCELLING}.get(kind, HEARD))


def files_elsewhere(names: Sequence[str]) -> str:
    """Where the files of an answer are that could not be attached to it."""
    return say_many(
        "{names} could not be attached; it is on the page of this answer, under {export}.",
        "{names} could not be attached; they are on the page of this answer, under {export}.",
        len(names), names=", ".join(names), export=say(EXPORT),
    )  # fmt: skip


def limitations_beside(answer: ResearchAnswer, *, has_plan: bool = False) -> tuple[str, ...]:
    """The limitations, for where the conflicts themselves stand beside them, and perhaps the checklist."""
    further = say_many(DISAGREE_ON_ONE_MORE, DISAGREE_FURTHER, 2).partition("2")[0]
    told = (
        [DISAGREE, say(DISAGREE), DISAGREES_ALONE, say(DISAGREES_ALONE), DISAGREE_FURTHER] if answer.conflicts else []
    )
    told += [NOT_FOUND, say(NOT_FOUND), PARTLY_FOUND, say(PARTLY_FOUND)] if has_plan else []
    beginnings = (*(one.partition("{")[0] for one in told), *([further] if answer.conflicts else []))
    return tuple(one for one in answer.limitations if not one.startswith(beginnings))


def limitations_line(limitations: Sequence[str]) -> str:
    """All of them on one line: whole sentences follow each other, anything else is parted by semicolons."""
    return re.sub(r"([.!?][”»“\"'’]?); ", r"\1 ", "; ".join(limitations))


def understood_as(question: str) -> str:
    """What a follow-up was taken to ask."""
    return say("understood as: {question}", question=question)


def may_retry(job: ResearchJob) -> bool:
    """Whether the same may work when it is tried again (D14); else it can only be asked anew."""
    return job.status is JobStatus.FAILED and (job.error is None or job.error.retryable)


def relevance(source: Source) -> str:
    """` · relevance 83 %`; "" where no words are shared, as across languages, for then nothing was measured."""
    percent = round(100 * min(max(source.scores.relevance, 0.0), 1.0))
    return f" · {say('relevance {percent} %', percent=percent)}" if percent else ""


def offers_deep(job: ResearchJob, result: JobResult | None) -> bool:
    """Whether deep research is proposed below the answer (D9): where a model wrote it and it is not sure."""
    answer = result.answer if result else None
    if answer is None or job.status is not JobStatus.COMPLETED or job.request.modes != ("quick",):
        return False
    return answer.metadata.model != "" and answer.confidence in (Confidence.LOW, Confidence.INSUFFICIENT)


def offer_deep(answer: ResearchAnswer) -> str:
    """What deep research would look for, from what this answer lacks; most wanted first."""
    on = "what settles the disagreement on “{subject}”"
    wanted = [say(on, subject=conflict.subject) for conflict in answer.conflicts[:1]]
    if answer.confidence is Confidence.INSUFFICIENT:
        wanted.append(say("sources under other words, and what of the question they answer one by one"))
    doubtful = [claim for claim in answer.claims if claim.verdict in (Verdict.PARTIAL, Verdict.UNCHECKED)]
    unknown = [one.text for one in answer.removed if not one.reason.startswith(_DENIED)]
    confirms = "a source that confirms “{sentence}”"
    wanted += [say(confirms, sentence=_named(claim.text)) for claim in doubtful[:1]]
    if len({citation.source_id for citation in answer.citations}) == 1:
        wanted.append(say("a second, independent source"))
    wanted += [say(confirms, sentence=_named(text)) for text in unknown[:1]]  # it may be the writer's invention
    if len(wanted) > 1:
        return say(OFFER_DEEP_BOTH, one=wanted[0], other=wanted[1])
    return say(OFFER_DEEP, what=wanted[0] if wanted else say("stronger and more independent sources"))


_DENIED = ("a model read otherwise", "the source ")  # so begins why a sentence was cut that the sources speak against


def _named(text: str) -> str:
    cells = text.strip(" |").split("|") if text.startswith("|") else [text]  # of a table's row
    said = " ".join(" · ".join(filter(str.strip, cells)).replace("`", "").replace("**", "").split()).rstrip(".")
    return said if len(said) <= CONFIRMED_CHARS else f"{said[: CONFIRMED_CHARS - 1]}…"


def removed_lines(answer: ResearchAnswer) -> list[str]:
    """What was cut, each with its true reason (D19)."""
    why = (f" ({say_again(one.reason)})" if one.reason else "" for one in answer.removed)
    return [" ".join(f"{one.text}{reason}".split()) for one, reason in zip(answer.removed, why, strict=True)]


def confidence_headline(answer: ResearchAnswer) -> str:
    """`High (3 corroborating sources)`: those that are independent of one another and support what is said.

    Where the central claim rests on one source alone they are only called cited, and copies count too.
    """
    word = say(CONFIDENCE_WORDS[answer.confidence])
    if answer.confidence is Confidence.INSUFFICIENT:
        return say("{level} (no source answers this)", level=word)
    carrying = len({citation.source_id for citation in answer.citations if citation.verdict.carries})
    if not carrying:
        return say("{level} (citations unchecked)", level=word)
    if (number := min(answer.corroborating, carrying)) > 1:
        return say(CORROBORATING, level=word, number=number)
    return say_many(CITED_ONE, CITED, carrying, level=word)


def confidence_sentence(answer: ResearchAnswer) -> str:
    """`High: 4 independent sources, 2 primary, 9 of 9 claims supported`; the headline when there are no reasons."""
    if not answer.confidence_reasons:
        return confidence_headline(answer)
    return f"{say(CONFIDENCE_WORDS[answer.confidence])}: {', '.join(answer.confidence_reasons)}"


def deciding_reason(answer: ResearchAnswer, conflicts: str) -> str:
    """Why it is as sure as it is, in a clause: the reason that decided, and what the sources disagree on."""
    reason = answer.confidence_reasons[0] if answer.confidence_reasons else ""
    if not conflicts:
        return reason
    disagree = say("Sources disagree on {conflicts}", conflicts=conflicts)
    return disagree if not reason or answer.confidence is Confidence.LOW else f"{reason}. {disagree}"


def work_done(result: JobResult, read: int) -> dict[str, str]:
    """What was `searched`, `read` and `checked`, as `searched 3 queries`; {} where nothing was searched or read."""
    checked = len(result.answer.claims) + len(result.answer.removed) if result.answer else 0
    queries = len(result.queries)
    parts = {
        "searched": (queries, say_many("searched {number} query", "searched {number} queries", queries)),
        "read": (read, say_many("read {number} page", "read {number} pages", read)),
        "checked": (checked, say_many("checked {number} sentence", "checked {number} sentences", checked)),
    }
    return {name: said for name, (number, said) in parts.items() if number} if queries or read else {}


def failure_sentence(job: ResearchJob) -> str:
    """Why there is no answer, for the person who asked."""
    if job.status is JobStatus.CANCELLED:
        return say("This question was cancelled before it was answered.")
    return job.error.message if job.error and job.error.message else say(SOMETHING_BROKE)


def failure_cause(job: ResearchJob) -> str:
    """The same for whoever runs gorkd, with the setting to look at."""
    is_known = job.status is JobStatus.FAILED and job.error is not None and job.error.cause
    return job.error.cause if is_known and job.error else failure_sentence(job)


def searched_beside(result: JobResult) -> str:
    """`“tides” · “spring tides” in Wikipedia`, for below an answer; "" where the answer itself names its queries."""
    summary = result.answer.summary if result.answer else ""
    if not result.queries or result.queries[0] in summary:
        return ""
    queries = " · ".join(f"“{query}”" for query in result.queries)
    places = ", ".join(map(say_place, places_of(result.providers)))
    return say("{queries} in {places}", queries=queries, places=places) if result.providers else queries


def sources_counted(read: int) -> str:
    """`8 sources`: those that were read, wherever sources are counted; any others are named as what they are."""
    return say_many("{number} source", "{number} sources", read)


def sources_read(read: int, *, bold: str = "") -> str:
    """`8 sources were read`, with their number between the signs that make it `bold`."""
    return say("{sources} were read", sources=f"{bold}{sources_counted(read)}{bold}")


def footer(result: JobResult, read: int) -> str:
    """`12.3 s · 8 sources · $0.004`; the cost only when there was one, the date when the answer is an earlier one."""
    parts = [duration(result.duration_s), sources_counted(read)]
    cost = result.answer.metadata.cost_usd if result.answer else None
    if cost:
        parts.append(f"${say_number(cost, 3)}" if cost >= 0.001 else say("under ${cost}", cost=say_number(0.001, 3)))
    if result.cached_at:
        parts.append(say("answered {moment}", moment=_day_and_time(result.cached_at)))
    return " · ".join(parts)


def earlier_answer(job: ResearchJob, result: JobResult | None) -> str:
    """`Answered 3 days ago for: How big is the universe?`; "" for an answer of this very job, or of a moment ago."""
    asked, when = earlier_question(job, result)
    return f"{when}: {asked}" if when else ""


def earlier_question(job: ResearchJob, result: JobResult | None) -> tuple[str, str]:
    """The question that was answered before, and `Answered 3 days ago for`; both "" for an answer of this very job.

    The age is as of the repetition.
    """
    if result is None or not result.cached_at or not result.cached_question:
        return "", ""
    answered_at = datetime.fromisoformat(result.cached_at)
    seconds = ((job.completed_at or job.created_at) - answered_at).total_seconds()
    if answered_at >= job.created_at:
        return "", ""
    asked = " ".join(result.cached_question.split())
    asked = asked if len(asked) <= NAMED_CHARS else f"{asked[: NAMED_CHARS - 1]}…"
    return asked, say("Answered {age} for", age=age(seconds))


def changes_lines(changes: AnswerChanges) -> list[str]:
    """What changed, a line each, what is contradicted first."""
    if changes.is_nothing:
        return [say("Nothing changed: the new answer says what the earlier one said.")]
    sure = changes.confidence
    return [
        *(say("Before: {before} Now: {now}", before=one.before, now=one.now) for one in changes.contradicted),
        *(say("New: {text}", text=text) for text in changes.added),
        *(say("No longer said: {text}", text=text) for text in changes.dropped),
        *(say("Newly disputed: {before} Against: {now}", before=one.before, now=one.now) for one in changes.conflicts),
        *(
            [say("Confidence: {before}, now {now}", before=say_level(sure.before), now=say_level(sure.now))]
            if sure
            else []
        ),
    ]


def say_level(level: str) -> str:
    """`medium`, as it stands in a sentence."""
    return say(LEVELS[level]) if level in LEVELS else level


def age(seconds: float) -> str:
    """`just now`, `5 minutes ago`, `3 hours ago`, `3 days ago`, `2 months ago`."""
    if seconds >= 2_592_000:
        return say_many("{number} month ago", "{number} months ago", int(seconds // 2_592_000))
    if seconds >= 86_400:
        return say_many("{number} day ago", "{number} days ago", int(seconds // 86_400))
    if seconds >= 3600:
        return say_many("{number} hour ago", "{number} hours ago", int(seconds // 3600))
    if seconds >= 60:
        return say_many("{number} minute ago", "{number} minutes ago", int(seconds // 60))
    return say("just now")


def duration(seconds: float) -> str:
    """`0.4 s`, `12.3 s`, `3 min 20 s`."""
    if seconds < 59.95:
        return f"{say_number(seconds, 1)} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def needs_model(what: str) -> str:
    """`what` cannot be done by rules: `Deep research`, said."""
    return say("{what} needs a language model; none is set up here.", what=what)


def counted(number: int, noun: str) -> str:
    """`1 source`, `8 sources`, in English: for logs and operators, and within what is said in English alone."""
    if number == 1:
        return f"{number} {noun}"
    return f"{number} {noun.removesuffix('y')}ies" if noun == "query" else f"{number} {noun}s"


def _day_and_time(iso: str) -> str:
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return say("earlier")
    return say_moment(moment.astimezone(UTC) if moment.tzinfo else moment)
