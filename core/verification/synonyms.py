"""Words that say the same in most sentences: a small table of general English."""

from __future__ import annotations

from functools import lru_cache

from core.verification.words import stem

_GROUPS = """
begin start commence initiate launch; end finish conclude terminate cease; show demonstrate indicate reveal suggest
find observe; big large great huge substantial; small little tiny minor; movie film picture; buy purchase acquire;
sell vend; help assist aid support; make create produce build construct develop; get obtain receive gain; use employ
utilize apply; need require demand; allow permit enable let; stop halt prevent; begin found establish; kill slay
murder; win victory; job occupation profession; car automobile vehicle; doctor physician; child kid; house home
residence; important significant key crucial; main primary principal chief major; many numerous; also additionally;
near close; fast quick rapid; hard difficult; easy simple; change alter modify; keep retain maintain preserve; give
provide supply offer; choose select pick elect; say state tell declare announce claim report; think believe consider;
try attempt; ask request; answer reply respond; live reside inhabit; die death decease pass; marry wed; birth bear
native; happen occur take; contain include comprise; consist comprise; lead head direct run; leader head chief;
company firm corporation business; country nation state; city town; area region zone; people person individual human;
woman female; man male; use usage; work function operate; method technique approach procedure; result outcome finding;
cause lead induce; effect impact influence; risk danger hazard; increase rise grow climb; decrease decline fall drop
reduce diminish lessen; improve enhance better; worsen deteriorate; high elevated; join enter; leave quit depart exit;
play perform; role part; song track tune; album record; singer vocalist; band group; writer author; book novel; write
pen author; actor actress; appear feature star; show series programme program; game match; team side club squad; coach
manager; player footballer; score goal; defeat beat; contest competition tournament; area field; student pupil; school
academy; teach instruct; study research investigation investigate; test examine assess evaluate; measure quantify;
patient case; disease illness disorder; drug medication medicine; treat therapy treatment; death mortality; common
frequent prevalent; rare uncommon; old aged elderly; young juvenile; whole entire full complete; part portion section;
form shape; kind type sort; amount quantity; number count; annual yearly; close shut; open unseal; earn; salary wage;
money fund; cost price; fight battle; war conflict; attack assault; soldier troop; army military; government
administration; law act legislation; rule regulation; name call title dub; originally initially first; finally
eventually; often frequently; approximately about roughly around; almost nearly; entire whole; error mistake fault;
correct right; wrong incorrect; fix repair; remove delete drop eliminate; add append; return yield; object instance;
argument parameter; function method; define specify; exist; implement realize; propose suggest; replace substitute;
rename; accept approve adopt; reject refuse decline; tie connect link associate correlate relate; compare contrast;
separate divide split; combine merge unite join; release issue publish; picture image photo photograph; see view
watch; look; hear listen; speak talk; understand comprehend; teach; learn; popular famous well-known renowned;
beautiful pretty; happy glad; sad unhappy; rich wealthy; poor; sick ill; fear afraid; love like enjoy; hate dislike;
own possess; locate situate base; travel journey trip; road street; ocean sea; ship boat vessel; plane aircraft
airplane; train railway rail; weather climate; food meal; eat consume; drink beverage; clothes clothing garment; sport
athletics; soccer football; mum mother mom; father dad; parent; brother sibling; sister sibling; husband spouse; wife
spouse; receive award; prize award; holiday vacation; shop store; garbage trash waste; fall autumn; american usa;
"""


@lru_cache(maxsize=1)
def _table() -> dict[str, tuple[int, ...]]:
    table: dict[str, tuple[int, ...]] = {}
    for meaning, group in enumerate(_GROUPS.split(";")):
        for word in group.split():
            table[stem(word)] = (*table.get(stem(word), ()), meaning)
    return table


def meanings(base: str) -> tuple[int, ...]:
    """The groups of equal meaning that a stem belongs to; none for most words."""
    return _table().get(base, ())
