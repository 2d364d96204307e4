"""Which language a short text is in, and what rules must know of a language: its small words, denials and stems.

By script, then by function words, then by a model of bytes; a guess that the plan call may refine.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from math import log
from threading import Lock
from typing import TYPE_CHECKING

import regex

from core.text.numbers import numerals

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# A script, the language it stands for, letters that only some of its languages have, and whether it has many more.
_SCRIPTS = (
    (
        regex.compile(r"[\p{Hiragana}\p{Katakana}\p{Han}]"),
        "zh",
        (("ja", regex.compile(r"[\p{Hiragana}\p{Katakana}]")),),
        False,
    ),
    (regex.compile(r"\p{Hangul}"), "ko", (), False),
    (regex.compile(r"\p{Cyrillic}"), "ru", (("uk", regex.compile(r"[іїєґІЇЄҐ]")),), True),
    (regex.compile(r"\p{Arabic}"), "ar", (("fa", regex.compile(r"[پچژگکی]")),), True),
    (regex.compile(r"\p{Hebrew}"), "he", (), False),
    (regex.compile(r"\p{Greek}"), "el", (), False),
    (regex.compile(r"\p{Devanagari}"), "hi", (), True),
    (regex.compile(r"\p{Thai}"), "th", (), False),
)
_WORD = regex.compile(r"\p{L}+")
_FOREIGN = regex.compile(r"(?!\p{Latin})\p{L}+")
_LOADING = Lock()
_MIN_SCRIPT = 0.2  # of the letters; below it a foreign script is a name or a term in a sentence
_SURE_SCRIPT = 0.6  # above it the sentence is in that script, whatever Latin words it holds
_MIN_TELLING = 0.02  # of the script's letters; Ukrainian has 10 % of its own, Persian 8 %, Japanese 20 % and more
_SMALL_WORDS = {
    "en": "a an the this that these those it its itself he him his himself she her hers herself they them their theirs "
    "themselves we us our ours ourselves you your yours yourself i me my mine myself who whom whose which what "
    "where when why how and or but nor so yet if then than as because while although though unless until since "
    "whether of in on at by for with about against between into through during to from up down out off over under "
    "again further once here there all any both each other some such no not only own same too very s t can will "
    "just don should now is am are was were be been being have has had having do does did doing would could may "
    "might must shall ought also however therefore thus hence moreover furthermore upon within without across "
    "toward towards among amongst via per etc eg ie vs ever never none neither either every much another else "
    "even still already whereas whereby therein thereof one ones let cannot became",
    "de": "der die das den dem des ein eine einen einem einer eines und oder aber als auch wie wenn dass ob weil da "
    "denn doch so sich er sie es ihm ihn ihr ihre ihrer ihren ihrem sein seine seiner seinen seinem wir uns unser "
    "ich mich mir mein meine du dich man ist sind war waren wird werden wurde wurden worden hat haben hatte "
    "hatten habe bin sei seien kann können konnte muss müssen soll sollen sollte darf will wollen in im ins an am "
    "auf aus bei beim bis durch für gegen mit nach ohne seit über um unter von vom vor zu zum zur zwischen "
    "während wegen trotz nicht nur noch schon sehr mehr dann dort hier diese dieser dieses diesen diesem jene "
    "jeder jede jedes alle allen welche welcher welches welchem welchen wer wem wen was wann wo warum wieso wozu "
    "wessen woher wohin worauf wofür womit gibt es sowie sowohl jedoch also kein keine keinen hilft",
    "fr": "le la les l un une des du de d au aux et ou où mais donc or ni car que qu qui quoi dont quel quelle quels "
    "quelles quand comment pourquoi combien ce cet cette ces c il elle ils elles on nous vous je j tu me te se "
    "lui leur leurs son sa ses mon ma mes ton ta tes notre nos votre vos y en est sont était étaient a ont avait "
    "avaient été être avoir fut furent sera seront peut peuvent dans par pour sur sous avec sans chez entre vers "
    "contre depuis pendant après avant ne n pas plus moins très aussi comme si même tout tous toute toutes",
    "es": "el la los las un una unos unas a lo al del de y e o u sino que qué quien quién quienes cual cuál cuáles "
    "cuando cuándo donde dónde como cómo cuanto cuánto cuánta cuántos cuántas por porque para con sin en entre "
    "pero sobre desde hasta hacia contra según se su sus le les me te nos mi mis tu tus este esta estos estas ese esa "
    "esos esas aquel aquella eso esto es son era eran fue fueron ser sido está están estaba estar ha han había "
    "habían hay haber tiene tienen puede pueden no ni ya muy más menos también si sí yo él ella ellos ellas",
    "it": "il lo la i gli le l un uno una di d del dello della dei degli delle dell a al allo alla ai agli alle all da "
    "dal dalla dai dalle dall in nel nello nella nei negli nelle nell con su sul sulla sui sulle per tra fra e ed "
    "o ma se che chi cui quale quali qual quando come dove perché quanto quanta quanti quante cosa non si ci vi "
    "ne lui lei loro suo sua suoi sue mio mia è sono era erano fu furono essere stato stata stati ha hanno aveva "
    "avevano avere può possono questo questa questi queste quello quella quelli più meno anche molto",
    "pt": "o a os as um uma uns umas de do da dos das em no na nos nas num numa ao aos à às por pelo pela pelos pelas "
    "para com sem sob sobre entre até desde e ou mas que quem qual quais quando onde como porque porquê quanto "
    "quanta quantos quantas se seu sua seus suas lhe ele ela eles elas eu é são era eram foi foram ser sido está "
    "estão estava tem têm tinha há pode podem não nem já mais menos muito também isto isso este esta estes estas "
    "esse essa esses essas",
    "nl": "de het een en of maar want dat die dit deze wie wat welke waar wanneer waarom hoe hoeveel er hij zij ze je "
    "wij we ik mij me hem haar hun zijn is was waren wordt worden werd werden geworden heeft hebben had hadden "
    "kan kunnen kon moet moeten zal zullen zou zouden mag in op aan van voor met bij tot uit over onder naar om "
    "door tegen tussen tijdens sinds na te als dan ook nog wel al meer zeer niet geen zich",
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
# Spellings that tell one of them from the others where small words do not.
_TELLING = {
    "en": regex.compile(r"th|wh|sh|ing\b|ed\b|[^aeiou]y\b"),
    "de": regex.compile(r"[äöüß]|sch|ung\b|cht|ei"),
    "fr": regex.compile(r"[èêëçœùâ]|eux\b|eau|oi|ent\b"),
    "es": regex.compile(r"[ñ¿¡]|ci[óo]n|[óí]|ue"),
    "it": regex.compile(r"[òì]|[ztlc]{2}|zion|gli|[ae]no\b"),
    "pt": regex.compile(r"[ãõç]|lh|nh|ou\b|m\b"),
    "nl": regex.compile(r"ij|aa|ee|oo|uu|k"),
}
# Inflections, the longest first, taken off words without their accents; what is left has three letters at least. After
# the light stemmers of Savoy (SAC 2006): Snowball's in Python take 40 µs a word, more than all else done with a page.
_ENDINGS = {
    "de": "esten sten ten tet ern est em en er es te st e n t",
    "fr": "issent aient ements ement ant ees ent ait ais ont aux era ee er es ez ir it e s x",
    "es": "amente ieron iendo arian aron aban ando adas ados idas idos aba ada ado ida ido ar er ir an en as es os io "
    "a e o s n",
    "it": "mente arono ando endo ato ata ati ate uto uta uti ute are ere ire ano ono a e i o",
    "pt": "mente aram eram iram ando endo ados adas idos idas ado ada ido ida coes ar er ir am em as es os ou a e o s",
    "nl": "eren ende ten den en et er te de e t n",
}
# Letters of other scripts and spellings of one sound: Moskau and Москва, Akademie and academia begin alike.
_LATIN = str.maketrans(
    "абвгдезиклмнопрстуфхыэіґαβγδεζηικλμνξοπρσςτυφχωøłđ",
    "abvgdeziklmnoprstufhieigabgdeziiklmnxoprsstifhoold",
) | str.maketrans({"ж": "zh", "ц": "ts", "ч": "ch", "ш": "sh", "ю": "iu", "я": "ia", "ь": "", "θ": "th", "ψ": "ps"})
_SPELLINGS = regex.compile(r"ph|[tc]h|qu|ck|[kzyw]|(.)(?=\1)")
_SOUNDS = {"ph": "f", "th": "t", "ch": "c", "qu": "c", "ck": "c", "k": "c", "z": "c", "y": "i", "w": "v"}
KNOWN = frozenset(_NEGATIONS)  # languages whose negations, numbers and months the rules know
_WORD_SETS = {code: frozenset(listed.split()) for code, listed in _SMALL_WORDS.items()}


# Of the identifier's languages those that short questions of a large neighbour are taken for (Aragonese for Spanish).
_TOO_NEAR = frozenset("an br bs eo fy ga gd gn ht jv ku la lb lg ln mg nn oc om qu rw sn so st vo wa".split())
_ENGLISH_BONUS = 1.0  # in log probability: English is what most questions and all names by themselves are taken for
_NAME_BONUS = 4.0  # the same for fewer than four words that may be a name
_WORD_BONUS = 1.0  # for each function word
_SCRIPT_BONUS = 2.0  # for the language that a script stands for


def detect_language(text: str) -> str:
    """An ISO 639-1 code; `en` when nothing tells (names, numbers, a single word).

    Scripts and function words tell most texts; where they do not, a naive Bayes model over bytes does
    (py3langid), whose first use costs most of a second.
    """
    letters = len(regex.findall(r"\p{L}", text)) or 1
    tokens = _WORD.findall(text.casefold())
    scores = {code: sum(token in listed for token in tokens) for code, listed in _WORD_SETS.items()}
    best = max(scores.values())
    bonus = {code: _WORD_BONUS * score for code, score in scores.items()}
    for script, code, kin, is_shared in _SCRIPTS:
        found = len(script.findall(text))
        if found / letters > (_MIN_SCRIPT if best == 0 else _SURE_SCRIPT):
            own = next((name for name, telling in kin if len(telling.findall(text)) / found > _MIN_TELLING), code)
            return _identify(text, {own: _SCRIPT_BONUS}) if is_shared else own
    if not tokens or scores["en"] >= max(2, *(2 * score for code, score in scores.items() if code != "en")):
        return "en"
    bonus["en"] += _NAME_BONUS if best == 0 and len(tokens) < 4 else _ENGLISH_BONUS
    return _identify(_FOREIGN.sub(" ", text) if best else text, bonus)


def _identify(text: str, bonus: Mapping[str, float]) -> str:
    """The language of the highest log probability with its bonus."""
    shares: list[tuple[str, float]] = _identifier().rank(text)
    return max(shares, key=lambda ranked: log(max(ranked[1], 1e-9)) + bonus.get(ranked[0], 0.0))[0]


def _identifier() -> LanguageIdentifier:
    with _LOADING:  # one at a time: the model is 100 MB while it is read
        return _load_identifier()


@cache
def _load_identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # slow to import, and not needed for English

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([code for code in identifier.labels if len(code) == 2 and code not in _TOO_NEAR])
    return identifier


def language_of(text: str) -> str:
    """The language of `KNOWN` that a text has most small words of, "" where it has none; quick, for every sentence.

    Words for numbers and months tell too, but less, as some are small words elsewhere.
    """
    counts = dict.fromkeys(_NEGATIONS, 0.0)
    known = _languages_by_word()
    for word in _WORD.findall(text.lower()):
        for code, weight in known.get(word, ()):
            counts[code] += weight
    best = max(counts.values())
    equal = [code for code in _NEGATIONS if counts[code] == best] if best else []
    return max(equal, key=lambda code: len(_TELLING[code].findall(text))) if len(equal) > 1 else "".join(equal)


@cache
def _languages_by_word() -> Mapping[str, Sequence[tuple[str, float]]]:
    known: dict[str, dict[str, float]] = defaultdict(dict)
    for code in _NEGATIONS:
        words = numerals(code)
        for listed, weight in (
            (words.calendar, 0.6),
            (words.numbers, 0.6),
            (words.scales, 0.6),
            (_WORD_SETS[code], 1.0),
        ):
            for word in listed:
                known[word][code] = weight
    return {word: tuple(weights.items()) for word, weights in known.items()}


def small_words(language: str) -> frozenset[str]:
    """The lower-case words that carry grammar, not content; English ones for an unknown language."""
    return _WORD_SETS.get(language, _WORD_SETS["en"])


def stem(lower: str, language: str) -> str:
    """A word without accents and inflection; without accents only in a language whose endings are not known.

    English has its own, finer one (core/evidence/words.py).
    """
    plain = fold(lower)
    for ending in _ENDINGS.get(language, "").split():
        if plain.endswith(ending) and len(plain) - len(ending) >= 3:
            return plain[: -len(ending)]
    return plain


def fold(lower: str) -> str:
    """Without accents: Köln and Koln are one."""
    if lower.isascii():
        return lower
    letters = unicodedata.normalize("NFD", lower).replace("ß", "ss")
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn")


@lru_cache(maxsize=65536)
def shape_of(stem: str) -> str:
    """A word as it sounds across languages, to see whether two begin alike: Photosynthese and fotosíntesis."""
    return _SPELLINGS.sub(lambda match: _SOUNDS.get(match.group(), ""), fold(stem).translate(_LATIN))


def negations(language: str) -> frozenset[str]:
    """The lower-case words that deny in a language (ISO 639-1); none for one that is not in `KNOWN`."""
    return frozenset(_NEGATIONS.get(language, "").split())
