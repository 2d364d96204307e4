"""Which language a short text is in: by script, then by function words. A guess that the plan call may refine."""

from __future__ import annotations

import regex

# A script, the language it stands for, and letters that only some of its languages have.
_SCRIPTS = (
    (
        regex.compile(r"[\p{Hiragana}\p{Katakana}\p{Han}]"),
        "zh",
        (("ja", regex.compile(r"[\p{Hiragana}\p{Katakana}]")),),
    ),
    (regex.compile(r"\p{Hangul}"), "ko", ()),
    (regex.compile(r"\p{Cyrillic}"), "ru", (("uk", regex.compile(r"[іїєґІЇЄҐ]")),)),
    (regex.compile(r"\p{Arabic}"), "ar", (("fa", regex.compile(r"[پچژگکی]")),)),
    (regex.compile(r"\p{Hebrew}"), "he", ()),
    (regex.compile(r"\p{Greek}"), "el", ()),
    (regex.compile(r"\p{Devanagari}"), "hi", ()),
    (regex.compile(r"\p{Thai}"), "th", ()),
)
_MIN_SCRIPT = 0.2  # of the letters; below it a foreign script is a name or a term in a sentence
_SURE_SCRIPT = 0.6  # above it the sentence is in that script, whatever Latin words it holds
_MIN_TELLING = 0.02  # of the script's letters; Ukrainian has 10 % of its own, Persian 8 %, Japanese 20 % and more
_FUNCTION_WORDS = {
    "en": "the of and is are was what how why which does do did in to for a an with from who when where can about at "
    "by on has have been i you my me there should would will could between than it or if",
    "de": "der die das und ist sind wie was warum wer welche nicht ein eine für mit auf von den dem wird werden hat "
    "wann wo wurde kann man gibt es welcher welches darf mein meine seit des zwischen gegen im zu zum zur bei haben "
    "oder aus nach hilft",
    "fr": "le la les des est sont et comment pourquoi que quel quelle qui une un dans pour avec du au aux quelles où "
    "quand combien il elle sur ce cette peut sans en de",
    "es": "el los las es son y cómo por qué cuál quién una un en para con del al cuándo dónde está cuánto cuántos "
    "cuánta cuántas fue hay se tiene la de",
    "it": "il gli è sono e come perché che quale qual chi una un nel per con della del di cosa quando dove la le d ha "
    "quanto quanti quante uno alla si",
    "pt": "o os as é são e como por que qual quem uma um em para com do da não quando onde está há na tem quantos "
    "quantas foi de",
    "nl": "de het een en is zijn wat hoe waarom wie welke niet voor met van op wordt wanneer waar hoeveel heeft er",
    "sv": "och är det en ett som vad hur varför vem vilken inte för med av på när",
    "pl": "i jest są co jak dlaczego kto który nie w z na do się czy kiedy gdzie",
    "tr": "ve bir bu ne nasıl neden kim hangi için ile mi nedir zaman nerede neresi kaç",
}
# Words that deny, lower case; contractions and inflected forms in full. CLDR has none of these, so they are by hand.
_NEGATIONS = {
    "en": "not no never none nobody nothing neither nor without cannot hardly barely scarcely nowhere n't",
    "de": "nicht nichts kein keine keinen keinem keiner keines keinerlei nie niemals niemand niemanden niemandem "
    "nirgends nirgendwo ohne weder noch kaum keineswegs keinesfalls nein",
    "fr": "ne n' pas jamais aucun aucune nul nulle personne rien sans ni guère non nullement",
    "es": "no nunca jamás sin ningún ninguno ninguna ningunos ningunas nadie nada tampoco ni apenas",
    "it": "non mai nessun nessuno nessuna niente nulla senza né neanche nemmeno neppure no affatto",
    "pt": "não nao nunca jamais sem nenhum nenhuma nenhuns nenhumas ninguém nada nem tampouco",
    "nl": "niet niets geen nooit nimmer niemand nergens zonder noch nauwelijks geenszins nee",
}
KNOWN = frozenset(_NEGATIONS)  # languages whose negations, numbers and months the rules know
_WORD_SETS = {code: frozenset(listed.split()) for code, listed in _FUNCTION_WORDS.items()}


def detect_language(text: str) -> str:
    """An ISO 639-1 code; `en` when nothing tells (names, numbers, a single word)."""
    letters = len(regex.findall(r"\p{L}", text)) or 1
    tokens = regex.findall(r"\p{L}+", text.casefold())
    scores = {code: sum(token in listed for token in tokens) for code, listed in _WORD_SETS.items()}
    best = max(scores, key=lambda code: (scores[code], code == "en"))
    for script, code, kin in _SCRIPTS:
        found = len(script.findall(text))
        if found / letters > (_MIN_SCRIPT if scores[best] == 0 else _SURE_SCRIPT):
            own = (name for name, telling in kin if len(telling.findall(text)) / found > _MIN_TELLING)
            return next(own, code)
    return best if scores[best] else "en"


def negations(language: str) -> frozenset[str]:
    """The lower-case words that deny in a language (ISO 639-1); none for one that is not in `KNOWN`."""
    return frozenset(_NEGATIONS.get(language, "").split())
