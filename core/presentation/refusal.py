"""What stands in an answer's place where the sources have none, in the language of the question.

An answer is in the question's language, so this is too, where it is known here; all else that gorkd says of an
answer is in English (core/presentation/wording.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.presentation.wording import NO_ANSWER

MAX_NAMED = 4  # queries; more is not read


@dataclass(frozen=True)
class Refusal:
    """`searched` has places for `queries` and `places`; `advice` says what to ask instead."""

    no_answer: str
    searched: str
    advice: str
    local_files: str

    def summary(self, queries: Sequence[str], places: Sequence[str]) -> str:
        """With what was searched for and where, where anything was."""
        if not places:
            return self.no_answer
        named = ", ".join(f'"{query}"' for query in queries[:MAX_NAMED])
        return f"{self.no_answer} {self.searched.format(queries=named, places=', '.join(self._named(places)))}"

    def _named(self, places: Sequence[str]) -> list[str]:
        return [self.local_files if place == "files" else place for place in places]


_ENGLISH = Refusal(
    NO_ANSWER,
    "Searched for {queries} in {places}.",
    "Try naming the subject in full, asking one thing at a time, or leaving out a date or a place.",
    "local files",
)
REFUSALS: Mapping[str, Refusal] = {
    "en": _ENGLISH,
    "de": Refusal(
        "Ich habe keine verlässlichen Quellen gefunden, die das beantworten.",
        "Gesucht wurde nach {queries} in {places}.",
        "Versuchen Sie, den Gegenstand ganz zu nennen, nach einer Sache auf einmal zu fragen oder ein Datum oder einen "
        "Ort wegzulassen.",
        "lokalen Dateien",
    ),
    "fr": Refusal(
        "Je n'ai pas trouvé de sources fiables qui répondent à cette question.",
        "Recherche effectuée : {queries} dans {places}.",
        "Essayez de nommer le sujet en entier, de poser une seule question à la fois ou d'omettre une date ou un lieu.",
        "les fichiers locaux",
    ),
    "es": Refusal(
        "No he encontrado fuentes fiables que respondan a esta pregunta.",
        "Se ha buscado {queries} en {places}.",
        "Pruebe a nombrar el tema por completo, a preguntar una sola cosa a la vez o a omitir una fecha o un lugar.",
        "los archivos locales",
    ),
    "it": Refusal(
        "Non ho trovato fonti affidabili che rispondano a questa domanda.",
        "Ricerca effettuata: {queries} in {places}.",
        "Provi a nominare l'argomento per intero, a chiedere una cosa alla volta o a omettere una data o un luogo.",
        "file locali",
    ),
    "pt": Refusal(
        "Não encontrei fontes fiáveis que respondam a esta pergunta.",
        "Pesquisa efetuada: {queries} em {places}.",
        "Experimente indicar o assunto por completo, perguntar uma coisa de cada vez ou omitir uma data ou um lugar.",
        "ficheiros locais",
    ),
    "nl": Refusal(
        "Ik heb geen betrouwbare bronnen gevonden die deze vraag beantwoorden.",
        "Er is gezocht naar {queries} in {places}.",
        "Probeer het onderwerp voluit te noemen, één ding tegelijk te vragen, of een datum of plaats weg te laten.",
        "lokale bestanden",
    ),
}


def refusal_in(language: str) -> Refusal:
    """`language` is an ISO 639-1 code; English for one that is not known here."""
    return REFUSALS.get(language, _ENGLISH)
