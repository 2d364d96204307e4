"""Every word that people read on more than one interface: statuses, buttons, confidence, errors, footer.

Plain text without markup; each interface adds its own. Nothing here comes from the web.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from core.model.answer import Confidence, JobResult, ResearchAnswer, Verdict
from core.model.errors import places_of
from core.model.job import JobStatus, ResearchJob, Tenant
from core.model.source import Source
from core.model.works import fullest
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
LOOKED_FOR = 2  # things that an offer names
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
# How a limitation begins that tells of a conflict.
DISAGREE, DISAGREES_ALONE = "The sources disagree on", "One weaker source says otherwise on"
DISAGREE_FURTHER = "They disagree on"
NOT_FOUND, PARTLY_FOUND = "Not found:", "Only partly found:"  # of an item of a checklist
FOUND_SO_FAR = "Found so far"
SEARCHED, SEARCHING_FOR = "Searched", "Searching for"
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
NOTHING_TO_COMPARE = "There is no newer answer to compare with yet: press Refresh, and ask again when it has come."
ALREADY_BEGUN = "That has been started already; its answer appears further up."

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
NOT_YOURS = "Only the person who asked can do that."
NO_LONGER_KEPT = "That answer is no longer kept; please ask again."
THANKS = "Thank you."
WHAT_DOES_IT_SAY = "What does this document say?"
INSTRUCTS = "tried to instruct the assistant"
REMOVED_HEADING = "Removed: could not be confirmed"
SHARES = "Everyone who reaches this address can read the answer."
SHARES_PRIVATE = "Private: everyone who has this link can read the answer until the link expires."
NO_ANSWER = "I couldn't find reliable sources that answer this."
BACK_SOON = "I am being restarted; your answer will appear here."
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
MARKS_EXPLAINED = "✓ the source says so · ◐ only in part, or not confirmed · ↪ moved to the source that says it"
NOTHING_TO_CHECK = "This message states nothing that could be checked."

CONFIDENCE_WORDS = {
    Confidence.HIGH: "High",
    Confidence.MEDIUM: "Medium",
    Confidence.LOW: "Low",
    Confidence.INSUFFICIENT: "Insufficient",
}


def about_work(source: Source) -> list[str]:
    """What of a paper was read, and what was published about it since, in a few words each."""
    read = [f"read as {source.metadata.version}"] if source.metadata.version else []
    kinds = {"retraction": "retracted", "concern": "expression of concern", "correction": "corrected"}
    told = [
        " ".join(filter(None, (kinds[notice.kind], notice.date, notice.url)))
        for notice in source.metadata.notices
        if notice.url or notice == fullest(source.metadata.notices, notice.kind)
    ]
    return [*read, *dict.fromkeys(told)]


MARK_MEANINGS = {
    Verdict.SUPPORTED: "supported",
    Verdict.PARTIAL: "in part",
    Verdict.MOVED: "moved to the source that says it",
    Verdict.UNCHECKED: "not confirmed",
    Verdict.UNSUPPORTED: "not in this source",
}


def queue_message(ahead: int) -> str:
    """What who waits is told; `ahead` is at least 0."""
    if ahead == 0:
        return STATUS_MESSAGES[JobStatus.PENDING]
    return f"{ahead} questions are ahead of yours" if ahead > 1 else "1 question is ahead of yours"


def title(job: ResearchJob, result: JobResult | None) -> str:
    """What became of the job, in two or three words."""
    if job.status is JobStatus.FAILED:
        return TITLE_FAILED
    if job.status is JobStatus.CANCELLED:
        return TITLE_CANCELLED
    if job.status is not JobStatus.COMPLETED:
        return STATUS_MESSAGES[job.status]
    answer = result.answer if result else None
    is_answered = answer is not None and answer.confidence is not Confidence.INSUFFICIENT
    return TITLE_COMPLETE if is_answered else TITLE_INSUFFICIENT


def checks_summary(counts: Mapping[str, int]) -> str:
    """`Checked 4 claims: 2 supported, 1 contradicted, 1 no evidence.` from the number of claims by their stand."""
    if not sum(counts.values()):
        return NOTHING_TO_CHECK
    parts = [f"{counts[stand]} {words.lower()}" for stand, words in STANDS.items() if counts.get(stand)]
    return f"Checked {counted(sum(counts.values()), 'claim')}: {', '.join(parts)}."


def evidence_line(quote: str, verdict: Verdict, *, is_for: bool) -> str:
    """What a source says for or against a claim, in its own words; `UNCHECKED` is what only rules compared."""
    if verdict is Verdict.UNCHECKED:
        side = "Near" if is_for else "Differs"
    else:
        side = ("For" if verdict is Verdict.SUPPORTED else "For a part of it") if is_for else "Against"
    return f"{side}: “{quote}”"


def changed_by(who: str) -> str:
    """Who has changed a setting, where it is no person that is known."""
    return "whoever runs gorkd" if who else "somebody"


def settings_command(tenant: str) -> str:
    """What an admin of this tenant types to see and change its settings."""
    commands = {"slack": "/research settings", "discord": "/research-settings"}
    return commands.get(Tenant.read(tenant).platform, f"gorkd settings set --tenant {tenant}")


def not_answered_here(tenant: str) -> str:
    """For who asks in a channel that is not among those where questions are answered."""
    how = settings_command(tenant)
    return f"I do not answer in this channel; ask me in a direct message, or have an admin add it with {how}."


def no_provider_allowed(tenant: str) -> str:
    how = settings_command(tenant)
    return f"I am allowed to search nothing here; an admin can change that with {how}."


def please_wait(seconds: int) -> str:
    """For who asks too often (G-02, G-03)."""
    return f"Please wait {counted(seconds, 'second')}…"


def heard(kind: str) -> str:
    """For who has said something to a running job; `kind` is a steering's (core/model/steering.py)."""
    return {"answer_now": HEARD_ANSWER_NOW, "cancel": CANCELLING}.get(kind, HEARD)


def files_elsewhere(names: Sequence[str]) -> str:
    """Where the files of an answer are that could not be attached to it."""
    them = "it is" if len(names) == 1 else "they are"
    return f"{', '.join(names)} could not be attached; {them} on the page of this answer, under {EXPORT}."


def limitations_beside(answer: ResearchAnswer, *, has_plan: bool = False) -> tuple[str, ...]:
    """The limitations, for where the conflicts themselves stand beside them, and perhaps the checklist."""
    told: tuple[str, ...] = (DISAGREE, DISAGREES_ALONE, DISAGREE_FURTHER) if answer.conflicts else ()
    told += (NOT_FOUND, PARTLY_FOUND) if has_plan else ()
    return tuple(one for one in answer.limitations if not one.startswith(told))


def limitations_line(limitations: Sequence[str]) -> str:
    """All of them on one line: whole sentences follow each other, anything else is parted by semicolons."""
    return "; ".join(limitations).replace(".; ", ". ")


def understood_as(question: str) -> str:
    """What a follow-up was taken to ask."""
    return f"understood as: {question}"


def may_retry(job: ResearchJob) -> bool:
    """Whether the same may work when it is tried again (D14); else it can only be asked anew."""
    return job.status is JobStatus.FAILED and (job.error is None or job.error.retryable)


def relevance(source: Source) -> str:
    """`relevance 83 %`."""
    return f"relevance {round(100 * min(max(source.scores.relevance, 0.0), 1.0))} %"


def offers_deep(job: ResearchJob, result: JobResult | None) -> bool:
    """Whether deep research is proposed below the answer, with Start and Not now (D9): where a model wrote it and
    it is not sure.
    """
    answer = result.answer if result else None
    if answer is None or job.status is not JobStatus.COMPLETED or job.request.modes != ("quick",):
        return False
    return answer.metadata.model != "" and answer.confidence in (Confidence.LOW, Confidence.INSUFFICIENT)


def offer_deep(answer: ResearchAnswer) -> str:
    """What deep research would look for, from what this answer lacks; most wanted first."""
    wanted = [f"what settles the disagreement on {conflict.subject}" for conflict in answer.conflicts[:1]]
    if answer.confidence is Confidence.INSUFFICIENT:
        wanted.append("sources under other words, and what of the question they answer one by one")
    wanted += [f"a source that confirms “{_named(one.text)}”" for one in answer.removed[:1]]
    doubtful = [claim for claim in answer.claims if claim.verdict in (Verdict.PARTIAL, Verdict.UNCHECKED)]
    wanted += [f"a source that confirms “{_named(claim.text)}”" for claim in doubtful[:1]]
    if len({citation.source_id for citation in answer.citations}) == 1:
        wanted.append("a second, independent source")
    return OFFER_DEEP.format(what=", and ".join(wanted[:LOOKED_FOR]) or "stronger and more independent sources")


def _named(text: str) -> str:
    said = " ".join(text.split()).rstrip(".")
    return said if len(said) <= CONFIRMED_CHARS else f"{said[: CONFIRMED_CHARS - 1]}…"


def confidence_headline(answer: ResearchAnswer) -> str:
    """`High (3 corroborating sources)`; counts the cited sources whose passages carry a claim.

    They corroborate one another where a claim rests on more than one; else they are cited, and no more.
    """
    word = CONFIDENCE_WORDS[answer.confidence]
    if answer.confidence is Confidence.INSUFFICIENT:
        return f"{word} (no source answers this)"
    corroborating = {citation.source_id for citation in answer.citations if citation.verdict.carries}
    if not corroborating:
        return f"{word} (citations unchecked)"
    is_shared = any(len(claim.evidence) > 1 for claim in answer.claims)
    return f"{word} ({counted(len(corroborating), 'corroborating source' if is_shared else 'cited source')})"


def confidence_sentence(answer: ResearchAnswer) -> str:
    """`High: 4 independent sources, 2 primary, 9 of 9 claims supported`; the headline when there are no reasons."""
    if not answer.confidence_reasons:
        return confidence_headline(answer)
    return f"{CONFIDENCE_WORDS[answer.confidence]}: {', '.join(answer.confidence_reasons)}"


def deciding_reason(answer: ResearchAnswer, conflicts: str) -> str:
    """Why it is as sure as it is, in a clause: the reason that decided, and what the sources disagree on."""
    reason = answer.confidence_reasons[0] if answer.confidence_reasons else ""
    if not conflicts:
        return reason
    disagree = f"{CONFLICTS} {conflicts}"
    return disagree if not reason or answer.confidence is Confidence.LOW else f"{reason}. {disagree}"


def work_done(result: JobResult, read: int) -> str:
    """`Searched 3 queries · read 6 pages · checked 9 sentences`; "" where nothing was searched or read for it."""
    checked = len(result.answer.claims) + len(result.answer.removed) if result.answer else 0
    parts = [(len(result.queries), "searched", "query"), (read, "read", "page"), (checked, "checked", "sentence")]
    said = " · ".join(f"{done} {counted(number, noun)}" for number, done, noun in parts if number)
    return said[:1].upper() + said[1:] if result.queries or read else ""


def failure_sentence(job: ResearchJob) -> str:
    """Why there is no answer, for the person who asked."""
    if job.status is JobStatus.CANCELLED:
        return "This question was cancelled before it was answered."
    return job.error.message if job.error and job.error.message else SOMETHING_BROKE


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
    return f"{queries} in {', '.join(places_of(result.providers))}" if result.providers else queries


def sources_counted(read: int) -> str:
    """`8 sources`: those that were read, wherever sources are counted; any others are named as what they are."""
    return counted(read, "source")


def footer(result: JobResult, read: int) -> str:
    """`12.3 s · 8 sources · $0.004`; the cost only when there was one, the date when the answer is an earlier one."""
    parts = [duration(result.duration_s), sources_counted(read)]
    cost = result.answer.metadata.cost_usd if result.answer else None
    if cost:
        parts.append(f"${cost:.3f}" if cost >= 0.001 else "under $0.001")
    if result.cached_at:
        parts.append(f"answered {_day_and_time(result.cached_at)}")
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
    return asked, f"Answered {age(seconds)} for"


def changes_lines(changes: AnswerChanges) -> list[str]:
    """What changed, a line each, what is contradicted first."""
    if changes.is_nothing:
        return ["Nothing changed: the new answer says what the earlier one said."]
    return [
        *(f"Before: {pair.before} Now: {pair.now}" for pair in changes.contradicted),
        *(f"New: {text}" for text in changes.added),
        *(f"No longer said: {text}" for text in changes.dropped),
        *(f"Newly disputed: {pair.before} Against: {pair.now}" for pair in changes.conflicts),
        *([f"Confidence: {changes.confidence.before}, now {changes.confidence.now}"] if changes.confidence else []),
    ]


def age(seconds: float) -> str:
    """`just now`, `5 minutes ago`, `3 hours ago`, `3 days ago`, `2 months ago`."""
    for size, noun in ((2_592_000, "month"), (86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{counted(int(seconds // size), noun)} ago"
    return "just now"


def duration(seconds: float) -> str:
    """`0.4 s`, `12.3 s`, `3 min 20 s`."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def needs_model(what: str) -> str:
    """`what` cannot be done by rules: `Deep research`."""
    return f"{what} needs a language model; none is set up here."


def counted(number: int, noun: str) -> str:
    """`1 source`, `8 sources`."""
    if number == 1:
        return f"{number} {noun}"
    return f"{number} {noun.removesuffix('y')}ies" if noun == "query" else f"{number} {noun}s"


def day(moment: datetime) -> str:
    """`3 March 2024`."""
    return f"{moment.day} {moment:%B %Y}"


def _day_and_time(iso: str) -> str:
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return "earlier"
    moment = moment.astimezone(UTC) if moment.tzinfo else moment
    return f"{day(moment)}, {moment:%H:%M} UTC"


# What stands in an answer's place where the sources have none, in the language of the question. An answer is in the
# question's language, so this is too, where it is known here; all else that gorkd says of an answer is in English.


MAX_NAMED = 4  # queries; more is not read


@dataclass(frozen=True)
class Refusal:
    """`searched` has places for `queries` and `places`, of which two have names; `advice` says what to ask instead."""

    no_answer: str
    searched: str
    advice: str
    web: str = "the web"
    files: str = "the local files"

    def summary(self, queries: Sequence[str], providers: Sequence[str]) -> str:
        """With what was searched for and where, where anything was."""
        if not providers:
            return self.no_answer
        places = [{"the web": self.web, "the local files": self.files}.get(one, one) for one in places_of(providers)]
        named = ", ".join(f'"{query}"' for query in queries[:MAX_NAMED])
        return f"{self.no_answer} {self.searched.format(queries=named, places=', '.join(places))}"


_ENGLISH = Refusal(
    NO_ANSWER,
    "Searched for {queries} in {places}.",
    "Try naming the subject in full, asking one thing at a time, or leaving out a date or a place.",
)
REFUSALS: Mapping[str, Refusal] = {
    "en": _ENGLISH,
    "de": Refusal(
        "Ich habe keine verlässlichen Quellen gefunden, die das beantworten.",
        "Gesucht wurde nach {queries} ({places}).",
        "Versuchen Sie, den Gegenstand ganz zu nennen, nach einer Sache auf einmal zu fragen oder ein Datum oder einen "
        "Ort wegzulassen.",
        "Web",
        "lokale Dateien",
    ),
    "fr": Refusal(
        "Je n'ai pas trouvé de sources fiables qui répondent à cette question.",
        "Recherche effectuée : {queries} ({places}).",
        "Essayez de nommer le sujet en entier, de poser une seule question à la fois ou d'omettre une date ou un lieu.",
        "Web",
        "fichiers locaux",
    ),
    "es": Refusal(
        "No he encontrado fuentes fiables que respondan a esta pregunta.",
        "Se ha buscado {queries} ({places}).",
        "Pruebe a nombrar el tema por completo, a preguntar una sola cosa a la vez o a omitir una fecha o un lugar.",
        "web",
        "archivos locales",
    ),
    "it": Refusal(
        "Non ho trovato fonti affidabili che rispondano a questa domanda.",
        "Ricerca effettuata: {queries} ({places}).",
        "Provi a nominare l'argomento per intero, a chiedere una cosa alla volta o a omettere una data o un luogo.",
        "web",
        "file locali",
    ),
    "pt": Refusal(
        "Não encontrei fontes fiáveis que respondam a esta pergunta.",
        "Pesquisa efetuada: {queries} ({places}).",
        "Experimente indicar o assunto por completo, perguntar uma coisa de cada vez ou omitir uma data ou um lugar.",
        "web",
        "ficheiros locais",
    ),
    "nl": Refusal(
        "Ik heb geen betrouwbare bronnen gevonden die deze vraag beantwoorden.",
        "Er is gezocht naar {queries} ({places}).",
        "Probeer het onderwerp voluit te noemen, één ding tegelijk te vragen, of een datum of plaats weg te laten.",
        "web",
        "lokale bestanden",
    ),
}


def refusal_in(language: str) -> Refusal:
    """`language` is an ISO 639-1 code; English for one that is not known here."""
    return REFUSALS.get(language, _ENGLISH)
