"""A thread of questions and answers: what a follow-up means, and what a reply asks for.

Pure, but for reading the last turns from the job store. A conversation is valid in its scope alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Literal

import regex

from core.evidence.citations import Grammar, strip_markers
from core.model.errors import InvalidQuery, JobNotFound, StoreError
from core.model.job import MAX_STEERING_CHARS, JobStatus, ResearchJob, ResearchRequest, Scope, Steering, SteeringKind
from core.model.ports import JobStore
from core.pipeline.deps import Deps
from core.presentation import wording
from core.presentation.follow_ups import asked_of, is_template, topic_of
from core.presentation.page_links import is_private
from core.presentation.render import cut, one_line
from core.stages.intake import parse_intent
from core.text.language import language_of
from core.text.leaning import POLITE, first_pointer, is_clause, leaning, without_opening
from core.text.saying import LANGUAGES, say, speaking
from core.text.terms import STOPWORDS, terms
from core.watch.words import read_wish

_AFTER = "local:after:"  # and a job's id
LAPSE = timedelta(minutes=30)  # of silence, after which direct messages are about something else
JUST_AFTER = timedelta(microseconds=1)  # what follows an answer hears it, and nothing that was said later
MAX_TURNS = 5  # questions and answers of a thread that a follow-up may refer to
MAX_SHOWN = 20  # questions of a conversation that a page lists
MAX_ANSWER_CHARS = 600  # of each earlier answer; what a follow-up refers to stands in its first sentences

_TOLD_ANEW = regex.compile(r"(?:explain|translate|summari[sz]e|rephrase|shorten|simplify|repeat|put|say)\b", regex.I)
_REPLACED = frozenset("it they them he she him her its their his this that these those".split())

ReplyKind = Literal[
    "question", "improve", "deeper", "sources", "again", "retry", "cancel", "forget", "history", "help", "courtesy",
    "greeting", "watch", "references", "export", "test", "wrong", "share",
]  # fmt: skip

_PLEASE = r"(?:(?:please|pls|bitte|ok|okay|hey|por favor|per favore)\s*,?\s+)?¡?"
# Who says that an answer is wrong, or doubts it, wants it checked again: nothing in these words is to be looked for.
_WRONG = "|".join(
    (
        r"(?:that|this|it|(?:the|your) answer)(?: is|['’]s| was| seems| looks)?(?: just| simply| still| all| completely"
        r"| totally| clearly)? (?:wrong|incorrect|false|untrue|inaccurate|nonsense|a mistake"
        r"|not (?:right|correct|true|so))",
        r"(?:that|this|it|(?:the|your) answer) (?:isn|wasn|doesn)['’]t (?:(?:look|sound) )?(?:right|correct|true|so)",
        r"i (?:don['’]t|do not) (?:think|believe) (?:that|this|it)(?:['’]s| is) (?:right|correct|true)"
        r"|you(?:['’]re| are) wrong",
        r"(?:(?:das|dies|es|(?:die|deine|ihre) antwort) )?stimmt (?:so |doch |aber |gar |einfach |überhaupt )*nicht",
        r"(?:das|dies|es|(?:die|deine|ihre) antwort) ist (?:so |doch |aber |leider |einfach )*"
        r"(?:falsch|verkehrt|unwahr|unsinn|quatsch|ein fehler|nicht (?:richtig|wahr|korrekt))",
        r"(?:c['’]est|(?:la|ta|votre) réponse est) (?:complètement |totalement )?(?:fau(?:x|sse)|incorrecte?|inexacte?"
        r"|une erreur|pas (?:vrai|exact|correct|juste)e?)|ce n['’]est pas (?:vrai|exact|correct|juste)",
        r"tu te trompes|vous vous trompez|te equivocas|se equivoca|ti sbagli|si sbaglia"
        r"|(?:você está|estás) (?:errad|enganad)[oa]",
        r"(?:(?:eso|esto|la respuesta) )?(?:no es (?:verdad|así|(?:ciert|correct)[oa])"
        r"|es (?:fals|incorrect|erróne)[oa]|está (?:mal|equivocad[oa]))",
        r"(?:(?:questo|ciò|la risposta) )?(?:non è (?:vero|così|(?:corrett|giust|esatt)[oa])"
        r"|è (?:fals|sbagliat|errat)[oa])",
        r"(?:(?:isso|isto|a resposta) )?(?:não (?:é|está) (?:verdade|assim|(?:corret|cert)[oa])"
        r"|(?:é|está) (?:fals|errad|incorret)[oa])",
        r"(?:(?:dat|dit|het antwoord) )?klopt (?:helemaal |echt |gewoon )?niet",
        r"(?:dat|dit|het(?: antwoord)?) is (?:gewoon )?(?:fout|onjuist|onwaar|verkeerd"
        r"|niet (?:waar|juist|correct|goed))",
    )
)
_NO = r"(?:(?:no|nope|nein|nee|non|não|sorry|wait|hm+|but|aber|mais|pero|ma|mas|maar)[\s,.!]+)?"
_DOUBTED = "|".join(
    (
        r"are you (?:really |quite )?sure(?: (?:about|of) (?:that|this|it))?",
        r"is (?:that|this|it) (?:really |actually )?(?:true|right|correct)",
        r"(?:bist du(?: dir)?|sind sie(?: sich)?) (?:da )?sicher|stimmt das(?: wirklich)?"
        r"|ist das (?:wirklich )?(?:wahr|richtig)",
        r"(?:es-tu|tu es|êtes-vous|vous êtes) sûre?s?|(?:c['’]est|est-ce) (?:bien |vraiment )?(?:vrai|exact|correct)",
        r"¿?(?:está|estás|estas) segur[oa]|¿?(?:de verdad )?es (?:cierto|verdad|correcto)(?: eso)?",
        r"(?:sei|è) sicur[oa]|è (?:davvero )?(?:vero|corretto)",
        r"(?:você )?tem certeza|tens a certeza|(?:isso )?é (?:mesmo )?(?:verdade|correto)",
        r"weet je (?:het|dat) zeker|klopt (?:dat|dit)(?: wel)?|is dat (?:echt )?(?:waar|juist)",
    )
)
# To check a list of references, in the other six languages.
_CHECK = r"(?:(?:über)?prüfen?|kontrollieren?|vérifie[rz]?|(?:revis|verifi(?:c|qu)|compr(?:ue|o)b|control[le])[ae]r?e?)"
_REFERENCES = (
    r"(?:literatur(?:angaben|liste|verzeichnis)|quellenangaben|referen(?:zen|cias|ze|ties)|références|referências"
    r"|riferimenti|bibliogra(?:f|ph)[iíy][ae]?|literatuurlijst|bronvermeldingen)"
)
_WHOLE: tuple[tuple[ReplyKind, str], ...] = (
    (
        "wrong",
        rf"{_NO}(?:{_WRONG}|wrong(?: answer)?|incorrect|falsch|faux|errado|sbagliato|onjuist)|(?:{_DOUBTED})\s?\?+",
    ),
    ("sources", r"(?:show\s+|list\s+|give\s+)?(?:me\s+)?(?:the\s+|your\s+|its\s+|all\s+)*(?:sources|references)"),
    ("deeper", r"(?:go\s+|dig\s+|look\s+)?deeper"),
    ("again", r"(?:ask\s+|try\s+)?again|refresh"),
    ("retry", r"retry"),
    (
        "cancel",
        r"(?:cancel|stop|abort)(?:\s+(?:it|this|that|now|the\s+research|my\s+question|searching|researching))?|never\s?mind"
        r"|stopp|abbrechen|abbruch|arrête[zr]?|annule[zr]?|cancelar?|detente|annulla|fermati?|basta|annuleer|annuleren",
    ),
    (
        "forget",
        r"forget(?:\s+(?:this|it|that|my\s+question))?|vergiss(?:\s+(?:das|es))?|vergessen|oublie[rz]?(?:\s+(?:ça|cela))?"
        r"|olv[ií]da(?:r|lo)?|dimentica(?:re|lo)?|esquecer?|vergeet(?:\s+(?:dit|het))?",
    ),
    ("history", r"(?:my\s+)?history"),
    (
        "help",
        r"help(?:\s+(?:me|mij|us))?|hilfe|hilf\s+mir|helfen\s+sie\s+mir|(?:à\s+l['’])?aide|aide[zr]?-moi|ayuda|ay[uú]d[ae]me"
        r"|aiuto|aiutami|ajuda|(?:me\s+)?ajud[ae](?:-me)?|hulp",
    ),
    ("improve", r"improve(?:\s+(?:this|it|that|the\s+answer))?"),
    (
        "export",
        r"(?:export(?:\s+(?:this|it|that|the\s+answer))?|(?:(?:give|send|show)\s+(?:me\s+)?)?(?:the\s+|a\s+)?receipt)",
    ),
    ("test", r"make\s+(?:this|it|that)\s+a\s+test"),
    ("share", r"share(?:\s+(?:this|it|that|the\s+answer))?"),
    (
        "references",
        r"(?:check|verify|validate|review)\s+(?:all\s+)?(?:of\s+)?(?:the|my|our|these|this|its|their)?\s*"
        r"(?:references|refs|reference\s+list|bibliography|citations)"
        r"(?:\s+(?:in|of|from)\s+(?:the|this|that|my|our|attached)?\s*(?:attached\s+)?"
        r"(?:file|list|paper|document|pdf|manuscript|thesis|text|attachment))?"
        rf"|{_CHECK}(?:\s+\p{{L}}+){{0,3}}\s+{_REFERENCES}|(?:\p{{L}}+\s+)?{_REFERENCES}\s+(?:über)?prüfen",
    ),
)
_LED: tuple[tuple[ReplyKind, str], ...] = (
    (
        "improve",
        r"improve(?:\s+(?:this|it|that|the\s+answer|your\s+answer))?(?:\s*[:,–—-]+\s*|\s+(?:by|with|and)\s+|\s+)",
    ),
    (
        "improve",
        r"(?:please\s+)?make\s+(?:it|this|that|the\s+answer|your\s+answer)\s+"
        r"(?=(?:an?\s+(?:bit|little)\s+|much\s+)?(?:short|long|simpl|clear|easi|brief)er\b|(?:an?\s+(?:bit|little)\s+|much\s+)?(?:more|less)\s)",
    ),
    ("deeper", r"(?:(?:go|dig|look)\s+)?deeper(?:\s*[:,–—-]+\s*|\s+(?:on|into|in)\s+)"),
    ("test", r"make\s+(?:this|it|that)\s+a\s+test\s*[:,–—-]+\s*"),
    ("wrong", rf"{_NO}(?:{_WRONG})(?:\s*[,.:;!–—-]+\s*|\s+(?=(?:because|weil|car|porque|perché|omdat)\s))"),
)
_LABELS: Mapping[ReplyKind, Sequence[str]] = {  # what a button says is a word, too, in any language
    "sources": (wording.SOURCES, wording.SHOW_SOURCES), "deeper": (wording.GO_DEEPER,), "again": (wording.ASK_AGAIN,),
    "retry": (wording.RETRY,), "improve": (wording.IMPROVE,), "export": (wording.EXPORT,),
    "share": (wording.SHARE,), "help": (wording.SETTINGS,),
}  # fmt: skip
# What is said to be kind or to end a conversation, in the seven languages of core/text/leaning.toml: nothing but these.
_KIND = frozenset(
    """thanks thank thx ty cheers ok okay okey k kk great cool nice good perfect awesome excellent brilliant wonderful
    super amazing understood wow noted bye goodbye danke dankeschön prima toll klasse verstanden genial gut tschüss
    merci parfait génial compris bien gracias vale perfecto entendido bueno estupendo adiós grazie perfetto ottimo
    capito bene ciao obrigado obrigada valeu perfeito ótimo entendi certo beleza tchau bedankt dank
    dankjewel dankuwel top mooi begrepen oké goed doei""".split()
)
_BESIDE_KIND = frozenset(
    """you u much very so a lot many again for the your help answer all got it i see that's thats well done job work
    vielen sehr schön dir ihnen für die antwort hilfe alles klar beaucoup très pour la réponse votre ton aide c'est
    d'accord muchas mil muy por la respuesta ayuda todo mille molto tante per risposta va aiuto muito muita pela
    resposta tudo bem je jullie wel heel erg hartelijk voor het antwoord hulp""".split()
)
_WHOLLY_KIND = ("got it", "i see", "well done", "alles klar", "d'accord", "d’accord", "va bene", "tudo bem")
_MAX_KIND_WORDS = 8
# How a conversation begins: nothing to research, and whoever does so wants to know what can be asked.
_GREETING = regex.compile(
    r"[¡¿]?(?:(?:hello|hi|hiya|hey|good (?:morning|afternoon|evening|day)|hallo|moin|servus|guten (?:morgen|tag|abend)"
    r"|bonjour|bonsoir|salut|hola|buenos d[ií]as|buenas (?:tardes|noches)|buongiorno|buonasera|salve|ol[áa]|oi|bom dia"
    r"|boa (?:tarde|noite)|hoi|goede(?:morgen|middag|navond|ndag))(?: (?:there|bot|gorkd))?"
    r"|what (?:can|do) you do|(?:who|what) are you|was kannst du|wer bist du|que (?:peux-tu|pouvez-vous) faire"
    r"|qui es-tu|qu[ée] puedes hacer|qui[ée]n eres|(?:che )?cosa (?:sai|puoi) fare|chi sei"
    r"|o que (?:voc[êe] )?(?:pode|sabe) fazer|quem [ée] voc[êe]|wat kun je(?: doen)?|wie ben je)\s*[.!?]*",
    regex.IGNORECASE,
)
_EMOJI_NAME = regex.compile(r":[a-z0-9_+'-]+:(?::skin-tone-\d:)?")  # as Slack writes them
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}'’.-]*")
_BETWEEN = regex.compile(r"(?<=\?)\s+")  # what was asked one after the other; not behind the point of `E. coli`
_MAX_SINCE = 2  # follow-ups kept behind the first question: more of them mean too much at once to be searched


@dataclass(frozen=True)
class Turn:
    """A question as it was understood, and the beginning of its answer without markers."""

    question: str
    answer: str


@dataclass(frozen=True)
class ReadReply:
    """What somebody wrote under an answer. `rest` is the question, a wish for the deed, or why something is `wrong`."""

    kind: ReplyKind
    rest: str = ""


def read_reply(text: str) -> ReadReply:
    """Whether a reply is one of our words or a question. Words alone, or `improve` and `deeper` with what follows.

    A sentence that ends in a question mark is a question, whatever word it begins with, but "what can you do?" and "are
    you sure?".
    """
    said = " ".join(text.split())
    if _is_courtesy(said):
        return ReadReply("courtesy")
    if _GREETING.fullmatch(said):
        return ReadReply("greeting")
    if read_wish(said):
        return ReadReply("watch", said)
    replies, leads = _words()
    for kind, whole in replies:
        if whole.fullmatch(said):
            return ReadReply(kind)
    if not said.endswith("?"):
        for kind, lead in leads:
            found = lead.match(said)
            if found and said[found.end() :].strip():
                return ReadReply(kind, said[found.end() :].strip())
    return ReadReply("question", text.strip())


@cache
def _words() -> tuple[list[tuple[ReplyKind, regex.Pattern[str]]], list[tuple[ReplyKind, regex.Pattern[str]]]]:
    """Our words alone, and what leads to more."""
    labels: dict[ReplyKind, str] = {}
    for language in LANGUAGES:
        with speaking(language):
            for kind, said in _LABELS.items():
                labels[kind] = labels.get(kind, "") + "".join(f"|{regex.escape(say(label))}" for label in said)
    wholes = [(kind, rf"{_PLEASE}(?:{words}{labels.get(kind, '')}){POLITE}?\s*[.!]*") for kind, words in _WHOLE]
    leads = [*_LED, *((kind, rf"(?:{labels[kind][1:]})\s*:\s*") for kind in ("improve", "deeper"))]
    return (
        [(kind, regex.compile(words, regex.IGNORECASE)) for kind, words in wholes],
        [(kind, regex.compile(words, regex.IGNORECASE)) for kind, words in leads],
    )


def _is_courtesy(said: str) -> bool:
    """Thanks, an ok, a thumb: nothing that could be answered."""
    plain = _EMOJI_NAME.sub(" ", said).casefold()
    if not said or "?" in plain:
        return False
    words = [word.strip("'’") for word in regex.findall(r"[\p{L}\p{N}'’]+", plain)]
    if not words:
        return True
    if " ".join(words).replace("’", "'") in _WHOLLY_KIND:
        return True
    is_kind = any(word in _KIND for word in words) and len(words) <= _MAX_KIND_WORDS
    return is_kind and all(word in _KIND or word in _BESIDE_KIND for word in words)


async def turns_behind(job: ResearchJob, deps: Deps) -> tuple[Turn, ...]:
    """The turns that the job's question may lean on; none where it stands alone: then the old topic is not its own."""
    return () if stands_alone(job.query) else await read_turns(job, deps)


async def read_turns(job: ResearchJob, deps: Deps) -> tuple[Turn, ...]:
    """The last turns of the job's thread before it, oldest first; none when the store fails.

    Direct messages are one conversation, of which the latest topic counts: what was said within `LAPSE` of each other
    and is about the same.
    """
    try:
        return await _read_turns(job, deps.jobs) if job.request.thread else ()
    except StoreError as exc:
        deps.count_error("plan", exc)
        return ()


def following(job: ResearchJob, request: ResearchRequest) -> ResearchRequest:
    """The request as one that follows the job, in its conversation and scope: "and in winter?" is understood then.

    Whoever calls has made sure that the asker may read the job. Raises `JobNotFound` for a job of another tenant, and
    `InvalidQuery` for a private question, or one with files, after one that is open: whoever may read one question of a
    conversation may read all.
    """
    if job.scope.tenant != request.scope.tenant:
        raise JobNotFound(job.id)
    if (request.is_private or request.scope.is_one_persons) and not is_private(job):
        raise InvalidQuery(
            say("What follows an open question is open too: ask it by itself to keep it, or its files, private."),
            rule="private",
        )
    is_kept = job.request.is_private or bool(job.request.attachments)
    if "library" in job.request.modes and request.modes == ResearchRequest.modes:  # nobody chose to leave the papers
        request = replace(request, modes=job.request.modes)
    heard = job.created_at + JUST_AFTER
    return replace(request, scope=job.scope, thread=talk_of(job), is_private=is_kept, heard_before=heard)


def talk_of(job: ResearchJob) -> str:
    """The conversation of what is said under an answer; answers that a watch gave are each the first of another."""
    return job.request.thread if job.request.thread and not job.request.watch else f"{_AFTER}{job.id}"


async def conversation_of(job: ResearchJob, jobs: JobStore, *, now: datetime) -> list[ResearchJob]:
    """The questions of a conversation that began with `following`, oldest first; [] for any other job."""
    thread = talk_of(job)
    if not thread.startswith(_AFTER):
        return []
    after = await jobs.in_thread(job.scope, thread, before=now, limit=MAX_SHOWN)
    return [*await first_of(thread, job.scope, jobs), *reversed(after)] if after else []


async def _read_turns(job: ResearchJob, jobs: JobStore) -> tuple[Turn, ...]:
    moment = job.request.heard_before or job.created_at
    earlier = await jobs.in_thread(job.scope, job.request.thread, before=moment, limit=MAX_TURNS)
    earlier += await first_of(job.request.thread, job.scope, jobs)
    turns: list[Turn] = []  # newest first
    is_new_topic = False  # whether the turn read last began one
    for past in earlier[:MAX_TURNS]:
        if _is_direct(job) and moment - (past.completed_at or past.created_at) > LAPSE:
            break
        result = await jobs.result(past.id)
        answer, question = result and result.answer, (result and result.understood) or past.query
        is_repeated = question in ("", *(turn.question for turn in turns))
        if answer is None and (is_repeated or past.status is JobStatus.CANCELLED):
            continue  # else what has failed, or is still researched, was asked all the same
        said = strip_markers(answer.summary, Grammar.NUMBER) if answer else ""
        turn = Turn(question, cut(one_line(said), MAX_ANSWER_CHARS))
        if is_new_topic and set(terms(turns[-1].question)).isdisjoint(terms(f"{turn.question} {turn.answer}")):
            break
        turns.append(turn)
        moment = past.created_at
        is_new_topic = _is_direct(job) and stands_alone(past.query)
    return tuple(reversed(turns))


async def first_of(thread: str, scope: Scope, jobs: JobStore) -> list[ResearchJob]:
    """What a conversation began with that only its follow-ups name; [] for other threads, or where it was forgotten."""
    if not thread.startswith(_AFTER):
        return []
    try:
        first = await jobs.get(thread.removeprefix(_AFTER))
    except JobNotFound:
        return []
    return [first] if first.scope == scope else []


def _is_direct(job: ResearchJob) -> bool:
    """Whether its conversation is all that one person writes in private, not a thread."""
    request = job.request
    return job.scope.is_one_persons and not request.channel and request.thread.count(":") == 1


def needs_context(question: str, behind: str = "") -> bool:
    """Whether the question leans on what was said before: a pronoun, an opening `and`, or next to no words."""
    return is_template(question) or leaning(question, behind) == "leans"


def stands_alone(question: str) -> bool:
    """Whether rules are sure that it leans on nothing."""
    return not is_template(question) and leaning(question) == "alone"


def leans_on_thread(job: ResearchJob) -> bool:
    """A follow-up means something else in another conversation, and at another time in the same one."""
    return bool(job.request.thread) and needs_context(job.query)


def may_lean(job: ResearchJob) -> bool:
    """Whether it leans on its thread, or rules cannot tell."""
    return bool(job.request.thread) and not stands_alone(job.query)


def standalone_by_rules(question: str, turns: Sequence[Turn]) -> str:
    """The question so that it can be understood alone; unchanged where it can be, or where nothing was said before.

    A pronoun is replaced by the last question's subject. A bare name ("And France?") replaces the name in the last
    question. Where neither fits, the question is put behind the last one. A question that gorkd itself has offered is
    asked of the last question that somebody wrote.
    """
    if not turns or not needs_context(question, turns[-1].question):
        return question
    if is_template(question):
        return asked_of(question, turns[-1].question)
    last = topic_of(turns[-1].question)
    asking = bare if is_clause(bare := last.lstrip("¿¡ ")) else ""
    names = [name for name in parse_intent(last).entities if not asking.startswith(name)]
    core = without_opening(question, last)
    own = parse_intent(core).entities or parse_intent(core[:1].upper() + core[1:]).entities
    pointer = None if _TOLD_ANEW.match(core) else first_pointer(core)  # "translate it" is of what was answered
    if names and pointer and (language_of(core) or "en") == "en" and pointer.group().casefold() in _REPLACED:
        subject = f"the {names[0]}" if regex.search(rf"\bthe\s+{regex.escape(names[0])}", last, regex.I) else names[0]
        owner = "" if not pointer["own"] else "'" if subject.endswith("s") else "'s"
        said = f"{core[: pointer.start()]}{subject}{owner}{core[pointer.end() :]}"
        return said[:1].upper() + said[1:]
    telling = [word for word in _WORD.findall(core) if word.rstrip(".'’-").casefold() not in STOPWORDS]
    if names and own and not is_clause(core) and len(telling) <= len(_WORD.findall(own[0])):
        return _in_place_of(last, names, own[0], core) or _after(last, question)
    return _after(last, question)


def _in_place_of(last: str, names: Sequence[str], name: str, core: str) -> str:
    """`What is the capital of Germany?` and `France` make `What is the capital of France?`; "" where none gives way.

    Words before the name say which: `in Blackpool` goes where one says `in Paris`.
    """
    before = regex.escape(core.partition(name)[0].strip())
    names = [one for one in names if (" of " in one) == (" of " in name)]  # no `Microsoft` for the `CEO of Apple`
    if language_of(last) == "de":  # where every noun is a name by its capital; one with an article would be declined
        names, before = [one.rpartition(" ")[2] for one in names], before or r"(?:von|in|aus|nach|für|mit|bei|über)"
    where = rf"\b{before}\s+(?:the\s+)?" if before else ""  # and no name that goes on with a number, `Python 3.12`
    behind = regex.compile(rf"{where}(\L<names>)\b(?! \d)", regex.I, names=names)
    found = behind.findall(last) if names else []
    is_clear = bool(found and (before or len({*found}) == 1))  # bare, `Newton` may be meant for either of two
    return last.replace(found[-1], name) if is_clear and found[-1] != name else ""


def _after(last: str, question: str) -> str:
    """Both, as one who says all at once: `How does caffeine affect sleep? And in children?`"""
    asked, *since = (_ended(one) for one in _BETWEEN.split(last.strip()))
    return " ".join([asked, *since[-_MAX_SINCE:], _ended(question)])


def _ended(question: str) -> str:
    """As a sentence is written, with its first capital and its mark."""
    bare = question.strip().lstrip("¿¡ ")
    first = bare[:1].upper() if bare.partition(" ")[0].islower() else bare[:1]  # `iPhone` has its own
    return f"{'¿' * question.startswith('¿')}{first}{bare[1:]}{'?' * bare[-1:].isalnum()}"


# What somebody says to a job that is running


def read_steering(words: str) -> Steering:
    """What somebody means who writes `words` to a running job: a command by its first words, else a constraint."""
    text = one_line(words)[:MAX_STEERING_CHARS]
    for pattern, kind in _COMMANDS:
        match = pattern.fullmatch(text)
        if match:
            return Steering(kind, (match.groupdict().get("text") or "").strip(" .\"'“”"))
    return Steering("constraint", text)


_END = r"[\s.!]*"
_COMMANDS: tuple[tuple[regex.Pattern[str], SteeringKind], ...] = (
    (regex.compile(r"(?:please )?(?:also )?add(?: an?)?(?: item| point)?\s*:?\s+(?P<text>.+)", regex.I), "add_item"),
    (regex.compile(r"(?:please )?(?:drop|remove|skip)(?: item| point)?\s*:?\s*#?(?P<text>.+)", regex.I), "drop_item"),
    (regex.compile(rf"(?:please )?(?:go |dig )?deeper{_END}", regex.I), "go_deeper"),
    (regex.compile(rf"(?:please )?(?:answer|finish|wrap up)(?: it)?(?: now)?{_END}", regex.I), "answer_now"),
    (regex.compile(rf"(?:please )?(?:cancel|stop)(?: it)?{_END}", regex.I), "cancel"),
)
