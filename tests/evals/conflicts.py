"""Conflicts where no judge is: of pairs of sentences that contradict how many are found, of compatible ones how few.

All pairs are made up for this file, and none is of a data set. Without a judge precision goes before recall: what
is missed here a judge finds.
"""

from __future__ import annotations

from datetime import UTC, datetime

from core.evidence.conflicts import contrary_passages, find_conflicts
from core.evidence.passages import EvidenceIndex
from core.model.answer import Claim, Evidence, Verdict
from core.model.source import Source, SourceMetadata

NOW = datetime(2026, 11, 20, tzinfo=UTC)

CONTRARY = """
The Tervola bridge opened in 1958. | The Tervola bridge opened in 1961.
The Tervola bridge was opened on 3 June 1958. | The Tervola bridge was opened on 13 June 1958.
Lake Orma is 41 metres deep. | The depth of Lake Orma is 62 metres.
The Karst tunnel is 7.4 km long. | The Karst tunnel has a length of 9.1 km.
The Vesna tower stands 212 metres tall. | The Vesna tower is 186 metres tall.
The Halden mill was built in 1822. | The Halden mill was built in 1847.
Mount Sarek was first climbed in 1879. | Mount Sarek was first climbed in 1899.
The library holds 2.3 million books. | The library holds 1.4 million books.
Norvik has 48,000 inhabitants. | Norvik has 71,000 inhabitants.
The default port of Quill is 8125. | The default port of Quill is 8086.
The default timeout of Quill is 30 seconds. | The default timeout of Quill is 90 seconds.
Quill keeps logs for 14 days. | Quill keeps logs for 30 days.
Quill encrypts backups by default. | Quill does not encrypt backups by default.
Quill 3 supports Windows. | Quill 3 does not support Windows.
Varex was approved for children in 2019. | Varex was approved for children in 2021.
Varex lowers blood pressure in adults. | Varex raises blood pressure in adults.
Varex does not cause weight gain. | Varex causes weight gain.
The recommended dose of Varex is 50 mg a day. | The recommended dose of Varex is 100 mg a day.
The maximum dose of Varex is 2 g. | The maximum dose of Varex is 800 mg.
Varex is safe in pregnancy. | Varex is unsafe in pregnancy.
Varex reduced mortality by 12 percent. | Varex reduced mortality by 31 percent.
The Alder treaty was signed in 1648. | The Alder treaty was signed in 1659.
The Alder treaty was signed in Bern. | The Alder treaty was signed in Lyon.
Ida Holm was born on 4 May 1871. | Ida Holm was born on 4 March 1871.
Ida Holm died in 1932. | Ida Holm died in 1937.
Ida Holm discovered the comet in 1904. | Ida Holm discovered the comet in 1911.
The Lund comet returns every 76 years. | The Lund comet returns every 54 years.
The Pellworm dike is 8 metres high. | The Pellworm dike has a height of 5 metres.
The strait is 14 kilometres wide. | The strait has a width of 5 miles and strong currents.
The speed limit in Arvo is 30 km/h. | The speed limit in Arvo is 50 km/h.
The museum is closed on Mondays. | The museum is open on Mondays.
Entry to the Rask museum is free. | Entry to the Rask museum costs 12 euros.
The Rask museum opened to the public in May 2003. | The Rask museum opened to the public in June 2005.
The company Fenno was founded in 1986. | Fenno was established in 1991.
Fenno employs 5,200 people. | Fenno employs 3,900 people.
Fenno made a profit of 40 million euros in 2023. | Fenno made a loss of 40 million euros in 2023.
Sales of Fenno rose by 8 percent in 2022. | Sales of Fenno fell by 8 percent in 2022.
Sales of Fenno rose by 8 percent in 2022. | Sales of Fenno rose by 3 percent in 2022.
Fenno is larger than Baltec. | Baltec is larger than Fenno.
Diesel engines are louder than petrol engines. | Petrol engines are louder than diesel engines.
Green roofs keep rooms cooler than black roofs. | Black roofs keep rooms cooler than green roofs.
The green roof was 3 °C cooler than the black roof. | The green roof was 6 °C cooler than the black roof.
The tax on Lesk is 19 percent. | The tax on Lesk is 7 percent.
The Norda river is 420 km long and ends in the Baltic Sea. | The Norda river is 310 km long.
The Norda river, which floods each spring, is 420 km long. | The Norda river is 310 km long.
The Norda dam was completed in 1931. | The Norda dam was finished in 1936.
The Norda dam is the tallest in Europe. | The Norda dam is not the tallest in Europe.
The trial enrolled no women. | The trial enrolled women.
Coffee increases the risk of gout. | Coffee decreases the risk of gout.
Coffee is associated with a higher risk of gout. | Coffee is associated with a lower risk of gout.
Bees can see ultraviolet light. | Bees cannot see ultraviolet light.
The Ekna virus spreads through the air. | The Ekna virus does not spread through the air.
The Ekna virus was first found in 1976. | The Ekna virus was first found in 1983.
The Ekna virus kills 40 percent of patients. | The Ekna virus kills 4 percent of patients.
The ferry to Huso takes 35 minutes. | The ferry to Huso takes 2 hours.
The Huso lighthouse was lit in 1884 and is painted red. | The Huso lighthouse was first lit in 1897.
The Huso lighthouse is 31 m (102 ft) tall. | The Huso lighthouse is 24 m (79 ft) tall.
The password must have at least 12 characters. | The password must have at least 8 characters.
The API allows 100 requests per minute. | The API allows 600 requests per minute.
The election was held on 9 October 2022. | The election was held on 2 October 2022.
The mayor of Norvik resigned in March 2021. | The mayor of Norvik resigned in May 2021.
Norvik lies north of Halden. | Norvik lies south of Halden.
The strike began before the election. | The strike began after the election.
The law was accepted by parliament. | The law was rejected by parliament.
More than 9,000 people work at the port. | The port has 2,000 workers.
Gold is cheaper than it was in 2010. | Gold is more expensive than it was in 2010.
"""

COMPATIBLE = """
The Tervola bridge opened in 1958. | The Tervola bridge was closed in 1961.
The Tervola bridge opened in 1958. | The second Tervola bridge opened in 1961.
The Tervola bridge was opened on 3 June 1958. | The Tervola bridge opened in the summer of 1958.
Lake Orma is 41 metres deep. | Lake Orma is 62 km long.
Lake Orma is 41 metres deep. | Lake Orma is on average 12 metres deep.
Lake Orma is up to 41 metres deep. | Lake Orma is 30 metres deep near the shore.
The Karst tunnel is 7.4 km long. | The Karst tunnel is 4.6 miles long.
The Karst tunnel is 7.4 km long. | The Karst tunnel is about 7 km long.
The Vesna tower is 212 metres tall. | The Vesna tower is 186 metres tall without its antenna.
The Vesna tower was 186 metres tall in 1970. | The Vesna tower is 212 metres tall today.
The Vesna tower was 186 metres tall. | The Vesna tower is 212 metres tall.
The north Vesna tower is 212 metres tall. | The south Vesna tower is 186 metres tall.
The Halden mill was built in 1822. | The Halden mill was rebuilt in 1847.
The Halden mill was built in 1822. | The Halden mill was built between 1819 and 1822.
Mount Sarek was first climbed in 1879. | Mount Sarek was first climbed in winter in 1899.
The library holds 2.3 million books. | The library holds 1.4 million maps.
The library holds 2.3 million books. | The library holds 2,310,000 books.
Norvik has 48,000 inhabitants. | Norvik had 31,000 inhabitants in 1990.
Norvik has 48,000 inhabitants. | The region of Norvik has 71,000 inhabitants.
Norvik has 48,000 inhabitants. | Norvik has nearly 50,000 inhabitants.
In 2010 Norvik had 41,000 inhabitants. | In 2020 Norvik had 48,000 inhabitants.
The default port of Quill is 8125. | The default port of Quill for metrics is 8086.
The default timeout of Quill is 90 seconds. | The default timeout of Quill is 1.5 minutes.
The timeout of Quill is 30 seconds by default. | The timeout of Quill can be set to 90 seconds.
Quill keeps logs for 14 days. | Quill keeps backups for 30 days.
Quill 2 does not support Windows. | Quill 3 supports Windows.
Quill encrypts backups by default. | Quill does not encrypt logs by default.
Quill encrypts backups if a key is set. | Quill does not encrypt backups unless a key is set.
Varex was approved for adults in 2019. | Varex was approved for children in 2021.
Varex was approved in Japan in 2019. | Varex was approved in Canada in 2021.
Varex lowers blood pressure in adults. | Varex may raise blood pressure in some adults.
Varex lowers blood pressure in mice. | Varex does not lower blood pressure in rats.
The starting dose of Varex is 50 mg a day. | The maximum dose of Varex is 100 mg a day.
The dose of Varex is 50 mg for children. | The dose of Varex is 100 mg for adults.
The dose of Varex is 50 to 100 mg. | The dose of Varex is 75 mg.
Varex reduced mortality by 12 percent. | Varex reduced strokes by 31 percent.
In the first trial Varex reduced mortality by 12 percent. | In the second trial Varex reduced mortality by 15 percent.
Varex is not unsafe in pregnancy. | Varex is safe in pregnancy.
The mean age of the women was 45 years. | The mean age of the men was 52 years.
The study included 120 patients. | The study included 14 hospitals.
Our study found an increase of 4 percent. | A study found an increase of 9 percent.
The Alder treaty was signed in 1648. | The Alder treaty entered into force in 1650.
The Alder treaty was signed in 1648. | The Alder treaty was signed in October 1648.
Ida Holm was born in 1871. | Karl Holm was born in 1874.
Ida Holm died in 1932. | Ida Holm retired in 1927.
Ida Holm won the prize in 1904. | Ida Holm won the prize in 1911.
The Pellworm dike is 8 metres high. | The Pellworm dike is 25 kilometres long.
The strait is 14 kilometres wide. | The strait is 9 miles wide.
The speed limit in Arvo is 30 km/h. | The speed limit outside Arvo is 50 km/h.
The museum is closed on Mondays. | The museum is open on Tuesdays.
Entry to the Rask museum is free for children. | Entry to the Rask museum costs 12 euros for adults.
Fenno was founded in 1986. | Fenno went public in 1991.
Fenno employs 5,200 people. | Fenno employs 3,900 people in Finland.
Fenno employs more than 5,000 people. | Fenno employs 5,200 people.
Sales of Fenno rose by 8 percent in 2022. | Sales of Fenno rose by 3 percent in 2023.
Sales of Fenno rose by 8 percent in 2022. | Profits of Fenno fell by 8 percent in 2022.
Fenno is larger than Baltec. | Baltec is smaller than Fenno.
Fenno is larger than Baltec. | Fenno is larger than Nordic Foods.
In a mild scenario the sea rises by 30 cm. | In a severe scenario the sea rises by 80 cm.
By 2050 the sea rises by 30 cm. | By 2100 the sea rises by 80 cm.
The green roof was 3 °C cooler at noon. | The green roof was 6 °C cooler at night.
The green roof was 3 °C cooler than the black roof. | The green roof was 6 °C cooler than the bare roof.
The tax on books is 7 percent. | The tax on cars is 19 percent.
The Norda river is 420 km long. | The Norda river is 310 km long within Poland.
The Norda dam is the tallest in Europe. | The Norda dam is not the tallest in the world.
Coffee increases the risk of gout. | Coffee decreases the risk of diabetes.
Coffee increases alertness. | Coffee does not increase endurance.
The Ekna virus spreads through the air. | The Ekna virus does not spread through water.
The Ekna virus kills 40 percent of untreated patients. | The Ekna virus kills 4 percent of treated patients.
The ferry to Huso takes 35 minutes. | The ferry to Arvo takes 2 hours.
The ferry to Huso takes 35 minutes. | The slow ferry to Huso takes 2 hours.
The Huso lighthouse is 31 m tall. | The Huso lighthouse is 102 feet tall.
The Huso lighthouse is 31 m tall. | The light of the Huso lighthouse is 52 m above the sea.
The password must have at least 8 characters. | The password has 12 characters.
The API allows 100 requests per minute. | The API allows 6,000 requests per hour.
The API allows 100 requests per minute. | The API allows 600 requests per minute for paying customers.
The election was held on 9 October 2022. | The first round of the election was held on 2 October 2022.
The mayor of Norvik resigned in March 2021. | The mayor of Halden resigned in May 2021.
About a third of the members voted. | 33 percent of the members voted.
The law was accepted by parliament. | The law was rejected by the senate.
The budget is 1.500 euros. | The budget is 1,500 euros.
The court did not reject the appeal. | The court accepted the appeal.
"""


def pairs(table: str) -> list[tuple[str, str]]:
    rows = (row.partition(" | ") for row in table.strip().splitlines())
    return [(first, second) for first, _, second in rows]


def is_conflict(first: str, second: str) -> bool:
    """Whether two pages that say these sentences conflict where no judge is, whichever of them the answer cites."""
    pages = _page(1, first), _page(2, second)
    return any(find_conflicts([_claim_of(pages[cited], said)], pages, "") for cited, said in enumerate((first, second)))


def is_proposed(first: str, second: str) -> bool:
    """Whether a judge would be asked about the second sentence, beside others of its page."""
    around = "The visitors liked the weather. Many came by train. Lunch was served at noon in the old hall."
    found = contrary_passages(first, EvidenceIndex(_page(2, f"{around} {second} {around}")))
    return any(evidence.quote == second for evidence in found)


def print_conflicts() -> None:
    """Found of contrary pairs, false ones among compatible pairs, each in any order; and what a judge is asked."""
    contrary, compatible = pairs(CONTRARY), pairs(COMPATIBLE)
    missed = [pair for pair in contrary if not is_conflict(*pair)]
    false = [pair for pair in compatible if is_conflict(*pair)]
    asked = sum(is_proposed(*pair) for pair in contrary)
    print(
        f"without a judge {len(contrary) - len(missed)} of {len(contrary)} contrary pairs are found, "
        f"{len(false)} of {len(compatible)} compatible ones are called conflicts"
    )
    print(f"with a judge it is asked about {asked} of {len(contrary)} contrary sentences")
    for name, found in (("false", false), ("missed", missed)):
        print("".join(f"  {name}: {first} | {second}\n" for first, second in found), end="")


def _page(number: int, content: str) -> Source:
    metadata = SourceMetadata(f"site{number}.example", len(content.split()), "fake")
    return Source(f"src_{number}", f"https://site{number}.example", content, content, str(number), NOW, metadata)


def _claim_of(page: Source, text: str) -> Claim:
    return Claim("summary-0", text, Verdict.SUPPORTED, (Evidence(page.id, text, 0, len(text), Verdict.SUPPORTED),))
