"""What rules may say against a claim: false claims that each veto sees, true ones that it lets pass (D18, D19)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evidence.rules.alignment import Force
from core.evidence.rules.vetoes import find_vetoes, says_same

TOWNS = "In 1950 the Lund works employed 80 smiths, whereas the Ystad works employed 35 smiths."
LIVES = "Voss was born in Malmo in 1871 and Hart was born in Bergen in 1868."
WAGES = "Wages were 8 marks at the mill versus 12 marks at the forge."
SURVIVAL = "Median survival was 9 months (95% CI, 7-12) with ointment and 14 months (95% CI, 11-17) with the salve."
BITES = "Bites were graded as none, 7 smiths (10%); mild, 23 smiths (32%); moderate, 32 smiths (44%)."
OUTPUT = "Output rose from 4,000 tons in 1903 to 52,000 tons in 1911."
BRIDGE = "The toll bridge at Lund carries two railway tracks and is 412 metres long."
ROADS = "The old road is 431 km long and the new road 342 km."
DESIGN = "The Meridian bridge was designed by Clara Voss."
COUNCIL = "The council of Lund rejected the petition of the Harbour guild."

CONTRADICTED: list[tuple[str, str, str]] = [
    ("number", "The toll bridge at Lund carries two railway tracks and is 421 metres long.", BRIDGE),
    ("year", "Voss was born in Malmo in 1872.", "Voss was born in Malmo in 1871."),
    ("year alone", "In 1999 the lamp was automated.", "The keeper left in 1984, when the lamp was automated."),
    (
        "number elsewhere in its sentence",
        "The Orlen lighthouse is 58 metres tall.",
        "The Orlen lighthouse stands on the mole of Orlen harbour and is 42 metres tall.",
    ),
    ("in another unit", "The ferry to Lund takes two hours.", "The ferry to Lund takes 45 minutes and sails at noon."),
    ("unit", "The ship carries 40 tonnes of grain each year.", "The ship carries 40 pounds of grain each year."),
    ("currency", "The new harbour cost $40 million in total.", "The new harbour cost €40 million in total."),
    ("built", "The old tower on Lund was built in 1911.", "The old tower on Lund was torn down in 1911."),
    ("month", "The school in Lund opened in March 1931.", "The school in Lund opened in June 1931."),
    ("day", "The school in Lund opened on 12 June 1931.", "The school in Lund opened on 21 June 1931."),
    ("weekday", "The market in Lund opens on Monday.", "The market in Lund opens on Friday."),
    ("name", "The Meridian bridge was designed by Nils Hart.", DESIGN),
    ("negation dropped", "The salve relieves pain after surgery.", "The salve does not relieve pain after surgery."),
    ("negation added", "The salve never relieves pain after surgery.", "The salve relieves pain after surgery."),
    ("opposite verb", "The bank raised interest rates in May.", "The bank lowered interest rates in May."),
    ("opposite verb by so much", "Sales of coal rose by 5 per cent in May.", "Sales of coal fell 5 per cent in May."),
    ("so much without by", "Sales of coal rose 5 per cent in May.", "Sales of coal fell by 5 per cent in May."),
    ("false belief", "Salve cures gout in old smiths.", "A false belief is that salve cures gout in old smiths."),
    ("opposite noun", "The mill made a loss in the last quarter.", "The mill made a profit in the last quarter."),
    ("opposite order", "It was the last steam ferry of the lake.", "It was the first steam ferry of the lake."),
    ("opposite law", "Hunting on the island is legal.", "Hunting on the island is banned."),
    ("decision", "The board approved the plan of the mayor.", "The board rejected the plan of the mayor."),
    ("roles", "The Harbour guild rejected the petition of the council of Lund.", COUNCIL),
    ("roles of names", "Norway defeated Sweden in the final match.", "Sweden defeated Norway in the final match."),
    ("false passive", "The guild was sued by the mayor in court.", "The mayor was sued by the guild in court."),
    ("comparison", "The hemp rope cost more than the steel rope.", "The steel rope cost more than the hemp rope."),
    ("to, not by", "Sales of coal rose to 5 percent last year.", "Sales of coal rose by 5 percent last year."),
    ("bound", "The trial had more than 40 patients in Lund.", "The trial had fewer than 40 patients in Lund."),
    ("German", "Das Mittel wirkt gegen starke Kopfschmerzen.", "Das Mittel wirkt nicht gegen starke Kopfschmerzen."),
    ("German none", "Es gibt einen Beweis für diese Wirkung.", "Es gibt keinen Beweis für diese Wirkung."),
    ("Spanish", "El tratamiento reduce el dolor de cabeza.", "El tratamiento no reduce el dolor de cabeza."),
    ("French", "Le traitement réduit la douleur des patients.", "Le traitement ne réduit pas la douleur des patients."),
    ("Italian", "La cura riduce il dolore dei pazienti.", "La cura non riduce il dolore dei pazienti."),
    ("Portuguese", "O tratamento reduz a dor dos pacientes.", "O tratamento não reduz a dor dos pacientes."),
    ("Dutch", "Het middel helpt tegen zware hoofdpijn.", "Het middel helpt niet tegen zware hoofdpijn."),
]


@pytest.mark.parametrize(
    ("claim", "source"), [case[1:] for case in CONTRADICTED], ids=[case[0] for case in CONTRADICTED]
)
def test_one_thing_replaced_in_a_sentence_of_the_source_contradicts(claim: str, source: str) -> None:
    """The sentence is the source's but for one thing, so the rule may say that it is wrong (D19)."""
    vetoes = find_vetoes(claim, source, before=source)

    assert Force.CONTRADICTS in [veto.force for veto in vetoes]


ALMA = "The Alma bridge crosses the Varn. It was designed by Ida Holt and opened on 14 May 1931."
SCHOOL = "Clara Voss, a smith from Malmo, opened the school of Lund in 1931."
LAKES = "Of the lakes, Orm is 40 m deep, Vatn 62 m and Skjold 18 m."
SLEPT = "41% of the walkers and 20% of the sitters slept."
WATER = "The forge uses 80 litres an hour and the mill 40 litres."
PUMPS = "The old pump is three times as fast as the new one."
DOUBTED: list[tuple[str, str, str]] = [
    (
        "only of some, behind a comparison",
        "Salve works better than oil.",
        "Salve works better than oil only in old smiths.",
    ),
    ("joined in another's year", "Ystad joined in 1913.", "Malmo and Ystad joined in 1904, and Lund in 1913."),
    ("limit added beside another's", "Only men may vote.", "Men may vote, but only women over thirty may be elected."),
    ("limit of the next sentence", "Only men may vote.", "Men may vote. Only the mayor may call an election."),
    ("German limit added", "Nur Männer wählen.", "Männer wählen. Nur der Rat darf eine Wahl ausrufen."),
    ("may have, as can", "The patient can die of it.", "The patient may have died of it."),
    ("turned multiple of numbers", "Twice as many sitters as walkers slept.", SLEPT),
    ("multiple of a thing", "The mill uses twice the water of the forge.", WATER),
    ("so many times, turned", "The new pump is three times as fast as the old one.", PUMPS),
    ("halved", "Rents doubled in Lund.", "Rents halved in Lund."),
    ("area, not length", "The field is 12 kilometres wide.", "The field covers 12 square kilometres."),
    ("slashed date of another day", "The mill burned on 9 March 1931.", "The mill burned on 08/03/1931."),
    ("another slashed date", "The mill burned on 09/04/1931.", "The mill burned on 9 March 1931."),
    ("another century", "Dutch smiths founded Lund in the 16th century.", "Dutch smiths founded Lund in 1642."),
    ("another difference", "Pain fell by 3.7 points.", "Pain fell from 6.8 to 4.1 points in those who walked."),
    ("share for amount", "Wages rose by 40 percent.", "Wages rose from 60 to 100 crowns."),
    ("so often", "The tax was cut twice.", "The tax was cut from 40 to 20 percent."),
    ("another mid-year", "Mid-1931 the school closed.", "The school closed in mid-1941."),
    ("not twice", "Twice as many walkers as sitters slept.", "41% of the walkers and 29% of the sitters slept."),
    ("another age", "The mean age was 67 years.", "The mean age was 61.4 years."),
    ("not above", "Over 84,500 people live in Lund.", "84,200 people live in Lund."),
    ("far above", "Over 40 people live in Lund.", "84,200 people live in Lund."),
    ("alone, of the same", "The hen builds its nest.", "The hen alone builds its nest, and the cock brings reeds."),
    (
        "said by another",
        "The Harbour Office concluded that falls should be seen as a hazard of work.",
        "Data came from the Harbour Office. There were 80 smiths. We conclude that falls are a hazard of work.",
    ),
    (
        "taken from the other one",
        "Newton took the ball from Miller.",
        "In May Miller took the ball from Newton, and it was caught by Ward, who was hit.",
    ),
    (
        "denied before it",
        "The council may decide on tax law, harbours and inns.",
        "The council cannot decide on such matters. These include tax law, harbours, mills and inns.",
    ),
    (
        "a made-up museum",
        "The boats were built at the Nils Berg Yard Museum.",
        "The boats were built at the yard of Lund.",
    ),
    ("ten years from nowhere", "Smiths who forged for ten years fell ill.", "Smiths who forged a lot fell ill."),
    ("compared the other way", "Cooks had less pain than smiths.", "Smiths had less pain than cooks had in May."),
    (
        "pupil for teacher",
        "She ran it from 1980.",
        "Clara Voss founded the school in 1962. Her pupil Nils Hart ran it from 1980.",
    ),
    ("within a group", "Age had no effect on wages.", "We show that age had no effect on wages within this guild."),
    (
        "every one of few",
        "Every boat showed a loss of nails.",
        "All smiths came. The old boats showed a loss of nails.",
    ),
    ("half an hour for days", "Each day of delay adds half an hour.", "Delay adds 0.64 days per day of delay."),
    ("half of something else", "The guild won half of the seats.", "The guild got 5 boats and 10 carts in 1931."),
    (
        "lanes in another order",
        "Voss Road, lined with old limes, is a six-lane street.",
        "A small two-lane street, Voss Road is lined with old limes.",
    ),
    (
        "name of the next sentence",
        "In 1950 Voss chose Berg as head of the guild.",
        "In 1950 Voss appointed Robert Hart to be the head of the guild. Berg stepped in later.",
    ),
    (
        "her own motorcycle",
        "Nils Hart was recovering from a fall one day after his album came out.",
        "Voss's now recovering after a fall one day after his album was out. Nils Hart sings with Voss.",
    ),
    ("proven", "The salve has been proven to ease pain.", "The salve can ease pain; studies must prove it."),
    (
        "no difference",
        "Wages showed no difference between smiths and cooks.",
        "Wages of smiths were higher than of cooks.",
    ),
    ("only one of both", "Only the old mill gained speed.", "A gain of speed was seen in both the old and new mill."),
    (
        "every one of some",
        "Every smith felt better after the walk.",
        "After the walk 53% (n = 38) of smiths felt better.",
    ),
    ("under a law", "The toll is due each year.", "The toll is due each year under the Harbour Act."),
    ("the other clause", "Quill is not supported on Linux.", "Quill runs on Linux; Macs are not supported."),
    ("depth of another lake", "Orm is 18 m deep.", LAKES),
    ("deed of the other clause", "Ward scored nine goals.", "Lund scored nine goals, while Ward was ill."),
    ("most, then a share", "All patients were smokers.", "Most (92%) patients were smokers."),
    ("number of the other clause", "The Lund works employed 35 smiths.", TOWNS),
    ("other's number", "The Ystad works employed 80 smiths.", TOWNS),
    (
        "numbers of the other",
        "97 smiths from Lund came and 65 from Ystad.",
        "65 smiths from Lund came and 97 from Ystad.",
    ),
    (
        "the number of one part",
        "The colony had 307 settlers from Ystad.",
        "402 settlers came: 95 from Ystad, 307 from Lund.",
    ),
    ("what is left out the second time", "Wages were 12 marks at the mill.", WAGES),
    (
        "in brackets",
        "The shaved group had 418 smiths.",
        "Two groups came (shaved group; 371 smiths) (unshaved group; 418 smiths).",
    ),
    ("a word alone in its part", "Boys paid 12 marks.", "Tickets cost 6 marks for boys and 12 marks for men."),
    ("sum with something else", "The dam has 162 gates.", "The dam has 97 gates and 65 pumps."),
    ("sum of what nobody speaks of", "The school has 162 teachers.", "The school has 97 pupils and 65 books."),
    ("whole and part", "70 patients were treated.", "50 patients were treated, of whom 20 died."),
    ("part of a whole", "The council has 70 members.", "Of 50 members of the council, 20 are women."),
    ("the nineteenth of others", "The mill was built in the 1800s.", "The nineteenth mill of Lund was built in 1710."),
    ("place of the other", "Voss was born in Bergen in 1871.", LIVES),
    ("other's place", "Hart was born in Malmo.", LIVES),
    ("year of the other", "Voss was born in 1868.", LIVES),
    ("gapped clause", "Hart was born in Malmo.", "Voss was born in Malmo and Hart in Bergen."),
    ("figure with another year", "Output rose to 52,000 tons in 1903.", OUTPUT),
    ("from, not to", "Output rose from 52,000 tons in 1911.", OUTPUT),
    ("a number from nowhere", "About 700 people crossed the bridge every day.", BRIDGE),
    ("a name from nowhere", "Clara Voss planned the crossing near Lund.", BRIDGE),
    ("denied", "The mayor took bribes from the guild.", "The mayor denied that he took bribes from the guild."),
    (
        "dismissed",
        "The bridge is about to collapse.",
        "Engineers dismissed fears that the bridge is about to collapse.",
    ),
    ("myth behind", "Lemmings jump off cliffs in herds.", "That lemmings jump off cliffs in herds is a myth."),
    ("myth before", "Goldfish forget within seconds.", "It is a myth that goldfish forget within seconds."),
    (
        "contrary to",
        "Bulls hate the colour red.",
        "Contrary to popular belief, bulls hate the colour red no more than blue.",
    ),
    ("rumour", "The king had a second wife.", "According to a rumour, the king had a second wife."),
    ("denial of the claim's own", "The mayor denied that the bridge opened in 1931.", "The bridge opened in 1931."),
    ("claimed", "Nils Hart crossed the strait in 1849.", "Nils Hart claimed that he had crossed the strait in 1849."),
    (
        "according to",
        "The tower is the oldest of the town.",
        "According to the guild, the tower is the oldest of the town.",
    ),
    ("tried", "Nils Hart crossed the strait in 1849.", "Nils Hart tried to cross the strait in 1849."),
    ("some left out", "The salve relieves pain in miners.", "The salve relieves pain in some miners."),
    ("all for some", "The salve relieves pain in all miners.", "The salve relieves pain in some miners."),
    (
        "all for most",
        "The salve is sold in all countries of the north.",
        "The salve is sold in most countries of the north.",
    ),
    ("only added", "Only the Royal Mint owned the copper mine.", "The Royal Mint owned the copper mine."),
    ("only dropped", "Members may borrow maps of the archive.", "Only members may borrow maps of the archive."),
    ("except dropped", "All rooms have a view.", "All rooms except the attic have a view."),
    ("apart from", "The library is open every day.", "Apart from Mondays, the library is open every day."),
    ("at least dropped", "The fire killed 40 people in Lund.", "The fire killed at least 40 people in Lund."),
    ("future", "The Royal Mint will own the copper mine.", "The Royal Mint owned the copper mine."),
    ("present", "The Royal Mint owns the copper mine.", "The Royal Mint owned the copper mine."),
    ("may left out", "Humming helps torn muscles heal.", "Humming may help torn muscles heal."),
    ("could left out", "A second dam prevents the floods.", "A second dam could prevent the floods."),
    ("in theory", "The engine runs on salt water.", "In theory, the engine runs on salt water."),
    ("if left out", "The dam will break.", "The dam will break if the river rises."),
    ("in mice", "The salve heals burns within days.", "The salve heals burns within days in mice."),
    ("among smokers", "The drug halves the risk of a stroke.", "Among smokers, the drug halves the risk of a stroke."),
    (
        "under the old rules",
        "Widows receive half of the pension.",
        "Under the old rules, widows receive half of the pension.",
    ),
    ("cause added", "The reading room opened in 1878 because members had asked.", "The reading room opened in 1878."),
    (
        "clause added",
        "The reading room opened in 1878 in Lund, and two people died.",
        "The reading room opened in 1878 in Lund.",
    ),
    (
        "clause of one word added",
        "The room opened in Lund in 1878, so it was banned.",
        "The room opened in Lund in 1878.",
    ),
    ("language for country", "The song of Lund was written in England.", "The song of Lund was written in English."),
    ("told of another", "The study found that fever fell.", "Earlier work by Hart found that fever fell."),
    ("other speaker", "According to Hart, the mine was empty.", "According to Voss, the mine was empty."),
    ("no antecedent", "He crossed the strait in 1849.", "He crossed the strait in 1849."),
    ("fragment", "Two railway tracks", BRIDGE),
    ("German may", "Das Mittel heilt starke Kopfschmerzen.", "Das Mittel könnte starke Kopfschmerzen heilen."),
    ("German opposite", "Die Preise sind im Mai gefallen.", "Die Preise sind im Mai gestiegen."),
    ("Spanish opposite", "Los precios subieron mucho en mayo.", "Los precios bajaron mucho en mayo."),
    (
        "French quantifier",
        "Tous les patients guérissent en trois jours.",
        "Certains patients guérissent en trois jours.",
    ),
    ("a language unknown here", "Lek leczy silne bóle głowy.", "Lek nie leczy silnych bólów głowy."),
    (
        "opposite, and another denial",
        "The guild's share in Lund is weaker than in Ystad.",
        "The guild's share in Lund is stronger than in Ystad, as there is no rival council.",
    ),
    (
        "degree",
        "The illness comes from an underactive gland.",
        "The illness comes from a hyperactive gland in the neck.",
    ),
    ("comparative", "Rust was rarer in the Lund works.", "Rust on rails (59 %) was more common in the Lund works."),
    ("all but", "The storm spared the boats of all crews.", "The storm spared the boats of all but 2 crews."),
    (
        "possible",
        "The monks had maps of Ystad.",
        "No letter is known, but it is possible that the monks had maps of Ystad.",
    ),
    (
        "count of another",
        "The colony consisted of 307 people.",
        "It consisted of 402 people (5 smiths, 307 sailors, 17 cooks and 73 children).",
    ),
    (
        "opposite beside the same word",
        "Boats with sails had higher rates of repair.",
        "Boats with sails (n = 41) needed more crew (68 against 44 men), had lower rates of repair and more storms.",
    ),
    (
        "subject of the other clause",
        "Hart built 5 boats, four sheds and four mills.",
        "Voss built 5 boats, four sheds and four mills, while Hart led the guild in tolls (118) and built two barns.",
    ),
    (
        "unit of a number in brackets",
        "The mean age of ropes was 34 days for those of hemp.",
        "The mean age of ropes was lower for those of hemp (34 weeks) than for those of steel (37 weeks).",
    ),
    (
        "done to, not by",
        "Voss began to pass Hart in the market of Lund in the 1970s.",
        "The decade was good for Hart, as he began to pass Voss in the market of Lund.",
    ),
    (
        "case named first",
        "A town with 2 mills can pay its debts in ten years.",
        "For instance, with low rents a town with 2 mills can pay its debts in ten years.",
    ),
    (
        "negation added, another word near it",
        "The old ledger will not be kept as a copy in Lund.",
        'A ledger with unbound pages of the guild: this is called the "old" one and will be kept as a copy in Lund.',
    ),
    (
        "German, denied at the end",
        "Auch Voss lief zum Hafen, um das Boot zu retten.",
        "Obwohl mehrere Schmiede zum Hafen liefen, um das Boot zu retten, tat Voss dies nicht.",
    ),
    (
        "degree elsewhere",
        "Smiths living near a mill have a higher average wage than the guild's average.",
        "Smiths living within a mile of a mill have an average wage of 18 marks, lower than the guild's average.",
    ),
    ("time of day", "The show is on from 8 to 10 in the evening.", "The show is on every morning from 8 to 10."),
    ("longer than said", "The siege lasted over four years.", "The siege lasted four years."),
    ("longer than it took", "It took over four years to build the mill.", "It took four years to build the mill."),
    ("other side", "The town of Lund was attacked by the Danes.", "The Danes defended the town of Lund."),
    ("proof", "The trial proved that the salve heals burns.", "The trial found that the salve heals burns."),
    ("compared otherwise", "Boats carried more grain than carts.", "Carts carried greater loads of grain than boats."),
    (
        "condition in another language",
        "Die Schmiede brauchen weniger Kohle für ihre Öfen.",
        "If true, the smiths should need less coal for their ovens than the bakers of the town.",
    ),
]


def test_what_the_source_does_not_quite_say_is_doubted() -> None:
    """So that no judge's word makes it more than partial (D18)."""
    assert [name for name, claim, source in DOUBTED if not find_vetoes(claim, source)] == []


PASSED: list[tuple[str, str, str]] = [
    (
        "brackets of a call",
        "Since Quill 2.5, os.stat() has returned times as floats by default.",
        "Quill 2.3 brought float times to support small steps. os.stat() uses float times by default since Quill 2.5. "
        "Quill 3.3 brought functions supporting smaller steps:",
    ),
    ("small figures converted", "The strait of Lund is 14 kilometres wide.", "The strait of Lund is 9 miles wide."),
    (
        "mainly, as principally",
        "The settlers of Lund were mainly Frisian.",
        "The settlers of Lund were principally Frisian.",
    ),
    ("most, as chiefly", "Most of the smiths in Lund were Danish.", "The smiths in Lund were chiefly Danish."),
    (
        "except, as other than",
        "The act took effect in May except for some provisions.",
        "The provisions of the act, other than sections 4 and 9, took effect in May.",
    ),
    (
        "some of several named",
        "The council is made up of the Greens, the Millers and the Centre.",
        "The council is made up of the Greens (12 seats), the Millers (9), the Farmers' League (3) and the Centre (8).",
    ),
    (
        "one of those that joined",
        "Lund joined the league in 2013.",
        "In 2004 Malmo and Ystad joined the league, followed by Berg in 2007 and Lund in 2013.",
    ),
    (
        "more, of two numbers",
        "The Lund yard built more boats.",
        "The Lund yard built 40 boats and the Ystad yard built 30.",
    ),
    (
        "alone, of what it is compared with",
        "The new drug added to salve lowers pain more than salve.",
        "Added to salve, the new drug lowers pain more than with salve alone.",
    ),
    (
        "alone added to what it is compared with",
        "Weight fell more with the drug than with salve alone.",
        "Weight fell more with the drug than with salve.",
    ),
    ("prevents, of what does not", "Salt prevents the growth of both moulds.", "With salt, both moulds do not grow."),
    (
        "with two whom it names",
        "Clara Voss founded the yard in 1931 with two merchants.",
        "In 1931 the yard was founded by Clara Voss and two merchants, Nils Hart and Olaf Berg.",
    ),
    ("each with its own number", "Wages were 12 marks at the forge versus 8 marks at the mill.", WAGES),
    (
        "German, each with its own",
        "Das Wehr ist 340 m lang, der Turm 40 m hoch.",
        "Der Turm ist 40 m hoch und das Wehr 340 m lang.",
    ),
    ("beside an interval", "Median survival with the salve was 14 months.", SURVIVAL),
    ("behind its name", "The bites of 23 smiths were graded as mild.", BITES),
    (
        "told in brackets",
        "371 smiths were shaved and 418 were not.",
        "A total of 789 smiths were drawn into 2 groups: those who were shaved (shaved group; 371 smiths) and the "
        "smiths of whom none was shaved (unshaved group; 418 smiths).",
    ),
    ("counted thing left out", "The fire killed 50 people.", "The fire injured 200 people and killed 50."),
    (
        "subject left out",
        "The town has 12,000 inhabitants.",
        "In 1990 the town had 8,000 inhabitants; today it has 12,000.",
    ),
    (
        "names nearly alike",
        "The default of HTTPS is port 443.",
        "The default port of HTTP is 80 and that of HTTPS is 443.",
    ),
    ("the 1800s", "The mill was built in the 1800s.", "The mill was built early in the nineteenth century."),
    (
        "German preposition first",
        "Neben Schmieden leben dort auch Bäcker aus dem Norden.",
        "Dort leben Schmiede und auch Bäcker aus dem Norden.",
    ),
    (
        "number of its part",
        "The colony had 307 settlers from Lund.",
        "402 settlers came: 95 from Ystad, 307 from Lund.",
    ),
    ("under a captain", "The crew mapped the coast.", "The crew under Lieutenant Grant mapped the coast."),
    ("halved", "Sales halved.", "Sales fell by 50 %."),
    ("half a mile", "The street is about 800 metres long.", "The roughly half-mile street was the best of the town."),
    ("an hour and a half", "A ferry leaves every hour and a half.", "The ferry leaves every 90 minutes."),
    ("over a year", "Smiths met in the twelve months from May.", "Smiths met over a 12-month period from May."),
    ("three of others", "It took more than three years.", "Three hospitals told how it took 38 months."),
    (
        "only for stress",
        "The plan only made the confusion of the guild worse.",
        "The plan added to the confusion of the guild.",
    ),
    ("only a number", "Of the 123 smiths, 42 were seen; only 42.", "Of the 123 smiths 42 were seen."),
    (
        "alone or not",
        "Smiths who rowed alone or with cooks felt better.",
        "Smiths who rowed and a mix of both felt better.",
    ),
    (
        "only, of what is told more of",
        "The new mill cut the cost of flour.",
        "Gains were only seen at the new mill, which showed a cut in the cost of flour.",
    ),
    (
        "a zero",
        "An error is raised for a zero followed by a digit.",
        "An error is raised whenever a zero is followed by a digit.",
    ),
    (
        "a number in its own company",
        "Their ages ran from 36 to 81 years, with a median of 57.5.",
        "Of 815 smiths (median age = 57.5 years, range 36-81) wages were median = 20.3 marks on day 1.",
    ),
    ("a score", "Voss beat the Pirates 3-1.", "Did you know that Voss defeated the Pirates, 3-1?"),
    ("neither of them", "Visits to neither of them.", "Visits were to mills, to inns or to neither mills nor inns."),
    (
        "part of a word",
        "The smiths felt better after the walk ended.",
        "After the walk the delayed-start smiths felt better.",
    ),
    ("a day, in Latin", "Voss was paid 80 crowns a day.", "Voss was paid 80 crowns per diem."),
    ("exclusive", "Voss plays the mayor.", "# Voss Joins the Cast (Exclusive)\nVoss plays the mayor."),
    (
        "title with small words",
        'It ruled on "Hart v. Board of Lund".',
        "Hart v. Guild Board of Lund was a case it ruled on.",
    ),
    ("another ending", "Since then Nazism is banned there.", "Since then Nazi flags are banned there."),
    ("twice behind a year", "The ferry ran until 1968.", "A ferry crossed twice a day until 1968."),
    ("may, as can", "A table can have at most 16 rows.", "A table may have up to 16 rows."),
    ("denied, in the other voice", "You cannot restore such copies.", "Such copies cannot be restored."),
    (
        "it, in the middle",
        "Until 1919 Quill was under the Seal.",
        "Quill is old. Since 1919 it was under the Crown; before, the Seal.",
    ),
    ("how often", "The guild meets every year.", "The guild meets each year."),
    ("another predicate", "Lorries over 12 tonnes must stay away.", "Lorries over 12 tonnes are not allowed."),
    (
        "nothing more to pay",
        "Crossing has cost nothing since 1971.",
        "Until 1971 crossing was not free; then tolls ended.",
    ),
    ("German still", "Noch fahren Boote nach Lund.", "Boote fahren nach Lund."),
    ("limit kept", "Men alone may vote.", "Only men may vote."),
    ("limit in a denial", "No one but men may vote.", "Only men may vote."),
    (
        "the other voice, of a name with a von",
        "Nils von Hart and Clara Voss independently developed the commercial process in 1895.",
        "The first commercially viable process for producing steel was independently developed in 1895 by the "
        "German engineer Nils von Hart and the British engineer Clara Voss.",
    ),
    (
        "a passive with its doer named otherwise",
        "The clergy of Lund were ordained by Voss.",
        "The first clergy of Lund were ordained by Clara Voss, a smith from Lund.",
    ),
    ("half the other way round", "Half as many men as women smoke.", "Twice as many women as men smoke."),
    ("square kilometres", "The field covers 12 square kilometres.", "The field covers 12 km²."),
    ("square miles", "The lake covers 12 square miles.", "The lake covers 31 square kilometres."),
    ("speed", "The train reaches 200 kilometres per hour.", "The train reaches 200 km/h."),
    ("German area", "Der See bedeckt 12 Quadratkilometer.", "Der See bedeckt 12 km²."),
    ("each year, annually", "The fair is held every year.", "The fair is held annually."),
    ("each month, once a month", "Each month the guild meets.", "The guild meets once a month."),
    ("a range is no minus", "The boats are 20 to 30 metres long.", "The boats are 20-30 metres long."),
    ("twice a day", "Boats cross to Lund twice a day.", "Twice each day boats cross to Lund."),
    ("a speed in another unit", "The train reaches 36 km per hour.", "The train reaches 10 m/s."),
    ("a dose, daily", "The dose is 5 mg a day.", "The daily dose is 5 mg."),
    ("German order", "Der Damm brach nach tagelangem Regen.", "Nach tagelangem Regen brach der Damm."),
    ("German bound", "Die Werft hat mehr als 400 Arbeiter.", "Die Werft hat 412 Arbeiter."),
    ("more than a fraction", "More than two in five homes have a garden.", "Of 200 homes, 86 (43%) have a garden."),
    ("day in words", "It opened on the seventh of March 1917.", "The line opened on 7 March 1917; it opened late."),
    ("part of a unit", "The lake is three quarters of a mile wide.", "The lake is 0.75 miles wide."),
    ("or more behind a unit", "The children weighed at least 18 kg.", "The children weighed 18 kg or more."),
    ("depth of the lake itself", "Skjold is 18 m deep.", LAKES),
    ("denied in another way", "The lamp has been out of use since 1912.", "The lamp was not used after 1912."),
    ("first clause", "The Lund works employed 80 smiths.", TOWNS),
    ("second clause", "The Ystad works employed 35 smiths.", TOWNS),
    ("first life", "Voss was born in Malmo in 1871.", LIVES),
    ("second life", "Hart was born in Bergen in 1868.", LIVES),
    ("second figure", "Output rose to 52,000 tons in 1911.", OUTPUT),
    ("second verb", "Voss died in 1922.", "Voss was born in Malmo in 1871 and died in 1922."),
    ("aside left out", "Voss was born in 1871.", "Voss, a smith of Lund, was born in 1871."),
    (
        "namesake left out",
        "Voss Lane extends 20 miles west to Ystad.",
        "The town has Voss Lane, named after the smith and mayor Clara Hart, which extends 20 miles west to Ystad.",
    ),
    ("bracket left out", "Voss was born in Malmo.", "Voss (known as Red Hart, 1871–1922) was born in Malmo."),
    ("active", "Clara Voss designed the Meridian bridge.", DESIGN),
    ("passive", "The harbour was built by the guild.", "The guild built the harbour."),
    ("passive with names", "Norway was defeated by Sweden in the final.", "Sweden defeated Norway in the final."),
    ("owner", "The council of Lund rejected the Harbour guild's petition.", COUNCIL),
    (
        "comparison turned with its word",
        "The hemp rope is shorter than the steel rope.",
        "The steel rope is longer than the hemp rope.",
    ),
    ("phrase first", "In 1911, output rose to 52,000 tons.", "Output rose to 52,000 tons in 1911."),
    ("fraction", "About a third of the voters stayed at home.", "33 % of the voters stayed at home."),
    ("percent of a fraction", "Roughly 50 percent of the trees died.", "Half of the trees died."),
    ("percent of counts", "The drug helped 25 percent of the patients.", "The drug helped 30 of 120 patients."),
    ("rounded", "Nearly 400 people crossed the bridge in a day.", "Some 389 people crossed the bridge in a day."),
    ("more than", "The bridge is more than 400 metres long.", "The bridge is 412 metres long."),
    ("converted", "The road is about 10 kilometres long.", "The road is 6.2 miles long."),
    ("number in words", "The school has twelve rooms.", "The school has 12 rooms."),
    ("million", "The town spent 2.5 million crowns.", "The town spent 2,500,000 crowns."),
    (
        "country and people",
        "Hart played his last match in England.",
        "Hart played his last match in the English league.",
    ),
    ("among, in", "Fever is seen in all young miners.", "Fever is seen among all the young miners."),
    ("joined", "The mill is underground at Lund.", "The mill is under ground at Lund."),
    ("told by the source", "The authors report that the mill of Lund burned down.", "The mill of Lund burned down."),
    ("initials", "The WHO warned of the fever.", "The World Health Organization warned of the fever."),
    ("short name", "Voss designed the Meridian bridge.", DESIGN),
    ("denied opposite", "It is not possible to open the gate.", "It is impossible to open the gate."),
    ("negation kept", "The salve does not relieve pain.", "The salve never relieves pain after surgery."),
    ("not only", "The mill ground wheat.", "The mill ground not only wheat."),
    ("said so", "The minister said the dam is safe.", "The dam is safe, the minister said."),
    ("denial kept", "The mayor denied taking bribes.", "The mayor denied that he took bribes from the guild."),
    ("hedge kept", "The salve might ease pain.", "The salve may relieve pain."),
    ("some kept", "The salve relieves pain in some miners.", "The salve relieves pain in some miners of Lund."),
    (
        "free wording",
        "Travellers needed a ferry before then.",
        "Until the bridge was opened, people were rowed across.",
    ),
    ("German", "Das Mittel wirkt nicht.", "Das Mittel wirkt nicht gegen Kopfschmerzen."),
    ("other verb", "Voss drew up the plans of the bridge.", "The plans of the bridge were made by Voss."),
    (
        "American date",
        "The mill of Lund burned down on March 9, 1931.",
        "The mill of Lund burned down on 9 March 1931.",
    ),
    (
        "relative clause",
        "Clara Voss designed the blue uniform that the ferry crews began wearing in 1968.",
        "In 1968, the ferry crews began wearing a blue uniform, designed by Clara Voss.",
    ),
    (
        "denied of the others",
        "Sailors who took the syrup had longer fevers.",
        "Sailors who took the syrup had longer fevers than those who had not taken the syrup.",
    ),
    ("few", "Of the smiths, 12% were older than sixty.", "Only 12% of the smiths were older than sixty."),
    ("failure is no denial", "The kidney failure of sheep is common.", "The kidney failure of sheep is quite common."),
    (
        "range of one of two",
        "The ropes' lengths lay between 12 and 27.",
        "The median of the ropes' lengths was 20 (range, 12-27), that of the new ones 18 (range, 12-25).",
    ),
    (
        "denied bound",
        "Each guild has at most 12% of the boats.",
        "The boats are spread, with no guild having more than 12%.",
    ),
    (
        "bound of a range",
        "No smith was given more than 30 nails.",
        "Gifts ranged from 1 to 30 nails per smith in Lund.",
    ),
    (
        "apposition",
        "King Harald ruled for only two years.",
        "King Harald, Magnus's brother and successor, ruled for only two years, from 1321 to 1323.",
    ),
    (
        "speaker with an office",
        "Hart said that he would never sell the mill.",
        "Nils Hart, head of the Guild of Lund and Ystad said that he would never sell the mill.",
    ),
    ("more likely", "Smiths fell ill in winter.", "Smiths fell more likely ill in winter than sailors."),
    ("form of a name", "The Milan smith paid no tax.", "The Milanese smith paid no tax."),
    (
        "Spanish passive",
        "La oficina de pesos fue fundada en 1263 por el herrero Nils.",
        "En 1263, el herrero Nils fundó en la ciudad la oficina de pesos.",
    ),
    (
        "name of a thing before its kind",
        "She was a guest of the Harbour Weekly podcast.",
        "She was a guest of the podcast called Harbour Weekly.",
    ),
    ("named, where the source says it", "The Alma bridge was opened in May 1931.", ALMA),
    ("the century of a year", "Dutch smiths founded Lund in the 17th century.", "Dutch smiths founded Lund in 1642."),
    (
        "century behind mid",
        "Lund was a village in the mid 19th century.",
        "In the mid–19th century Lund was a village.",
    ),
    ("above by a little", "Just over 84,000 people live in Lund.", "84,200 people live in Lund."),
    ("fell by more than", "Unemployment fell by more than 4 points.", "Unemployment fell by 4.3 points."),
    ("alone, of something else", "The hen lays three eggs.", "The hen builds its nest alone and lays three eggs."),
    ("spelt the British way", "The shaft is 230 metres deep.", "The shaft is 230 meters deep."),
    (
        "another verb in German",
        "Die Mühle steht seit 1788 an der Varn.",
        "Die Mühle von Lund wurde 1788 an der Varn gebaut.",
    ),
    (
        "most, mostly",
        "Most of the genomes that were read are of land plants.",
        "Genomes were read of all, but they are mostly those of land plants.",
    ),
    ("a half in words", "Mario Addison added six and a half sacks.", "Fellow lineman Mario Addison added 6½ sacks."),
    (
        "kingdom of one name with other states",
        "Das Vereinigte Königreich trat 1997 bei.",
        "Großbritannien trat 1997 bei.",
    ),
    (
        "lead in brackets",
        "At 500 Hz, the new device was about 3 dBA quieter than the old one.",
        "At low frequency (500 Hz), the new device was 3.0 dBA quieter than the old one.",
    ),
    (
        "lead in another word",
        "For people with a prior stroke, the drug brought a gain of 0.3 years.",
        "For patients with a prior stroke, the drug brought a gain of 0.3 years.",
    ),
    (
        "denied in other words",
        "The first device yielded no usable data because of dead batteries.",
        "The first device was not able to collect analyzable data because of dead batteries.",
    ),
    (
        "who wins, who loses",
        "The Mongols lost to the Tran at the battle of 1288.",
        "The Tran defeated the Mongols at the battle of 1288.",
    ),
    (
        "compared from the other side",
        "Black patients were less likely to come than white patients.",
        "White patients were more likely to come than black patients.",
    ),
    (
        "says it with another verb",
        "Lutero sostenía que los monjes podían romper los votos sin pecado.",
        "Según Lutero, los monjes podían romper los votos sin pecado.",
    ),
    (
        "the only one in other words",
        "The only notable difference between the groups was the diameter.",
        "The only significant difference between the groups was the diameter.",
    ),
    (
        "title with a hyphen",
        "The first settlement was established in October 1803.",
        "The first settlement was established in October 1803 under Lieutenant-Governor David Collins.",
    ),
    ("more of another word", "Los hoteles tienen diez camas.", "Los hoteles más bellos tienen diez camas."),
    ("a figure set low", "The CO₂ of Lund fell in 1931.", "The CO2 of Lund fell in 1931."),
    (
        "passive with a year in it",
        "The Office of Weights was founded in 1263 by Nils the Smith.",
        "In 1263, Nils the Smith founded the Office of Weights.",
    ),
    (
        "when, before the verb",
        "Jedes Jahr überqueren rund 1,2 Mrd. Zugvögel die Meerenge, u. a. Kraniche.",
        "Rund 1,2 Mrd. Zugvögel, u. a. Kraniche und Gänse, überqueren jedes Jahr die Meerenge.",
    ),
    ("a yes", "The Yes vote did not reach 40 per cent.", "The vote in favour did not reach 40 per cent."),
    (
        "an entry of a timeline",
        "1979 – Lund",
        "Smiths came from Malmo and Ystad in 1972, Lund in 1979 and Bergen in 1985.",
    ),
    (
        "near zero",
        "The bound helps with values near zero, which it compares.",
        "The bound helps with values near zero, which it compares, too.",
    ),
]


def test_what_the_source_says_meets_no_veto() -> None:
    """Where nothing speaks against a claim no rule does, however free the wording."""
    found = {name: find_vetoes(claim, source, before=source) for name, claim, source in PASSED}

    assert len(found) == len(PASSED)
    assert {name: vetoes for name, vetoes in found.items() if vetoes} == {}


SUBJECTS = [
    (
        "behind who says so",
        "It carries trams.",
        "According to the town, the bridge is old.",
        "The bridge carries trams.",
        True,
    ),
    ("of so many", "They burnt.", "Eight of the mills had a clock.", "The mills burnt.", True),
    ("what is counted", "They showed a fall.", "Pooling 22 studies gave more.", "The studies showed a fall.", True),
    ("its authors", "They found a fall.", "The authors read 22 trials.", "A fall was found.", True),
    ("of the evidence", "It carries trams.", "The Meridian bridge is old.", "The Meridian bridge carries trams.", True),
    ("of another thing", "It carries trams.", "The Ystad tower is old.", "The Meridian bridge carries trams.", False),
    (
        "of another person",
        "He crossed the strait.",
        "Nils Hart was a smith.",
        "Voss crossed the strait. Hart did not.",
        False,
    ),
    ("a company", "The company sold ships.", "Lund Works was founded in 1871.", "Lund Works sold ships.", True),
    ("another company", "The company sold ships.", "Ystad Mills was founded in 1871.", "Lund Works sold ships.", False),
    ("cut", "She crossed the strait.", "", "Clara Voss crossed the strait.", False),
    (
        "behind a joining word",
        "He said that tides could not be explained so.",
        "Holt drew a curve.",
        "Moreover, Berg said that tides could not be explained so by the curve of Holt.",
        False,
    ),
    ("nothing meant", "It is not known that ferries sank.", "", "It is not known that ferries sank.", True),
    ("authors", "The authors studied 90 smiths.", "", "We studied 90 smiths.", True),
    (
        "those of whom more is said",
        "Those who did not vote were 32 smiths.",
        "The vote was lost.",
        "32 smiths did not vote.",
        True,
    ),
    (
        "below a heading",
        "It crossed the strait in 1931.",
        "1. **Engulfment**",
        "The ferry crossed the strait in 1931.",
        True,
    ),
    (
        "whom the source comes to",
        "He is often given priority for it.",
        "Hart found it in 1774.",
        "Steel was found by Voss and by Hart, but Hart is often given priority for it.",
        True,
    ),
    (
        "behind when it was",
        "She led the school.",
        "Clara Voss was a smith. In 1931, she came to Lund.",
        "In Lund, Clara Voss led the school.",
        True,
    ),
    ("it, of a study", "It compared 90 smiths.", "The study was small.", "We compared 90 smiths.", True),
]


@pytest.mark.parametrize(
    ("claim", "before", "source", "passes"), [case[1:] for case in SUBJECTS], ids=[case[0] for case in SUBJECTS]
)
def test_a_pronoun_means_what_was_shown_last(claim: str, before: str, source: str, passes: bool) -> None:
    """No "he" whose person was cut, and none who is another one in the source (D20)."""
    assert (find_vetoes(claim, source, before=before) == ()) is passes


def test_the_reason_names_what_is_wrong() -> None:
    """Both numbers, for people."""
    claim = "The toll bridge at Lund carries two railway tracks and is 421 metres long."

    vetoes = find_vetoes(claim, BRIDGE)

    assert [veto.reason for veto in vetoes] == ["the source says 412, not 421"]


@pytest.mark.parametrize(
    ("claim", "rules"),
    [
        ("ヴォスは1943年1月7日に亡くなりました。", {"language"}),
        ("ヴォスは1943年2月7日に亡くなりました。", {"language", "dates"}),
        ("보스는 1943년 1월 7일에 사망했다.", {"language"}),
        ("沃斯于1943年1月8日去世。", {"language", "numbers"}),
    ],
)
def test_a_day_is_read_as_the_far_east_writes_it(claim: str, rules: set[str]) -> None:
    """Its month is no number of something else; one that differs is still told."""
    assert {veto.rule for veto in find_vetoes(claim, "Clara Voss died on 7 January 1943.")} == rules


def test_the_reason_gives_the_whole_of_a_name() -> None:
    vetoes = find_vetoes("The smith lived in hotels of Chicago.", "The smith lived in hotels of New York.")

    assert [veto.reason for veto in vetoes] == ["the source says New York, not Chicago"]


@pytest.mark.parametrize(
    "claim",
    [
        "So turnout was 100% − 32.9% = 67.1%.",
        "Of all smiths 0.516 × 0.671 ≈ 0.346, or 34.6%, were for it.",
        "A vote for it came from 51.6 / 32.9 = 1.57 times as many.",
    ],
)
def test_what_a_claim_works_out_rightly_is_for_the_judge(claim: str) -> None:
    """Its steps stand there, and begin with a number of the source."""
    source = "The vote was 51.6% in favour, and 32.9% of the smiths did not vote."

    assert {veto.force for veto in find_vetoes(claim, source) if veto.rule == "numbers"} == {Force.ASKS}


@pytest.mark.parametrize("result", ["1.234.569,5", "1.234.570,5"])
def test_what_is_worked_out_is_read_as_its_language_writes_numbers(result: str) -> None:
    vetoes = find_vetoes(
        f"Die Mühle kostete mit der Pacht 1.234.567,5 + 2 = {result} Mark.", "Die Mühle kostete 1.234.567,5 Mark."
    )

    assert (Force.DOUBTS in {veto.force for veto in vetoes if veto.rule == "numbers"}) is (result != "1.234.569,5")


TERMS = st.from_regex(r"[0-9][0-9.,]{0,9}%?", fullmatch=True)


@given(TERMS, st.sampled_from("+−×/"), TERMS, TERMS)
def test_any_equation_is_read(one: str, sign: str, other: str, result: str) -> None:
    find_vetoes(f"It came to {one} {sign} {other} = {result} smiths.", f"It came to {one} smiths.")


@pytest.mark.parametrize("claim", ["So turnout was 100% − 32.9% = 68.1%.", "So turnout was 100% − 31.9% = 68.1%."])
def test_what_a_claim_works_out_wrongly_or_from_nothing_is_doubted(claim: str) -> None:
    source = "The vote was 51.6% in favour, and 32.9% of the smiths did not vote."

    assert Force.DOUBTS in {veto.force for veto in find_vetoes(claim, source)}


def test_a_number_elsewhere_in_the_source_is_no_contradiction() -> None:
    """What the passage replaces the rest of the source may give."""
    source = "The Lund works employed 80 smiths in 1950."

    vetoes = find_vetoes(
        "The Lund works employed 95 smiths in 1950.", source, context="By the end of it there were 95."
    )

    assert [veto.force for veto in vetoes] == [Force.DOUBTS]


def test_a_list_of_myths_confirms_none_of_them() -> None:
    """The heading above the sentence takes it back."""
    context = "Common myths about bones:\nCracking knuckles causes arthritis."

    assert find_vetoes("Cracking knuckles causes arthritis.", "Cracking knuckles causes arthritis.", context=context)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("The bridge opened in 1931.", "The bridge opened in 1931", True),
        ("The Meridian bridge was opened in June 1931.", "In June 1931 the Meridian bridge was opened.", False),
        ("The Lund works employed 80 smiths.", "The Lund works employed 85 smiths.", False),
        ("The salve relieves pain in miners.", "The salve does not relieve pain in miners.", False),
        ("The old bridge was opened in June 1931.", "The old bridge opened in June 1931.", True),
    ],
    ids=["full stop", "another order is not looked into", "number", "denied", "another form"],
)
def test_two_sentences_say_the_same_in_nearly_the_same_words(one: str, other: str, is_same: bool) -> None:
    """For comparing two answers."""
    assert says_same(one, other) is is_same


@given(st.text(max_size=200), st.text(max_size=400), st.text(max_size=80))
def test_any_text_can_be_looked_at(claim: str, passage: str, before: str) -> None:
    """Whatever is claimed of whatever text, the same vetoes come twice, what weighs most first."""
    vetoes = find_vetoes(claim, passage, before=before)

    assert vetoes == find_vetoes(claim, passage, before=before)
    assert [veto.force for veto in vetoes] == sorted((veto.force for veto in vetoes), key=list(Force).index)


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        (" ".join(str(n) for n in range(150)), " ".join(str(n * 7) for n in range(20_000))),
        (" ".join(f"word{n} {n}" for n in range(150)), " ".join(f"word{n} {n + 1}" for n in range(10_000))),
        ("x" * 500, "a" * 100_000),
        ("ed by " * 300, "eded " * 20_000),
        ("not never " * 150, "not " * 20_000),
        ("A b. " * 300, "a. B " * 20_000),
        ("may might " * 150, "“(may " * 20_000),
    ],
    ids=["numbers", "words and numbers", "one word", "passives", "denials", "short sentences", "open brackets"],
)
def test_no_page_can_stall_the_check(claim: str, passage: str) -> None:
    """A page made to be slow costs a second at most, not minutes."""
    begin = time.process_time()

    find_vetoes(claim, passage, context=passage, before=claim)

    assert time.process_time() - begin < 2


def test_a_translation_with_names_and_numbers_of_its_source_is_one() -> None:
    """D21: words that two languages share do not make it a sentence of the other, whose words would all be missing."""
    german = "Die Meridian-Brücke wurde im Juni 1931 eröffnet."
    french = "Selon Falk, les lampes de Tarn aveugleraient un jour le télescope."

    assert find_vetoes(german, "The Meridian bridge in Lund was opened in June 1931.") == ()
    assert find_vetoes(french, "Falk said that the lamps of Tarn would one day blind the telescope.") == ()
    assert find_vetoes(german, "The Meridian bridge in Lund was opened in June 1932.") != ()


def test_a_place_below_something_bounds_no_number_of_it() -> None:
    """D19: "below green roofs were 3 °C" says nothing of less than 3, and "below 3 °C" does."""
    claim = "On hot afternoons the rooms below green roofs were about 3 °C cooler than those below bitumen roofs."
    source = "On hot afternoons the rooms below green roofs were {} °C cooler than those below bitumen roofs."

    assert find_vetoes(claim, source.format("3")) == ()
    assert find_vetoes(claim, source.format("less than 3")) != ()
    assert find_vetoes("The rooms were 3 °C warm in May.", "The rooms were below 3 °C in May.") != ()


@pytest.mark.parametrize(
    ("claim", "passage", "is_doubted"),
    [
        ("The price tripled in 2010.", "The price doubled in 2010.", True),
        ("Der Preis verdreifachte sich 2010.", "Der Preis verdoppelte sich 2010.", True),
        ("Unemployment rose by 5 %.", "Unemployment rose by 5 percentage points.", True),
        ("Unemployment rose by 5 percentage points.", "Unemployment rose by 5 %.", True),
        ("Unemployment rose by 5 %.", "Unemployment rose from 7 % to 12 %.", True),
        ("Die Arbeitslosigkeit stieg um 5 %.", "Die Arbeitslosigkeit stieg um 5 Prozentpunkte.", True),
        ("The number of visitors doubled.", "The number of visitors rose from 100 to 200.", False),
        ("The output rose threefold.", "The output tripled.", False),
    ],
)
def test_how_many_times_and_what_of_a_hundred(claim: str, passage: str, *, is_doubted: bool) -> None:
    """S003-16: tripled is not doubled, and five per cent are not five percentage points."""
    assert bool(find_vetoes(claim, passage)) is is_doubted


@pytest.mark.parametrize(
    ("claim", "passage", "is_doubted"),
    [
        ("Samsung verklagte Apple.", "Apple verklagte Samsung.", True),
        ("Den Hund biss der Mann.", "Der Mann biss den Hund.", False),
        ("Dem Lehrer gab der Schüler das Buch.", "Der Schüler gab dem Lehrer das Buch.", False),
        ("Im Jahr 2011 verklagte Apple Samsung.", "Apple verklagte Samsung im Jahr 2011.", False),
        ("Siemens wurde von Bosch verklagt.", "Im Streit um ein Patent verklagt Bosch den Konzern Siemens.", False),
    ],
)
def test_german_tells_by_its_cases_who_does_it(claim: str, passage: str, *, is_doubted: bool) -> None:
    """S003-16: "den Hund biss der Mann" is no other deed than "der Mann biss den Hund"."""
    assert any(veto.rule == "roles" for veto in find_vetoes(claim, passage)) is is_doubted


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("In Vik the World Health Organization counted 12 cases.", "In Vik 12 cases were counted by the WHO."),
        ("Libyan ships reached the port of Vik.", "Ships from Libya reached the port of Vik."),
        ("Anna Berg joined the U.S team of Orlen.", "Anna Berg joined the team of Orlen."),
        ("In 2019 Orlen won the cup.", "Fri 15 Feb 19\nOrlen won the cup."),
        ("Prior births had the lowest rate of all.", "Prior births had the smallest rate of all, and costs increased."),
        (
            "The band began in 1954 with Sam Phillips.",
            "The band began in 1954 with Sam Phillips, who wanted to travel.",
        ),
        ("About half a million people visit the lake.", "Approximately 500,000 people visit the lake."),
        ("Lund opened on 12 September.", "Lund opened on Sept. 12."),
        ("Berg eroberte zwei Bälle zurück.", "Berg erzielte in Lund zwei gewonnene Bälle."),
        ("In Lund lebte nur eine Person.", "In Lund lebte eine einzige Person."),
        ("Only about a third of the smiths survived.", "Around 33% of the smiths survived."),
        ("Pain came back in ten patients.", "Pain came back in 10 and fever in 12 patients."),
        ("Lo han logrado, sin embargo, en pocos años.", "Lo han logrado en pocos años."),
        ("All had the salve within nine days.", "All had the salve within the first 9 days."),
        ("The salve was given within the first month.", "The salve was given during the first month."),
        ("X-rays of the keel were taken in Lund.", "Radiographs of the keel were taken in Lund."),
        ("NGOs built the mill of Lund.", "The mill of Lund was built by non-governmental organisations."),
        ("The pump ran for five and a half years.", "The pump ran for 66 months."),
        ("Nearly two thirds of the raids failed.", "Of 970 forays, 620 failed."),
        ("Some 500 letters over four years were read.", "508 letters of a 4 year period were read."),
        ("Over four years 500 letters were read.", "In four years 500 letters were read."),
        ("Berg rejects the Holt curve.", "Berg rejects the Holt curve hypothesis."),
        ("Smiths should rest, above all in summer.", "Smiths should rest, particularly in summer."),
        (
            "The walk told nothing about pulse.",
            "The walk was not related to objective measures of age, pulse or weight.",
        ),
        ("Berg used to be a judge in Lund.", "Berg is a former judge in Lund."),
        ("The play is followed by the opera of Holt.", "The play will also lead in to the opera of Holt."),
        ("The walk was hard for 13 smiths.", "It found three false positives, and the walk was hard for 13 smiths."),
        ("Wages were alike in young and older smiths.", "Wages were 59 marks in the younger and the other smiths."),
        ("Sure! Anna Berg was born in Lund.", "Anna Berg was born in Lund."),
        ("The keel goes back to the yard.", "It is thought that the mast was bought; the keel goes back to the yard."),
        (
            "Well-being: General health of smiths improved in Lund.",
            "Satisfaction rose in both. Increased wages and the general health of smiths improved in Lund.",
        ),
        ("Parts: You can pay the mill in three parts.", "Smiths pay the mill in three parts."),
        ("1931 – Ida Holt opens the mill of Lund.", "In 1931, Ida Holt opened the mill of Lund."),
        ("The mill was burnt by a rival house.", "The mill was burnt by a rival house, perhaps smiths."),
        ("The forge is no hall for smiths.", "Given the price of steel, the forge is no hall for smiths."),
        (
            "Orlen had 308 goals (sixth in the LFC) and led in saves.",
            "Orlen had 308 goals, ranking sixth, while also leading the LFC in saves.",
        ),
        (
            "Neck pain: OR 1.34 (CI 1.04–1.73)",
            "Smiths of ETS had leave exceeding 14 days due to neck pain (odds ratio (OR) = 1.34; 95% interval (CI): "
            "1.04-1.73), and high back pain (OR=1.49; CI: 1.07-2.06).",
        ),
        (
            "Smiths had more sick leave for any illness.",
            "Smiths had sick leave for low back pain and any illness.",
        ),
        ("The mill earned most in Q4.", "The mill earned most in the fourth quarter."),
        ("Holt joked that the feat took 17 of his plans.", "Holt quipped that the feat took 17 of his plans."),
        ("Linux: systemd timer", "On Linux use a systemd timer; on macOS use launchd."),
        ("⏱️ Interval: wait at least 4 hours between doses.", "Always wait at least 4 hours between doses."),
        ("TL;DR: smiths keep the doses short.", "Smiths keep the doses short."),
        ("Mix 1¼ tsp (8 g) of salt with 1⅓ cups of water.", "Mix 1 1/4 tsp (8 g) of salt with 1 1/3 cups of water."),
        ("Take 1–2 tablets of the salve a day.", "Take one or two tablets of the salve a day."),
        ("Voss was born in 63 BCE and died in 14 CE.", "Voss was born in 63 BC and died in AD 14."),
        ("Smiths with class II of the NYHA were seen.", "Smiths with New York Heart Association class II were seen."),
        ("The prize of $2.2m went to Lund.", "The prize of about $2.2 million went to Lund."),
        ("Si cuoce il riso per 15 minuti in acqua.", "Si cuoce il riso per un quarto d'ora in acqua."),
        ("Judge Voss wrote for the majority.", "Judge Voss wrote the majority opinion."),
        ("El camino de Lund tiene 700 km.", "El camino parte de Lund y tiene 700 km."),
        (
            "Lund is not the only one: Ystad, Skara and Malmo have mills too.",
            "Ystad, Skara and Malmo have mills as well.",
        ),
    ],
    ids=[
        "initials",
        "of a place",
        "dotted",
        "short year",
        "a rank is no change",
        "a hedge of what follows",
        "half of it",
        "Sept",
        "a verb in two parts",
        "nur eine",
        "only about",
        "counted once",
        "sin embargo",
        "the first days",
        "first month",
        "a letter of a word",
        "initials of small words",
        "and a half",
        "nearly a share of other words",
        "over a time",
        "over a time first",
        "a hypothesis by its name",
        "above all",
        "one of what is denied",
        "no longer",
        "leads to what follows",
        "false positives",
        "young and younger",
        "a word alone",
        "the clause behind it",
        "a label",
        "a label before you",
        "told as if now",
        "a hedge of an aside",
        "given what is so",
        "another clause behind brackets",
        "statistics before their figures",
        "more than one and low",
        "a quarter",
        "who jokes says it",
        "a value behind its colon",
        "a picture before a label",
        "a lead of the net",
        "parts of one",
        "one or two",
        "eras",
        "initials in its place",
        "millions of money",
        "a quarter of an hour",
        "an opinion of judges",
        "partir",
        "not the only one",
    ],
)
def test_what_is_only_written_otherwise_is_not_doubted(claim: str, passage: str) -> None:
    """D18: a rule that doubts what is true takes its ✓."""
    assert find_vetoes(claim, passage) == ()


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("Der Rat wies die Klage zurück.", "Der Rat las die Klage."),
        ("Nur ein Arzt darf impfen.", "Ein Arzt darf impfen."),
        ("Lund had half a million people.", "Lund had 800,000 people."),
        ("Only Clara Voss, a smith from Malmo, opened the school of Lund.", SCHOOL),
        ("The First Nations signed it in Lund.", "The UN signed it in Lund."),
        ("The Great Lakes were surveyed in Lund.", "British ships were surveyed in Lund."),
        ("The keel is 90 feet longer than the mast.", "The keel is 431 feet and the mast 342 feet long."),
        ("Ystad: The works employed 80 smiths in 1950.", TOWNS),
        (
            "Ida Holt: The law of levers was published in 1905 in Lund.",
            "Voss published the law of levers in 1905 in Lund.",
        ),
        ("The authors fought in Lund in 1931.", "The soldiers of Holt fought in Lund in 1931."),
        ("The salve is safe for smiths.", "Given the right dose, the salve is safe for smiths."),
        ("Linux: launchd", "On Linux use a systemd timer; on macOS use launchd."),
        ("Winner: Ida Holt", "Ida Holt lost to Clara Voss, the winner."),
        ("Lund is not the only one with a mill.", "Lund is the only town with a mill."),
        ("Nacque a Milano.", "La prima scuola di Lund apparve nel 1954 in una rivista."),
        ("Salvan hjälper inte barn i Lund.", "Salvan hjälper barn i Lund."),
        ("Lek pomaga dzieciom z astmą.", "Lek nie pomaga dzieciom z astmą."),
    ],
    ids=[
        "refused",
        "one alone",
        "half of more",
        "only",
        "no Nations",
        "no Great Britain",
        "not what is worked out",
        "behind a label",
        "a name as a label",
        "no authors",
        "given a condition",
        "another clause's value",
        "another's title",
        "not the only one",
        "few words of the source's language",
        "a word more where no denials are known",
        "a word less where no denials are known",
    ],
)
def test_what_differs_beside_the_same_words_is_doubted(claim: str, passage: str) -> None:
    """D18: and no judge overrules it."""
    assert find_vetoes(claim, passage)[0].force is Force.DOUBTS


def test_not_the_only_one_hides_no_other_denial() -> None:
    """D18: only that there are others denies nothing."""
    said = "The mill was not closed in 1990, and it is not the only mill in Lund."

    vetoes = find_vetoes(said, "The mill in Lund was closed in 1990.")

    assert "negation" in [veto.rule for veto in vetoes]


def test_a_label_that_says_the_opposite_contradicts() -> None:
    """D19: what stands behind it alone does not."""
    said = "An advantage is that the lamp burns two days longer than before."

    vetoes = find_vetoes("Disadvantage: The lamp burns two days longer than before.", said)

    assert vetoes[0].force is Force.CONTRADICTS


@pytest.mark.parametrize(
    ("claim", "source", "is_doubted"),
    [
        ("The tunnel will be dug.", "Given the approval of the guild, the tunnel will be dug in May.", True),
        ("The tunnel will be deep.", "Given the depth of the lake, the tunnel will be deep in May.", False),
        ("The old road is 89 km longer than the new road.", ROADS, False),
        ("Only 16% of the smiths were burned.", "Of the smiths, 61 out of 375 were burned.", False),
        ("The mayor approved the plan.", "Neither the council nor the mayor approved the plan.", True),
        ("El puente de Lund es largo.", "Como el puente de Lund es corto, se cruza a pie.", True),
        ("Der Turm von Lund ist niedrig.", "Da der Turm von Lund sehr hoch ist, sieht man ihn von Ystad.", True),
        ("A walk took 9.9 seconds.", "A walk took 9.9 ± 2.8 min.", True),
        ("A walk took 10 minutes.", "A walk took 10 ± 2.8 min.", False),
        ("The salve raises the risk of gout.", "Use of the salve was associated with a higher risk of gout.", True),
        (
            "The salve raises the risk of gout.",
            "The salve raises the risk of gout, with which it is associated.",
            False,
        ),
        ("The smiths rated the warden for skill.", "The warden was asked to rate the smiths for skill.", True),
        ("The specificity was 96.4%.", "It has a high sensitivity (92.9%) and specificity (96.4%).", False),
        ("The mill uses 40 litres per day.", "The mill uses 40 litres per person per day.", False),
        ("Emissions are 4 tonnes per person.", "Emissions are 4 tonnes per inhabitant.", False),
        ("Rainfall is 600 mm per annum.", "Rainfall is 600 mm per year.", False),
        ("Salt raises blood pressure.", "Salt elevates blood pressure and is related to strokes.", False),
        ("The salve causes gout.", "The salve is correlated with gout, and is sold in Lund.", True),
        ("Voss ran it 12 seconds slower than Hart.", "Voss ran it in 95 seconds and Hart in 83 seconds.", False),
        ("The trip led to only one loss.", "The trip led to one loss.", False),
        ("The salve prevents gout.", "The salve is inversely associated with gout.", True),
        ("The salve and the balm made no difference.", "The salve eased more pain than the balm.", True),
        ("The new lamp was lit by N. Hart Voss.", "N. Hart Voss lit the new lamp.", False),
        ("The Lund mill was sold.", "The rumours were indeed true: the Lund mill was sold.", False),
    ],
)
def test_what_a_source_says_otherwise_is_no_matter_of_wording(claim: str, source: str, *, is_doubted: bool) -> None:
    """D18: numbers of a part, comparisons turned round, links told as causes, denials of two at once."""
    assert any(veto.force is not Force.ASKS for veto in find_vetoes(claim, source)) is is_doubted


def test_an_item_of_what_is_forbidden_is_not_allowed_in_other_words() -> None:
    """D19: the heading or lead denies what stands under it."""
    context = "The following is prohibited in the park:\n- Dogs on a leash\n- Open fires"

    assert find_vetoes("Dogs on a leash are allowed in the park.", "- Dogs on a leash", context=context)
    assert not find_vetoes("Dogs on a leash are prohibited in the park.", "- Dogs on a leash", context=context)


def test_a_sentence_about_somebody_else_says_nothing_of_whom_the_page_is_about() -> None:
    """S003-16: whatever its title is."""
    said = "At 3,530 km the Volga is the longest river of Europe."

    vetoes = find_vetoes("The Danube is 3,530 km long.", said, context=f"The Danube\n{said}")

    assert [veto.force for veto in vetoes] == [Force.DOUBTS]


@pytest.mark.parametrize(
    "claim",
    [
        "Only thanks to her smithy did Lund get somewhere for children to learn.",
        "Die Schmiedin hat die Schule nicht in Malmo gegründet.",
    ],
    ids=["only", "denied in another language"],
)
def test_of_free_wording_a_rule_that_finds_no_word_only_asks(claim: str) -> None:
    """D18: others may have said it in words of their own; that is for the judge to tell."""
    assert {veto.force for veto in find_vetoes(claim, SCHOOL)} == {Force.ASKS}


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("William Henry Ogden approved the vaccine in 2020.", "The WHO approved the vaccine in 2020."),
        ("Eric Underwood banned the chemical in 2018.", "The EU banned the chemical in 2018."),
        ("The Eric Underwood Trust banned the chemical in 2018.", "The EU banned the chemical in 2018."),
    ],
)
def test_a_name_with_the_same_initials_is_another(claim: str, passage: str) -> None:
    """S003-16: only what stands behind an article, and all of it, is written out by its initials."""
    assert "names" in {veto.rule for veto in find_vetoes(claim, passage)}


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The salve heals old smiths.", "The salve heals old smiths in towns."),
        ("The keel is 89 feet longer than the mast.", "The keel is 431 feet and the mast 342 feet long."),
        ("162 patients took part.", "97 patients had asthma and 65 had gout; all took part."),
        ("Pain fell by 2.7 points.", "Pain fell from 6.8 to 4.1 points in walkers."),
        ("Unemployment rose by 5 percentage points.", "Unemployment rose from 7 % to 12 %."),
        ("Twice as many walkers as sitters slept.", SLEPT),
        ("The mill uses half the water of the forge.", WATER),
        ("The mill burned on 9 March 1931.", "The mill burned on 09/03/1931."),
        ("The mill burned on 09/03/1931.", "The mill burned on 9 March 1931."),
        ("Ida Holt, chosen in 1931, leads the works.", "Ida Holt, chosen in 1931, led the works."),
        ("The gain was 2.9 kg smaller in Lund (1.3 vs 4.2 kg).", "The gain was 1.3 kg in Lund and 4.2 kg in Vik."),
        ("全長は3,530 kmです。", "At 3,530 km it is the longest river."),
        (
            "Esch und Voes waren die ersten lutherischen Märtyrer.",
            "Er hörte von Esch und Voes, den ersten, die für ihren lutherischen Glauben den Märtyrertod starben.",
        ),
    ],
    ids=[
        "in what",
        "what is worked out",
        "a sum of both",
        "a difference of one thing",
        "a difference in points",
        "twice, of numbers",
        "half the amount",
        "a slashed date",
        "a slashed date in the claim",
        "still so, perhaps",
        "of figures that share a unit",
        "a language whose denials are unknown",
        "other words where synonyms are unknown",
    ],
)
def test_what_a_source_leaves_open_is_asked(claim: str, passage: str) -> None:
    """D18: people called it supported as often as not; that is for the judge to tell."""
    assert {veto.force for veto in find_vetoes(claim, passage)} == {Force.ASKS}


def test_what_happened_is_not_still_to_come() -> None:
    """A source may be older than what it announces; one that tells of it announces nothing."""
    vetoes = find_vetoes("The mill will open in May with a new hall.", "The mill opened in May with a new hall.")

    assert {veto.force for veto in vetoes} == {Force.DOUBTS}


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The US sued Britain over steel.", "The United States sued the United Kingdom over steel."),
        ("Britain was sued by the US over steel.", "The United States sued the United Kingdom over steel."),
        ("The UK and the US signed it in Lund.", "The United States and Britain signed it in Lund."),
        ("Britain left the Council of Smiths in 2020.", "The United Kingdom left the Council of Smiths in 2020."),
        ("The UK's smiths left the council.", "The British smiths left the council."),
        ("En EE. UU. cerraron las escuelas de Lund.", "En Estados Unidos cerraron las escuelas de Lund."),
        ("Schiffe Vereinigter Staaten erreichten 1931 Lund.", "Schiffe der USA erreichten 1931 Lund."),
        ("Schiffe Großbritanniens erreichten Lund.", "Schiffe des Vereinigten Königreichs erreichten Lund."),
        ("The WHO's budget grew in 2020.", "The budget of the World Health Organization grew in 2020."),
        ("Solche Brücken tragen den Verkehr nach Malmö.", "Die Brücken tragen den Verkehr nach Malmö."),
        ("Zwei Gesetze gelten: das von 1996 über Brücken.", "Zwei Gesetze gelten: das über Brücken von 1996."),
        ("Why the bridge of Lund fell is not yet known.", "It is unclear why the bridge of Lund fell."),
        ("A smith built the bridge of Lund in 1900.", "An unknown smith built the bridge of Lund in 1900."),
        ("Cognition was tested in Lund for years.", "Cognitive skills were tested in Lund for years."),
        ("The salve did not heal the burns entirely.", "The salve did not heal the burns completely."),
    ],
)
def test_another_name_or_word_for_the_same_is_not_doubted(claim: str, passage: str) -> None:
    """D18: a country has several names, in several languages; a German sentence begins with a capital."""
    assert find_vetoes(claim, passage) == ()


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The US paid for the bridge of Lund.", "Under severe pressure the town paid for the bridge of Lund."),
        ("The US left the Council of Smiths.", "The United Kingdom left the Council of Smiths."),
        ("Britain left the Council of Smiths.", "The US left the Council of Smiths, and Britain joined it."),
        ("Austria paid for the bridge of Lund.", "Australia paid for the bridge of Lund."),
        ("Christina led the council of Lund.", "Christian led the council of Lund."),
        ("Marie Berg gewann 1990 den Preis von Lund.", "Anna Berg gewann 1990 den Preis von Lund."),
        ("It is unknown who built the bridge of Lund.", "It is likely that Berg built the bridge of Lund."),
        ("The UK sued America in March over steel.", "The US sued Britain in March over steel."),
        ("Britain sued the US over steel.", "The United States sued the United Kingdom over steel."),
        ("British smiths beat American smiths in Lund.", "US smiths beat UK smiths in Lund."),
    ],
)
def test_another_one_is_doubted(claim: str, passage: str) -> None:
    """S003-16: whatever words begin with a country's initials or the other's name, and whatever else is united."""
    assert any(veto.force is not Force.ASKS for veto in find_vetoes(claim, passage))


def test_of_free_wording_about_somebody_else_it_is_asked() -> None:
    """D20: where the sentence is in other words, its subject may be meant by them."""
    source = "Berg rowed across the strait in the storms of March. Hart stayed."

    vetoes = find_vetoes("He got across the strait by boat in rough seas.", source, before="Nils Hart was a smith.")

    assert {veto.force for veto in vetoes} == {Force.ASKS}
