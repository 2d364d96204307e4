"""What stands in an answer's place where the sources have none: in the language of the question, where known.

Whole sentences of their own, stored with the answer; all else that people read is said by core/text/saying.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.model.errors import places_of
from core.presentation.wording import NO_ANSWER

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
