"""What may be asked next, and what stands in an answer's place where the sources have none: whole sentences in seven
languages, kept with the answer.

Follow-ups are questions of the writer's own on what it has just said, else templates. The writer has read the web, so
nothing of its questions is shown that is more than a question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

import regex

from core.model.answer import Confidence, JobResult
from core.model.errors import places_of
from core.model.job import ResearchJob
from core.presentation.render import one_line
from core.presentation.wording import NO_ANSWER
from core.text.injection import is_instruction
from core.text.language import KNOWN, language_of

MAX_CHARS = 75  # of a Slack button; a longer question is no button
MOST, LEAST = 3, 2
MIN_CHARS = 8
_ASKS = ("?", "？", "؟")
_MORE_THAN_WORDS = regex.compile(r"://|\bwww\.|\bmailto:|[<>@#`|\\{}\[\]*_~]", regex.IGNORECASE)


@dataclass(frozen=True)
class _Templates:
    """`disagree` has a place for the `subject`."""

    disagree: str
    unknown: str
    against: str
    factual: str
    comparison: str
    explanation: str
    current_event: str


_IN: Mapping[str, _Templates] = {
    "en": _Templates(
        "Why do the sources disagree on {subject}?",
        "What is still unknown about this?",
        "What speaks against this?",
        "How is this known?",
        "Which of them suits whom?",
        "Can you explain it more simply?",
        "What happened before that?",
    ),
    "de": _Templates(
        "Warum sind die Quellen sich bei {subject} uneins?",
        "Was ist darüber noch unbekannt?",
        "Was spricht dagegen?",
        "Woher weiß man das?",
        "Was davon passt für wen?",
        "Kannst du es einfacher erklären?",
        "Was war davor?",
    ),
    "fr": _Templates(
        "Pourquoi les sources divergent-elles sur {subject} ?",
        "Qu'est-ce qu'on en ignore encore ?",
        "Qu'est-ce qui s'y oppose ?",
        "Comment le sait-on ?",
        "Lequel convient à qui ?",
        "Peux-tu l'expliquer plus simplement ?",
        "Que s'est-il passé avant ?",
    ),
    "es": _Templates(
        "¿Por qué no coinciden las fuentes en {subject}?",
        "¿Qué se desconoce todavía de esto?",
        "¿Qué habla en contra de esto?",
        "¿Cómo se sabe esto?",
        "¿Cuál conviene a quién?",
        "¿Puedes explicarlo de forma más sencilla?",
        "¿Qué pasó antes?",
    ),
    "it": _Templates(
        "Perché le fonti non concordano su {subject}?",
        "Che cosa non si sa ancora di questo?",
        "Che cosa parla contro questo?",
        "Come si sa questo?",
        "Quale conviene a chi?",
        "Puoi spiegarlo in modo più semplice?",
        "Che cosa è successo prima?",
    ),
    "pt": _Templates(
        "Por que as fontes divergem sobre {subject}?",
        "O que ainda não se sabe sobre isto?",
        "O que fala contra isto?",
        "Como se sabe isto?",
        "Qual deles serve a quem?",
        "Podes explicar de forma mais simples?",
        "O que aconteceu antes?",
    ),
    "nl": _Templates(
        "Waarom zijn de bronnen het oneens over {subject}?",
        "Wat is hierover nog onbekend?",
        "Wat spreekt hiertegen?",
        "Hoe weten we dit?",
        "Welke past bij wie?",
        "Kun je het eenvoudiger uitleggen?",
        "Wat gebeurde er daarvoor?",
    ),
}


_TEMPLATE = regex.compile(
    rf"(?:{'|'.join(regex.escape(one.rstrip(' ?')) for said in _IN.values() for one in astuple(said))})".replace(
        regex.escape("{subject}"), ".+?"
    )
    + r"(?: ?\?| ?: (?P<topic>.+))"
)


def follow_ups(job: ResearchJob, result: JobResult) -> tuple[str, ...]:
    """Two or three questions, each at most `MAX_CHARS`, in the language of the answer; none where that is no answer,
    and not the one just answered.

    The writer's, filled up with templates: the sources' disagreement first, then what the kind of question leaves
    open, then what any answer does. Where no templates are known it takes two of the writer's.
    """
    answer = result.answer
    if answer is None or answer.confidence is Confidence.INSUFFICIENT:
        return ()
    asked = [*answer.follow_ups]
    templates = _IN.get(job.intent.language or "en")
    if templates is not None:
        subjects = [one for conflict in answer.conflicts if _is_plain(one := one_line(conflict.subject))]
        of_kind = getattr(templates, result.question_type) if result.question_type else ""
        general = [of_kind, templates.against, templates.unknown]
        asked += [templates.disagree.format(subject=subject) for subject in subjects[:1]] + general
    kept = [one for one in dict.fromkeys(asked) if one not in ("", job.query) and len(one) <= MAX_CHARS]
    return tuple(kept[:MOST]) if len(kept) >= LEAST else ()


def is_template(question: str) -> bool:
    """Whether it is one of ours, which all lean on what was asked before."""
    found = _TEMPLATE.fullmatch(question.strip())
    return found is not None and not found["topic"]


def asked_of(template: str, last: str) -> str:
    """The template as somebody asks it of the `last` question: that comes behind it, without a template of its own."""
    gap = " : " if template.endswith(" ?") else ": "
    return f"{template.rstrip(' ?')}{gap}{topic_of(last).lstrip('¿¡ ')}"


def topic_of(question: str) -> str:
    """The question that a template was asked of; any other as it is."""
    found = _TEMPLATE.fullmatch(question.strip())
    return (found["topic"] if found else None) or question


def worth_asking(asked: Sequence[str], question: str, language: str) -> tuple[str, ...]:
    """Of the writer's questions those that are short, in this language, not the one just answered, and nothing else.

    An address, a mention, an order to a machine was not asked for, nor English in the place of another language; words
    as few tell no closer languages apart.
    """
    said = {_plain(question): ""}
    for one in map(one_line, asked):
        is_question = MIN_CHARS <= len(one) <= MAX_CHARS and one.endswith(
            (*_ASKS, *([";"] if language == "el" else []))
        )
        said_in = language_of(one) or language
        is_foreign = language in KNOWN and said_in != language and "en" in (language, said_in)
        if is_question and not is_foreign and _is_plain(one):
            said.setdefault(_plain(one), one)
    return tuple(filter(None, said.values()))[:MOST]


def _is_plain(said: str) -> bool:
    return bool(said) and not (_MORE_THAN_WORDS.search(said) or is_instruction(said))


def _plain(question: str) -> str:
    return regex.sub(r"[\W_]+", " ", question).strip().casefold()


# What stands in an answer's place where the sources have none: in the language of the question, where known


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
        "Ort wegzulassen. Fragen Sie in der Sprache der Quellen, wenn es eine andere ist.",
        "Web",
        "lokale Dateien",
    ),
    "fr": Refusal(
        "Je n'ai pas trouvé de sources fiables qui répondent à cette question.",
        "Recherche effectuée : {queries} ({places}).",
        "Essayez de nommer le sujet en entier, de poser une seule question à la fois ou d'omettre une date ou un lieu. "
        "Posez-la dans la langue des sources si c'en est une autre.",
        "Web",
        "fichiers locaux",
    ),
    "es": Refusal(
        "No he encontrado fuentes fiables que respondan a esta pregunta.",
        "Se ha buscado {queries} ({places}).",
        "Pruebe a nombrar el tema por completo, a preguntar una sola cosa a la vez o a omitir una fecha o un lugar. "
        "Pregunte en el idioma de las fuentes si es otro.",
        "web",
        "archivos locales",
    ),
    "it": Refusal(
        "Non ho trovato fonti affidabili che rispondano a questa domanda.",
        "Ricerca effettuata: {queries} ({places}).",
        "Provi a nominare l'argomento per intero, a chiedere una cosa alla volta o a omettere una data o un luogo. "
        "Chieda nella lingua delle fonti, se è un'altra.",
        "web",
        "file locali",
    ),
    "pt": Refusal(
        "Não encontrei fontes fiáveis que respondam a esta pergunta.",
        "Pesquisa efetuada: {queries} ({places}).",
        "Experimente indicar o assunto por completo, perguntar uma coisa de cada vez ou omitir uma data ou um lugar. "
        "Pergunte na língua das fontes, se for outra.",
        "web",
        "ficheiros locais",
    ),
    "nl": Refusal(
        "Ik heb geen betrouwbare bronnen gevonden die deze vraag beantwoorden.",
        "Er is gezocht naar {queries} ({places}).",
        "Probeer het onderwerp voluit te noemen, één ding tegelijk te vragen, of een datum of plaats weg te laten. "
        "Vraag in de taal van de bronnen als dat een andere is.",
        "web",
        "lokale bestanden",
    ),
}


def refusal_in(language: str) -> Refusal:
    """`language` is an ISO 639-1 code; English for one that is not known here."""
    return REFUSALS.get(language, _ENGLISH)
