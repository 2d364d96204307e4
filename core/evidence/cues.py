"""Small words that decide what a sentence claims, in the languages that the rules know; negations are in core/text.

A table a class, a line a language: `_` stands for a blank, `*` for any ending.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import cache

import regex


class Cue(Enum):
    """What the words do to their sentence."""

    HEDGE = """
en may might could possibly perhaps probably likely potentially allegedly reportedly supposedly purportedly apparently
 appears appear appeared seems seem seemed suggest* in_theory theoretically in_principle hypothesi* alleged rumoured
 rumored unclear unconfirmed suspected presumably thought_to believed_to expected_to said_to reported_to tend_to
 tends_to try_to tried_to trying_to attempt*_to plan_to plans_to planned_to hope*_to hopes_to intend*_to aim*_to want*_to
 seek*_to sought_to propose*_to threaten*_to promise*_to agree*_to should proposed planned
de könnte* dürfte* möglicherweise vielleicht wahrscheinlich vermutlich angeblich* mutmaßlich* womöglich offenbar
 anscheinend scheint scheinen soll sollen sollte* eventuell kann können theoretisch möchte* will wollen
fr peut peuvent pourrait pourraient peut-être probablement prétendument semble* serait seraient aurait auraient
 éventuellement devrait devraient en_théorie possible*
es puede pueden podría* quizá quizás tal_vez probablemente posiblemente supuest* parece* habría* sería* presunt*
 en_teoría debería*
it può possono potrebbe* forse probabilmente presumibilmente sembra* sarebbe* avrebbe* presunt* in_teoria dovrebbe*
pt pode podem poderia* talvez provavelmente possivelmente supost* parece* seria* teria* em_teoria deveria* alegad*
nl kan kunnen kon zou zouden mogelijk misschien waarschijnlijk vermoedelijk naar_verluidt lijkt lijken wellicht
 vermeend* theoretisch"""
    SAID = """
en according_to claims_that claimed_that claim_that claiming_that claimed_to claims_to believe* argue argues argued
 contend* alleges allege alleging assert* insist* speculat* suspect* predict* maintains_that maintained_that
 in_the_view_of in_the_opinion_of fears feared_that warn* estimates_that thinks think thought_that say_that says_that
 said_that say_the said_the state_that states_that stated_that reports_that reported_that said_it said_he said_she
 critics supporters opponents
de laut zufolge behaupt* meint meinte* glaubt glaubte* nach_angaben nach_ansicht sagt sagte* vermutet*
fr selon d'après affirm* prétend* croit croient estim* soutien* dit_que
es según afirm* cree creen asegur* aleg* sostien* dice_que dijo_que opin*
it secondo affermano afferma sosten* sostien* crede credono dice_che
pt segundo afirm* aleg* acredita* conforme sustent* disse_que diz_que
nl volgens beweer* denkt denken meent menen zegt_dat gelooft"""
    DENIED = """
en deny denies denied denying denial* disput* dismiss* refus* refut* debunk* disprov* myth myths misconception*
 rumor* rumour* hoax* falsely false untrue wrongly mistaken* erroneous* contrary_to fallac* urban_legend
 conspiracy unfounded baseless discredited no_evidence reject* fiction fabricat* superstition nonsense
de bestreit* bestritt* dementier* leugn* mythos mythen irrtum irrglaub* gerücht* falsch* fälschlich* widerleg*
 entgegen lehnt lehnte* abgelehnt* zurückgewiesen zurück märchen legende erfunden unwahr keine_belege
fr nie nient nié* démen* contest* rejet* mythe* rumeur* faux fausse* idée_reçue contrairement réfut* légende canular
es niega* negó negaron desmient* desmint* rechaz* mito* rumor* fals* contrari* refut* bulo* error creencia
it nega* negato negò smenti* respin* mito miti diceria* fals* contrari* confut* bufala leggenda errata
pt nega* negou negaram desment* rejeit* mito* rumor* boato* fals* contrári* refut* crença lenda
nl ontken* betwist* mythe* gerucht* misvatting* onwaar onjuist* tegenstelling weerleg* verwerp* weiger* fabel vals*"""
    SOME = """
en some several many few numerous various certain sometimes often occasionally partly partially half part commonly
 frequently in_part
de einige* manch* viele* wenige* mehrere* teilweise manchmal oft häufig gelegentlich hälfte teil* gewisse*
fr certain* quelques plusieurs parfois souvent partiellement partie moitié peu beaucoup
es algun* vari* much* poc* a_veces parcial* parte mitad ciert* a_menudo
it alcun* divers* molt* poch* talvolta spesso parzial* parte metà cert* qualche
pt algun* alguma* vári* muit* pouc* às_vezes parcial* parte metade cert* frequentemente
nl sommige enkele veel weinig verscheidene soms vaak gedeeltelijk deels deel helft bepaalde"""
    MOST = """
en most mostly majority usually generally typically nearly almost largely mainly normally predominantly
de meist* mehrheit überwiegend* normalerweise fast nahezu größtenteils gewöhnlich hauptsächlich beinahe
fr plupart majorité généralement presque surtout habituellement principalement
es mayoría mayor_parte generalmente casi normalmente principalmente
it maggior* generalmente quasi soprattutto normalmente principalmente
pt maior* geralmente quase normalmente principalmente
nl meeste meestal meerderheid bijna gewoonlijk grotendeels voornamelijk"""
    ALL = """
en all every everyone everybody everything everywhere always entirely completely wholly totally
de alle allen aller jede* immer stets sämtliche* vollständig gänzlich überall
fr tous toutes tout toute chaque toujours entièrement complètement partout
es todo* toda* cada siempre completamente enteramente
it tutt* ogni sempre completamente interamente ovunque
pt todo* toda* cada sempre completamente inteiramente
nl alle allen elke elk ieder* altijd volledig geheel overal"""
    ONLY = """
en only solely exclusively sole except excepting excluding apart_from other_than aside_from exception alone
de nur lediglich ausschließlich allein außer ausgenommen abgesehen ausnahme bloß
fr seul* uniquement exclusivement sauf hormis excepté exception à_part ne_que
es solo sólo solamente únicamente exclusivamente excepto salvo excepción menos aparte
it solo soltanto solamente unicamente esclusivamente tranne eccetto salvo eccezione
pt só somente apenas unicamente exclusivamente exceto salvo exceção menos
nl alleen slechts uitsluitend enkel behalve uitgezonderd uitzondering"""
    CONDITION = """
en if unless provided_that as_long_as on_condition in_case subject_to assuming whether would until
de wenn falls sofern solange vorausgesetzt würde* bis_zu ob bedingung
fr si à_condition sauf_si tant_que pourvu jusqu'à
es si siempre_que a_menos_que con_tal mientras hasta_que
it se a_condizione purché a_meno finché
pt se desde_que a_menos_que contanto caso até_que
nl als indien mits tenzij zolang zou zouden tot"""
    LIMIT = """
en among amongst under_the_* under_an_* under_* mice rats animals vitro in_some_cases in_certain_cases in_rare_cases
 at_the_time so_far no_longer formerly temporarily initially originally at_first to_some_extent former old
de bei unter während bislang bisher damals früher vorübergehend zunächst ursprünglich ehemalige*
fr chez sous parmi pendant jusqu'ici ancien* temporairement initialement
es bajo entre durante hasta_ahora antigu* temporalmente inicialmente ratones
it sotto tra fra durante finora ex temporaneamente inizialmente topi presso
pt sob entre durante até_agora antig* temporariamente inicialmente ratos camundongos
nl bij onder tijdens tot_nu voormalig* tijdelijk aanvankelijk vroeger muizen"""
    ABOVE = """
en more over above exceed* at_least beyond greater higher larger > ≥ minimum no_less not_less upwards
de mehr über mindestens wenigstens minimum
fr plus_de plus_que au_moins minimum dépass*
es más al_menos por_lo_menos como_mínimo mínimo
it più almeno oltre minimo
pt mais pelo_menos no_mínimo acima
nl meer minstens ten_minste boven minimaal"""
    BELOW = """
en less fewer under below at_most up_to smaller lower within < ≤ maximum no_more not_more
de weniger unter höchstens maximal bis_zu
fr moins_de moins_que au_plus maximum jusqu'à
es menos como_máximo a_lo_sumo hasta máximo
it meno al_massimo fino sotto massimo
pt menos no_máximo até abaixo
nl minder hooguit hoogstens maximaal tot onder"""

    def find(self, language: str, text: str) -> Iterator[regex.Match[str]]:
        """Where its words stand; nowhere in a language without a line."""
        pattern = _pattern(self, language)
        return pattern.finditer(text) if pattern else iter(())

    def first(self, language: str, text: str) -> str:
        """The first of its words; "" where there is none."""
        return next((match.group() for match in self.find(language, text)), "")


@cache
def _pattern(cue: Cue, language: str) -> regex.Pattern[str] | None:
    lines = cue.value.replace("\n ", " ").strip().splitlines()
    words = next((line.split()[1:] for line in lines if line.split()[0] == language), None)
    if words is None:
        return None
    escaped = sorted((regex.escape(word).replace("_", r"\s+").replace(r"\*", r"\p{L}*") for word in words), key=len)
    listed = "|".join(escaped[::-1])
    # "May" is a month; a sentence may begin with any of the others.
    return regex.compile(rf"(?<!\p{{L}})(?!(?-i:May)\b)(?:{listed})(?!\p{{L}})", regex.IGNORECASE)
