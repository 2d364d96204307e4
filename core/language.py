"""Which language a short text is in: by script, then by function words. A guess that the plan call may refine."""

from __future__ import annotations

import regex

_SCRIPTS = (
    ("ja", regex.compile(r"[\p{Hiragana}\p{Katakana}]")),
    ("ko", regex.compile(r"\p{Hangul}")),
    ("zh", regex.compile(r"\p{Han}")),
    ("uk", regex.compile(r"[іїєґІЇЄҐ]")),
    ("ru", regex.compile(r"\p{Cyrillic}")),
    ("fa", regex.compile(r"[پچژگ]")),
    ("ar", regex.compile(r"\p{Arabic}")),
    ("he", regex.compile(r"\p{Hebrew}")),
    ("el", regex.compile(r"\p{Greek}")),
    ("hi", regex.compile(r"\p{Devanagari}")),
    ("th", regex.compile(r"\p{Thai}")),
)
_FUNCTION_WORDS = {
    "en": "the of and is are was what how why which does do did in to for a an with from who when where can",
    "de": "der die das und ist sind wie was warum wer welche nicht ein eine für mit auf von den dem wird werden hat",
    "fr": "le la les des est sont et comment pourquoi que quel quelle qui une un dans pour avec du au aux quelles",
    "es": "el los las es son y cómo por qué cuál quién una un en para con del al cuándo dónde está",
    "it": "il gli è sono e come perché che quale chi una un nel per con della del di cosa quando dove",
    "pt": "o os as é são e como por que qual quem uma um em para com do da não quando onde está",
    "nl": "de het een en is zijn wat hoe waarom wie welke niet voor met van op wordt wanneer waar",
    "sv": "och är det en ett som vad hur varför vem vilken inte för med av på när",
    "pl": "i jest są co jak dlaczego kto który nie w z na do się czy kiedy gdzie",
    "tr": "ve bir bu ne nasıl neden kim hangi için ile mi nedir zaman nerede",
}
_WORD_SETS = {code: frozenset(listed.split()) for code, listed in _FUNCTION_WORDS.items()}


def detect_language(text: str) -> str:
    """An ISO 639-1 code; `en` when nothing tells (names, numbers, a single word)."""
    letters = len(regex.findall(r"\p{L}", text)) or 1
    for code, script in _SCRIPTS:
        # One foreign name in an English sentence is no foreign sentence.
        if len(script.findall(text)) / letters > (0.02 if code == "uk" else 0.2):
            return code
    tokens = regex.findall(r"\p{L}+", text.casefold())
    scores = {code: sum(token in listed for token in tokens) for code, listed in _WORD_SETS.items()}
    best = max(scores, key=lambda code: (scores[code], code == "en"))
    return best if scores[best] else "en"
