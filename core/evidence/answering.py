"""Does a text answer a question? By rules: what kind of thing is asked for, and whether the text holds one.

Meant to be precise: a text is called unanswering only where nothing of the expected kind stands in it. What stands
in the question too ("How many were there in 1990?" "In 1990 …") answers nothing. Languages: those of `_ASKS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache

import regex

from core.sentences import split_sentences
from core.terms import STOPWORDS, terms
from core.text.language import detect_language


class Expected(StrEnum):
    """The kind of answer that a question asks for; the value is what is said where it is missing."""

    DURATION = "no duration is given"
    DATE = "no date is given"
    FREQUENCY = "it does not say how often"
    NUMBER = "no number is given"
    PERSON = "nobody is named"
    PLACE = "no place is given"
    VERDICT = "it says neither yes nor no"


# How each kind is asked for, at the start of a question or of its last part behind a comma; the first that fits
# decides. What begins with one of `other` asks for something else.
_ASKS: Mapping[str, Mapping[Expected | None, str]] = {
    "en": {
        Expected.DURATION: r"how long|how much time|what duration",
        Expected.FREQUENCY: r"how (?:often|frequently)",
        Expected.NUMBER: r"how (?:many|much|tall|far|old|hot|cold|warm|fast|high|deep|heavy|wide|large|big)"
        r"|(?:what|which) (?:percentage|share|number|proportion|fraction)|what (?:is|was|are|were) the (?:number|population|percentage)",
        Expected.DATE: r"when|(?:what|which) (?:exact )?(?:year|date|day|month|century|decade)",
        Expected.PLACE: "where",
        Expected.PERSON: "who(?:se|m)?",
        None: r"what|which|why|how",
        Expected.VERDICT: r"(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|must)(?:n't)?",
    },
    "de": {
        Expected.DURATION: "wie lange?",
        Expected.FREQUENCY: "wie (?:oft|häufig)",
        Expected.NUMBER: r"wie ?viele?[nrs]?|wie (?:hoch|alt|groß|weit|heiß|kalt|warm|schnell|tief|schwer|breit|teuer)",
        Expected.DATE: r"wann|welche[mns] (?:jahr|datum|tag|monat|jahrhundert|jahrzehnt)",
        Expected.PLACE: "wo|woher|wohin",
        Expected.PERSON: "wer|wen|wem|wessen",
        None: r"was|welche[mnrs]?|warum|wieso|weshalb|wie|wo\w+",
        Expected.VERDICT: r"ist|sind|war|waren|hat|haben|hatten?|kann|können|wird|werden|wurden?|darf|dürfen|soll|sollten?|muss|gibt",
    },
    "fr": {
        Expected.DURATION: "combien de temps",
        Expected.FREQUENCY: r"(?:avec |à )?quelle fréquence|tous les combien|combien de fois par",
        Expected.NUMBER: r"combien|quelle est la (?:hauteur|taille|longueur|distance|vitesse|population|température)|quel (?:âge|pourcentage|nombre)",
        Expected.DATE: r"quand|quelle (?:année|date)|quel (?:jour|mois|siècle)",
        Expected.PLACE: "où",
        Expected.PERSON: "qui",
        None: r"que|qu['’].*|quoi|quel(?:le)?s?|pourquoi|comment",
        Expected.VERDICT: r"est[- ]ce (?:que|qu['’].*)|\w+-(?:t-)?(?:il|elle|ils|elles|on|ce)",
    },
    "es": {
        Expected.DURATION: r"cu[áa]nto tiempo|cu[áa]nto dur\w+",
        Expected.FREQUENCY: r"qué frecuencia|cada cu[áa]nto|cu[áa]ntas veces (?:al|por)",
        Expected.NUMBER: r"cu[áa]nt[oa]s?|qué (?:altura|edad|tamaño|distancia|velocidad|temperatura|porcentaje|número|tan \w+)",
        Expected.DATE: r"cu[áa]ndo|qué (?:año|fecha|día|mes|siglo|década)",
        Expected.PLACE: r"a?d[óo]nde",
        Expected.PERSON: r"qui[ée]n(?:es)?",
        None: r"qué|que|cu[áa]l(?:es)?|c[óo]mo|por qué",
        Expected.VERDICT: r"es|son|está|están|fue|fueron|era|hay|puede|pueden|tiene|tienen|existen?|ha|han|debe|deben|se puede",
    },
    "it": {
        Expected.DURATION: r"quanto tempo|quanto dur\w+",
        Expected.FREQUENCY: r"(?:che|quale) frequenza|ogni quanto|quanto spesso",
        Expected.NUMBER: r"quant[oaie]|qual è (?:l['’]altezza|la (?:lunghezza|distanza|velocità|popolazione|temperatura))|che (?:età|percentuale|numero)",
        Expected.DATE: r"quando|(?:che|quale) (?:anno|data|giorno|mese|secolo)",
        Expected.PLACE: "dove|dov['’]è",
        Expected.PERSON: "chi",
        None: r"che|cosa|qual[ei]?|perché|come",
        Expected.VERDICT: r"è|sono|c['’]è|ci sono|può|possono|si può|ha|hanno|esiste|esistono|era|fu|deve|devono",
    },
    "pt": {
        Expected.DURATION: r"quanto tempo|quanto dur\w+",
        Expected.FREQUENCY: r"que frequência|quantas vezes (?:ao|por)",
        Expected.NUMBER: r"quant[oa]s?|qual (?:é )?a (?:altura|idade|distância|velocidade|população|temperatura)|que (?:idade|percentagem|porcentagem|número)",
        Expected.DATE: r"quando|que (?:ano|data|dia|mês|século)",
        Expected.PLACE: "a?onde",
        Expected.PERSON: "quem",
        None: r"o? ?que|qual|quais|por que|porque|como",
        Expected.VERDICT: r"é|são|está|estão|há|pode|podem|posso|tem|têm|existem?|foi|foram|era|deve|devem",
    },
    "nl": {
        Expected.DURATION: "hoe ?lang",
        Expected.FREQUENCY: "hoe (?:vaak|dikwijls)",
        Expected.NUMBER: r"hoeveel|hoe (?:hoog|oud|groot|ver|heet|koud|warm|snel|diep|zwaar|breed)",
        Expected.DATE: r"wanneer|welke? (?:jaar|datum|dag|maand|eeuw)",
        Expected.PLACE: r"waar(?!.* (?:uit|van|mee|voor|aan|over|door|tegen)\b)|waarheen|waarvandaan",
        Expected.PERSON: "wie|wiens",
        None: r"wat|welke?|waarom|hoe|waar\w*",
        Expected.VERDICT: r"is|zijn|was|waren|kan|kunnen|heeft|hebben|had|hadden|wordt|worden|werd|mag|mogen|moet|moeten|zal|bestaa(?:t|n)",
    },
}  # fmt: skip
_BEFORE_ASKING = (  # prepositions and the like that may stand before the question word
    r"(?:(?:and|but|so|for|since|until|till|by|from|to|at|in|on|about|around|during|with|of|exactly|approximately|und|aber|seit|bis|ab"
    r"|von|vor|nach|für|im|am|um|zu|aus|mit|auf|bei|ungefähr|et|mais|depuis|jusqu['’]à|pendant|à|de|d['’]|en|dans|par|pour|avec|chez"
    r"|y|pero|desde|hasta|durante|a|por|para|con|e|ma|da|fino a|per|in|di|o|mas|até|em|com|no|na|maar|sinds|tot|voor|door|van|aan|met|op|rond)\s*\b)*"
)
_NUMBER_WORDS = {
    "en": "one two three four five six seven eight nine ten eleven twelve dozen\\w* twenty thirty forty fifty hundreds? thousands? "
    "millions? billions? half third quarter twice none all both single several few many most every zero free nothing "
    "double triple majority minority entire pair couple enough greatly slightly hardly significantly considerably much",
    "de": "eins? zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dutzend\\w* zwanzig dreißig hundert\\w* tausend\\w* "
    "\\w*hundert \\w*tausend million\\w* milliard\\w* halb\\w* hälfte drittel viertel \\w+mal kein\\w* alle\\w* beide\\w* "
    "einzig\\w* mehrere\\w* wenige\\w* viele\\w* meisten jede\\w* null kostenlos gratis nichts mehrheit paar",
    "fr": "deux trois quatre cinq six sept huit neuf dix onze douze vingt trente cent\\w* mille milliers? millions? milliards? "
    "moitié demi\\w* tiers quart aucun\\w* tous toutes seule? plusieurs quelques peu beaucoup plupart chaque zéro gratuit\\w* rien majorité double",
    "es": "dos tres cuatro cinco seis siete ocho nueve diez once doce docena\\w* veinte treinta cien\\w* \\w*cientos mil miles mill[óo]n\\w* "
    "mitad medi[oa] tercio\\w* cuarto\\w* ningun\\w* todos todas ambos únic\\w+ solo varios varias pocos muchos mayoría cada cero gratis nada doble",
    "it": "due tre quattro cinque sei sette otto nove dieci undici dodici dozzin\\w* venti trenta cent\\w* mille \\w*mila milion\\w* miliard\\w* "
    "metà mezz[oa] terzo quarto nessun\\w* tutti tutte entramb\\w* unic\\w+ solo divers\\w+ poch\\w+ molt\\w+ maggior\\w* ogni zero gratis gratuit\\w* doppio",
    "pt": "dois duas três quatro cinco seis sete oito nove dez onze doze dúzia\\w* vinte trinta cem centenas \\w*centos mil milhares milh\\w+ bilh\\w+ "
    "metade mei[oa] terço quarto nenhum\\w* todos todas ambos únic\\w+ só vári\\w+ poucos muitos maioria cada zero grátis gratuit\\w+ nada dobro",
    "nl": "één twee drie vier vijf zes zeven acht negen tien elf twaalf dozijn\\w* twintig dertig honderd\\w* duizend\\w* \\w*honderd \\w*duizend "
    "miljoen\\w* miljard\\w* half helft halve derde kwart geen alle\\w* beide\\w* enkele\\w* enige verschillende weinig vele? meeste elk\\w* nul gratis niets meerderheid paar",
}  # fmt: skip
_TIME_WORDS = {  # units, and what tells how long without one
    "en": "\\w*seconds? minutes? hours? days? nights? weeks? months? years? decades? centur\\w+ fortnight lifetime lifelong overnight until "
    "till forever permanent\\w* indefinite\\w* always never briefly temporar\\w+ while shortly moment generations? as\\ long\\ as",
    "de": "sekunden? minuten? stunden? tage?n? nächte? wochen? monat\\w* jahre?[ns]? jahrzehnt\\w* jahrhundert\\w* lebenslang bis ewig "
    "dauerhaft unbegrenzt immer nie kurz\\w* lange? solange vorübergehend \\w+lang generation\\w*",
    "fr": "secondes? minutes? heures? jours? nuits? semaines? mois ans? années? décennies? siècles? jusqu\\w* toujours jamais longtemps "
    "permanen\\w+ indéfini\\w* bref brièvement tant\\ que durée temporair\\w+",
    "es": "segundos? minutos? horas? días? noches? semanas? mes(?:es)? años? décadas? siglos? hasta siempre nunca permanente\\w* "
    "indefinid\\w+ brevemente mientras temporal\\w* vida",
    "it": "second[oi] minut[oi] or[ae] giorn[oi] nott[ei] settiman[ae] mes[ei] ann[oi] decenni\\w* secol[oi] fino finché sempre mai "
    "permanent\\w+ brev\\w+ temporane\\w+ vita",
    "pt": "segundos? minutos? horas? dias? noites? semanas? m[êe]s(?:es)? anos? décadas? séculos? até sempre nunca permanente\\w* "
    "indefinid\\w+ enquanto temporári\\w+ vida",
    "nl": "seconden? minuten? minuut uur uren dagen|dag nacht\\w* we(?:ek|ken) maand\\w* ja(?:ar|ren) decenni\\w* eeuw\\w* tot altijd nooit "
    "permanent\\w* zolang kort\\w* tijdelijk lang levenslang",
}  # fmt: skip
_DATE_WORDS = {  # beside units of time, years and times of day; what puts one thing before another tells when too
    "en": "jan(?:uary)? feb(?:ruary)? mar(?:ch)? apr(?:il)? may june? july? aug(?:ust)? sept?(?:ember)? oct(?:ober)? nov(?:ember)? dec(?:ember)? "
    "\\w+days? spring summer autumn fall winter noon midnight morning evening today yesterday tomorrow now currently recently soon "
    "ago later earlier after before during since once when whenever upon following early late era period age time bc bce ad ce "
    "immediately then eventually annually dawn beginning start \\w+teenth twent\\w+ first second third fourth fifth sixth seventh eighth ninth tenth end birth childhood prehistor\\w+ ancient modern reign",
    "de": "januar februar märz april mai juni juli august september oktober november dezember \\w+tags? mittwochs? frühling frühjahr sommer herbst winter "
    "mittags? früh\\w+ spät\\w+ \\w+zehnte[nrs]? mitternacht morgens? abends? heute gestern jetzt derzeit kürzlich bald vor nach nachdem bevor während seit als wenn sobald "
    "später früher anfang ende mitte zeit\\w* ära epoche alter beginn sofort dann chr jährlich",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi vendredi samedi dimanche "
    "printemps été automne hiver midi minuit matin soir aujourd hier demain maintenant récemment bientôt après avant pendant depuis dès "
    "lors lorsqu\\w* quand plus\\ tard début fin ère époque période âge temps immédiatement puis naissance",
    "es": "enero febrero marzo abril mayo junio julio agosto se[p]?tiembre octubre noviembre diciembre lunes martes miércoles jueves viernes sábado domingo "
    "primavera verano otoño invierno mediodía medianoche mañana tarde hoy ayer ahora recientemente pronto después antes durante desde "
    "cuando tras principios? finales? fin inicio era época periodo período edad tiempo\\w* luego actualmente",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre lunedì martedì mercoledì giovedì venerdì sabato domenica "
    "primavera estate autunno inverno mezzogiorno mezzanotte mattina sera oggi ieri domani ora adesso recentemente presto dopo prima durante "
    "da quando inizio fine era epoca periodo età tempo poi attualmente",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro segunda terça quarta quinta sexta sábado domingo "
    "primavera verão outono inverno manhã tarde noite hoje ontem amanhã agora recentemente logo após depois antes durante desde quando "
    "início fim era época período idade tempo\\w* atualmente",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december \\w+dag lente zomer herfst winter middag "
    "middernacht ochtend avond vandaag gisteren morgen nu onlangs binnenkort na nadat voor voordat tijdens sinds toen wanneer zodra "
    "later eerder begin einde eind tijd\\w* periode leeftijd dan momenteel",
}  # fmt: skip
_OFTEN = {
    "en": "every each per daily hourly weekly monthly yearly annual\\w* always never rarely seldom often sometimes usually regularly times "
    "constantly continuous\\w* occasionally frequently whenever when demand biannual\\w* biennial\\w*",
    "de": "jede\\w* pro täglich stündlich wöchentlich monatlich jährlich immer nie selten oft manchmal regelmäßig ständig häufig sobald wenn alle \\w*mals?",
    "fr": "chaque par quotidien\\w* hebdomadaire\\w* mensuel\\w* annuel\\w* toujours jamais rarement souvent parfois régulièrement fois",
    "es": "cada por diari\\w+ semanal\\w* mensual\\w* anual\\w* siempre nunca raramente menudo veces regularmente vez todos todas",
    "it": "ogni al giornalier\\w+ quotidian\\w+ settimanal\\w+ mensil\\w+ annual\\w+ sempre mai raramente spesso volt[ae] regolarmente tutti tutte",
    "pt": "cada por diári\\w+ semanal\\w* mensal\\w* anual\\w* sempre nunca raramente frequentemente vez(?:es)? regularmente todos todas",
    "nl": "elke? iedere per dagelijks wekelijks maandelijks jaarlijks altijd nooit zelden vaak soms regelmatig keer",
}  # fmt: skip
_PLACE_WORDS = {
    "en": "in at on near inside outside from into across along between beside beneath behind under above below around within through "
    "throughout via here everywhere nowhere abroad online worldwide home locally underground upstairs downstairs overseas north\\w* south\\w* east\\w* west\\w*",
    "de": "in im ins an am auf bei beim aus nach von vom unter über hinter neben zwischen zu zum zur hier überall nirgends online weltweit dort",
    "fr": "à au aux en dans sur sous chez près vers entre de du des depuis ici partout ailleurs là",
    "es": "en de del desde a al hacia sobre bajo entre cerca aquí allí",
    "it": "in a al alla ai alle nel nella nell\\w* nei nelle su sul sulla da dal dalla di del della presso vicino tra fra qui ovunque",
    "pt": "em no na nos nas a ao à de do da dos das sobre sob entre perto aqui",
    "nl": "in te op aan bij uit naar van onder boven tussen naast hier overal ergens nergens",
}  # fmt: skip
_NO_PLACE = regex.compile(  # what follows a preposition and is a time or a manner
    r"\b(?:in|on|at|from|by)\s+(?:(?:the\s+)?(?:early|late|mid)\s+)?(?:\d[\d,.]*\w*\s*(?:%|percent|per)?|(?:the\s+)?(?:1\d|20)\d\ds?|order|general|addition|fact|particular"
    r"|turn|total|part|time|average|least|first|last|once|most|jan\w*|feb\w*|march|april|may|june|july|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*"
    r"|\w+day|spring|summer|autumn|winter|response|contrast|comparison|this\s+way|which)\b", regex.IGNORECASE,
)  # fmt: skip
_PERSONS = {  # who may be named by what they are; nouns in -er and -or are found by their ending
    "en": "\\w+ers \\w+ors? \\w+ists? \\w+ians? \\w+ants? \\w+ents? \\w+men \\w+man \\w*people government army team company group family king "
    "queen prince church council board staff public public crowd everyone everybody anyone anybody nobody someone man woman women child "
    "children wife husband son daughter mother father brother sister citizens parliament congress senate court police union i we he she they his "
    "university institut\\w+ nobody members? teacher author maker owner builder writer founder leader driver worker user manager",
    "de": "", "nl": "ik wij hij zij ze mensen iemand niemand iedereen man vrouw \\w+ers \\w+en \\w+aar leden volk regering koning kerk",
    "fr": "\\w+eurs? \\w+istes? \\w+iens? gens peuple armée équipe roi reine prince église conseil gouvernement homme femmes? enfants? famille personnes? il elle ils elles nous \\w+teurs?",
    "es": "\\w+[ae]ntes alumn\\w+ \\w+dore?s? \\w+istas? \\w+anos gente pueblo ejército equipo rey reina iglesia consejo gobierno hombres? mujer\\w* niños familia personas? \\w+tore?s? nadie todos",
    "it": "\\w+tor[ei] \\w+ist[ai] \\w+ani gente popolo esercito squadra re regina chiesa consiglio governo uom\\w+ donn[ae] bambini famiglia person[ae] nessuno tutti",
    "pt": "\\w+dor(?:es)? \\w+istas? \\w+anos gente povo exército equipe rei rainha igreja conselho governo homens? mulher\\w* crianças família pessoas? ninguém todos",
}  # fmt: skip
_AGENT = regex.compile(r"\b(?:by|par|por|von|vom|durch|da|dal\w*|door)\s+(?!\d|\w+ing\b)\p{L}", regex.IGNORECASE)
_VERDICT = regex.compile(r"\W*(?:yes|no|ja|nein|oui|non|sí|si|no|sim|não|nee)\b", regex.IGNORECASE)
AIMS = regex.compile(  # a sentence that only says what was to be found out
    r"\b(?:aims?|objectives?|purposes?|goals?)\b[^.]{0,60}\b(?:was|were|is|are|of)\b|\b(?:we|study|trial|review|paper|article)\s+(?:aims?|aimed|sought|set\s+out|wanted|intend(?:s|ed)|tried)\b"
    r"|\bto\s+(?:determine|assess|evaluate|examine|investigate|explore|test|find\s+out|establish|identify|compare|clarify|ascertain|analy[sz]e|study|describe|review)\b"
    r"(?=.*\b(?:whether|if|how|the|and)\b)(?<!\bused\s.{0,80})|\b(?:investigated|examined|assessed|evaluated|asked|studied|tested|explored|hypothesi[sz]ed?|wondered)\b\s+(?:whether|if|that|how)\b"
    r"|\b(?:it\s+is|remains?)\s+(?:unclear|unknown|uncertain|controversial|debated)\b|\bhypothesis\s+(?:was|is|that)\b|\bziel\s+(?:dieser|der|war)\b|\bobjectif\s+(?:de|était)\b|\bobjetivo\s+(?:de|fue)\b",
    regex.IGNORECASE,
)  # fmt: skip
_FIGURE = regex.compile(r"\p{N}[\p{N}.,:]*")
_YEAR = regex.compile(
    r"(?:\b(?:in|since|during|until|en|im|seit|desde|nel|dal|em|sinds|depuis|jahre?)\s+|\(|[–-])(?:1\d|20)\d\d(?=\s*(?:[,.;:)–-]|(?:the|a|an|it|he|she|they|was|were|is|and|with|when|as|by)\b|\p{Lu}|$))"
)
_LONG_FIGURE = regex.compile(r"(?<![\d.,])\d{3,4}(?![\d]|[.,]\d)|\b\d{1,2}[:.]\d\d\b|\b\d{1,2}\s?(?:am|pm|a\.m|p\.m|uhr|h)\b|\b\d+(?:st|nd|rd|th)\b|\b[XVI]{2,}\b", regex.IGNORECASE)  # fmt: skip
_NAME = regex.compile(r"\b\p{Lu}[\p{L}\p{M}'’.-]*")
_MARKER = regex.compile(r"\[\d{1,3}(?:,\s*\d{1,3})*\]")
_BEGINNING = 5  # letters; forms of a word share them
_COMPARED = regex.compile(r"\b(?:as\s+\w+\s+as|size\s+of|\w+er\s+than|(?:more|less|fewer)\s+than|times)\b", regex.IGNORECASE)  # fmt: skip


def unanswered_by_rules(question: str, text: str, *, language: str = "en") -> str:
    """ "" when `text` may answer `question`, else why not, in a few words for people: "no duration is given".

    `language` is the question's, ISO 639-1. What is asked in no language of ours, or for nothing certain, gives "".
    """
    expected = expected_answer(question, language)
    text = _MARKER.sub(" ", text)
    if expected is None or not any(character.isalnum() for character in text):
        return ""
    text_language = detect_language(text)
    languages = tuple(dict.fromkeys((text_language, language)))
    if text_language not in _ASKS:
        return ""
    return "" if _holds(expected, question, text, languages) else expected.value


def expected_answer(question: str, language: str = "en") -> Expected | None:
    """The kind of answer that the question's own words ask for; None when they do not tell."""
    if language not in _ASKS:
        return None
    asked = question.rpartition("¿")[2].casefold().strip()
    for part in reversed(asked.split(",")):
        for expected, pattern in _asks(language):
            if pattern.match(part.strip()):
                is_choice = expected is Expected.VERDICT and regex.search(r"\b(?:or|oder|ou|o|of)\b", asked)
                return None if is_choice else expected
    return None


@cache
def _asks(language: str) -> tuple[tuple[Expected | None, regex.Pattern[str]], ...]:
    return tuple(
        (expected, regex.compile(rf"{_BEFORE_ASKING}(?:{pattern})(?!\w)"))
        for expected, pattern in _ASKS[language].items()
    )


@cache
def _cues(kind: Expected, language: str) -> regex.Pattern[str]:
    tables = {
        Expected.DURATION: (_TIME_WORDS,),
        Expected.DATE: (_DATE_WORDS, _TIME_WORDS),
        Expected.FREQUENCY: (_OFTEN, _TIME_WORDS),
        Expected.NUMBER: (_NUMBER_WORDS,),
        Expected.PERSON: (_PERSONS,),
        Expected.PLACE: (_PLACE_WORDS,),
    }[kind]
    listed = "|".join(word for table in tables for word in regex.split(r"(?<!\\) +", table.get(language, "")) if word)
    return regex.compile(rf"(?<!\w)(?:{listed or '(?!)'})(?!\w)", regex.IGNORECASE)


def _holds(expected: Expected, question: str, text: str, languages: tuple[str, ...]) -> bool:
    asked = _words(question)
    if expected is Expected.VERDICT:
        return _says_yes_or_no(question, text, languages)
    searched = _NO_PLACE.sub(" ", text) if expected is Expected.PLACE else text
    if any(
        match[0].casefold() not in asked for code in languages for match in _cues(expected, code).finditer(searched)
    ):
        return True
    match expected:
        case Expected.NUMBER | Expected.DURATION | Expected.FREQUENCY:
            return _has_figure(_YEAR.sub(" ", text), question) or _COMPARED.search(text) is not None
        case Expected.DATE:
            return any(found[0] not in question for found in _LONG_FIGURE.finditer(text)) or bool(_YEAR.search(text))
        case Expected.PERSON:
            return _AGENT.search(text) is not None or _has_name(text, asked)
    return _has_name(text, asked)


def _has_figure(text: str, question: str) -> bool:
    known = set(_FIGURE.findall(question))
    return any(figure.rstrip(".,:") not in known for figure in _FIGURE.findall(text))


def _has_name(text: str, asked: set[str]) -> bool:
    """A capitalised word that the question does not have; as a sentence's first word only where it is no common one."""
    for sentence in split_sentences(text):
        first = regex.search(r"\p{L}", sentence.text)
        for name in _NAME.finditer(sentence.text):
            is_first = first is not None and name.start() == first.start()
            word = name[0].casefold().removesuffix("'s").removesuffix("’s")
            if not _words(word) <= asked and not (is_first and word in STOPWORDS):
                return True
    return False


def _says_yes_or_no(question: str, text: str, languages: tuple[str, ...]) -> bool:
    """A statement about what is asked says one or the other, unless it only says what was to be found out."""
    if len(languages) > 1 or _VERDICT.match(text):
        return True
    asked = {term[:_BEGINNING] for term in terms(question)}
    return any(
        not AIMS.search(sentence.text) and any(term[:_BEGINNING] in asked for term in terms(sentence.text))
        for sentence in split_sentences(text)
        if not sentence.text.rstrip().endswith("?")
    )


def _words(text: str) -> set[str]:
    return set(regex.findall(r"[\p{L}\p{N}]+", text.casefold()))
