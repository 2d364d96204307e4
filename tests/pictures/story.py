"""What the pictures are about: made-up pages, a made-up paper, and what a scripted model makes of them.

Every figure is invented, and the sites end in `.example`. The answers are searched, checked and scored as any other.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from adapters.records.jobs import SqlEvaluations
from core.evaluation.cases import read_cases
from core.evaluation.report import Run
from core.evaluation.running import asking, run_cases
from core.model.answer import Confidence
from core.model.errors import ModelUnavailable
from core.model.job import Scope
from core.model.ports import ChatDelta, ChatRequest
from core.model.source import SearchHit, SearchQuery, SourceKind
from core.tenancy.usage import JudgedAnswers
from tests.adapters.web.site import Library, Writer
from tests.core.evaluation import worlds
from tests.fakes import FakeModel, by_words, hit
from tests.loopback.deep_responders import block
from tests.loopback.openai_responders import sources_in

PIECE_S = 0.09  # between pieces of twelve characters: the pace of the model in docs/benchmarks.md
SENTENCES_SEEN = 2  # of an answer that is being written
COMPARED_QUESTION = "How do sedum and grasses compare on a green roof in a dry summer?"
DISPUTED_QUESTION = "By how many degrees does a green roof cool the rooms below it?"
UNKNOWN_QUESTION = "What did the green roof of the old town hall of Lindenau cost?"
QUESTION = "How much do green roofs cool the rooms below them in summer?"
GERMAN_QUESTION = "Wie stark kühlen Gründächer im Sommer die Räume darunter?"
DEEP_QUESTION = "What keeps a green roof cooling through a dry summer?"
LIBRARY_QUESTION = "What happens to the cooling when the soil of a green roof dries out?"
CODE_QUESTION = "How do I log a roof temperature sensor in Python?"

COOLER = "On hot afternoons the rooms below green roofs were 3 °C cooler than the rooms below bitumen roofs."
SURFACE = "At noon the planted surface itself was 19 °C below that of bare bitumen in the sun."
DRY = "Once the soil has dried out, the cooling falls to less than half."
SCHOOLS = "In the heat of the afternoon, rooms under the green roofs stayed 3 °C cooler than rooms under bitumen roofs."
PUMPS = "Eleven of the 26 schools switched their air conditioning off for the whole summer."
SALES = "On hot afternoons the rooms below green roofs were 6 °C cooler than the rooms below bitumen roofs."
INSULATED = "Where a roof is well insulated, planting it cools the rooms below by less than 1 °C."
RAIN = "A green roof with 12 cm of soil holds back 60 % of a summer's rain."
LESS = "Planting a well insulated roof cools the rooms below it by less than 1 °C."
HELD = "Some 60 % of a summer's rain is held back by a green roof with 12 cm of soil."
OFF = "In eleven of the 26 schools of the pilot the air conditioning was switched off for the whole summer."
HALF = "The cooling falls to less than half as soon as the soil is dry."
TWICE = "With moist soil grasses cool a roof twice as much as sedum."
SEDUM = "Roofs with 4 cm of soil and sedum stopped cooling after 9 days without rain."
DEPTH = "Roofs with 15 cm of soil and grasses kept cooling for 31 days without rain."
WATER = "Two litres of water a square metre and day were enough to keep the cooling of a thin roof."
GRASS = "Grasses cool a roof twice as much as sedum as long as the soil is moist."
SENSOR = "The sensor of type DS18B20 answers on one wire and is read as a file below /sys/bus/w1/devices."
LOGGER = "A row for each reading in a CSV file is enough to draw a summer of roof temperatures."
SHADE = "A sensor in the sun reads up to 8 °C too much, so it hangs in a white box with slits."
MEDIAN = "The median of ten readings a minute hides the odd wrong value that a long wire gives."

# What is said in German, and the sentences that say it in English; the last says more than they do.
GERMAN = {
    "An heißen Nachmittagen waren die Räume unter Gründächern 3 °C kühler als die unter Bitumendächern": (
        COOLER,
        SCHOOLS,
    ),
    "Ist der Boden ausgetrocknet, sinkt die Kühlung auf weniger als die Hälfte": (DRY, HALF),
    "Auf einem gut gedämmten Dach kühlt die Bepflanzung die Räume darunter um weniger als 1 °C": (INSULATED, LESS),
    "Gräser kühlen ein Dach doppelt so stark wie Sedum, solange der Boden feucht ist": (GRASS, TWICE),
    "Elf der 26 Schulen schalteten ihre Klimaanlage den ganzen Sommer über ab": (PUMPS, OFF),
    "Gründächer machen sich in fünf Jahren bezahlt": (),
}


@dataclass(frozen=True)
class Leaf:
    """A page that a search finds."""

    url: str
    title: str
    text: str
    kind: SourceKind
    year: int
    author: str = ""


LEAVES = (
    Leaf(
        "https://journal.example/buildings/2024/green-roofs", "Green roofs and indoor heat: four summers",
        f"We compared nine pairs of houses, one of each pair with a planted roof.\n\n{COOLER} {SURFACE} The difference "
        f"was largest in rooms with windows to the west.\n\n{DRY} After 14 mm of rain it was back within two days. "
        f"{GRASS}\n\nOur houses were badly insulated, as most houses of their age are.",
        SourceKind.PEER_REVIEWED, 2024, "I. Brandt",
    ),
    Leaf(
        "https://environment.city.example/green-roofs", "Green roofs on schools: report of the pilot",
        f"The city planted the roofs of its schools in 2021.\n\n{SCHOOLS} {INSULATED} {PUMPS}\n\n{RAIN}",
        SourceKind.OFFICIAL, 2025,
    ),
    Leaf(
        "https://roofers.example/green-roofs-cost", "Green roofs: what they cost and what they save",
        f"A green roof pays. {SALES} It lasts longer, too, since the sun does not reach the sheets below.",
        SourceKind.UNKNOWN, 2023,
    ),
    Leaf(
        "https://heat.office.example/roofs", "Green roofs or insulation against summer heat?",
        f"Both keep the heat out. {LESS} Old roofs gain most.\n\n{HELD} {OFF}", SourceKind.OFFICIAL, 2024,
    ),
    Leaf(
        "https://plants.example/2025/drought", "How long a green roof cools without rain",
        f"Forty plots were kept dry below glass. {HALF} {SEDUM} {DEPTH} {WATER} {TWICE}",
        SourceKind.PEER_REVIEWED, 2025, "L. Sato",
    ),
)  # fmt: skip
WATERED = Leaf(  # found in the second round alone: what was read is not read again
    "https://gardens.example/water-for-roofs", "Water for thin green roofs",
    f"We watered thin roofs at night for a summer and measured the rooms below. {WATER}",
    SourceKind.PEER_REVIEWED, 2025, "A. Okoye",
)  # fmt: skip
CODE_LEAVES = (
    Leaf(
        "https://docs.sensors.example/one-wire", "Temperature sensors on one wire",
        f"This page shows how to log a roof temperature sensor. {SENSOR} {LOGGER}\n\n    import csv\n",
        SourceKind.OFFICIAL, 2025,
    ),
    Leaf(
        "https://workshop.example/roof-logger", "A logger for roof temperatures",
        f"How to log a roof temperature sensor for a year. {LOGGER} {SHADE}", SourceKind.UNKNOWN, 2024,
    ),
    Leaf(
        "https://weather.example/python/series", "Temperature series in Python",
        f"Notes on logging a temperature sensor in Python. {MEDIAN}", SourceKind.REFERENCE, 2025,
    ),
)  # fmt: skip


@dataclass
class Shelf(Library):
    """A search provider that finds every page above."""

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        if self.mood == "unheard":
            return []
        leaves = CODE_LEAVES if "sensor" in query.text else LEAVES
        leaves = (WATERED, *leaves) if "irrigation" in query.text else leaves
        return [
            hit(leaf.url, leaf.text, title=leaf.title, rank=rank, provider=self.name, is_complete=True, kind=leaf.kind,
                published_at=datetime(leaf.year, 5, 12, tzinfo=UTC), author=leaf.author or None)
            for rank, leaf in enumerate(leaves)
        ]  # fmt: skip


@dataclass
class Author(Writer):
    """Writes the stories below; deep research stops in its second round until `gate` is opened, and what is `slow`
    behind its second sentence.
    """

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        if request.purpose == "facts" and self.calls("facts"):
            await self.gate.wait()
        if self.mood == "broken" and request.purpose == "answer":
            raise ModelUnavailable("503", user_message="The language model is not answering; the admin can see why.")
        self.answers, said = dict(WRITTEN), ""
        async for delta in FakeModel.stream(self, request):
            said += delta.text
            if self.mood == "slow" and request.purpose == "answer" and said.count(". ") >= SENTENCES_SEEN:
                await self.gate.wait()
            await asyncio.sleep(PIECE_S)
            yield delta


def _plan(request: ChatRequest) -> str:
    language = "de" if GERMAN_QUESTION in request.user else "en"
    return json.dumps(
        {"type": "factual", "language": language, "entities": [], "time": "", "recency": "any", "content": "general",
         "queries": ["roof temperature sensor log python"] if "sensor" in request.user else
         ["green roof indoor temperature summer", "green roof cooling measured"]}
    )  # fmt: skip


def _answer(request: ChatRequest) -> str:
    if "<source paper=" in request.user:
        return json.dumps({"summary": _PAPER_SUMMARY, "detail": _PAPER_DETAIL, "citations": []})
    numbers = {
        words: source.number
        for source in sources_in(request.user)
        for words in (COOLER, SCHOOLS, SALES, LESS, SEDUM)
        if words in source.text
    }
    journal, city, roofers, office, plants = (
        numbers.get(words, "9") for words in (COOLER, SCHOOLS, SALES, LESS, SEDUM)
    )
    if GERMAN_QUESTION in request.user:
        return json.dumps(_in_german(request))
    if DEEP_QUESTION in request.user:
        return json.dumps(_drought(journal, plants))
    if COMPARED_QUESTION in request.user:
        return json.dumps(_compared(journal, plants))
    if DISPUTED_QUESTION in request.user:
        said = f"{COOLER[:-1]} [{journal}]. {LESS[:-1]} [{city}][{office}]."
        return json.dumps({"summary": said, "detail": "", "citations": []})
    summary = (
        f"On hot afternoons the rooms below green roofs were about 3 °C cooler than the rooms below bitumen roofs "
        f"[{city}][{journal}]. Once the soil dries out, the cooling falls to less than half [{journal}][{plants}]. "
        f"Where a roof is well insulated, planting it cools the rooms below by less than 1 °C [{city}][{office}]."
    )
    detail = (
        f"- Grasses cool a roof twice as much as sedum as long as the soil is moist [{journal}][{plants}].\n"
        f"- Eleven of 26 schools switched their air conditioning off for good [{city}][{office}].\n"
        f"- A green roof with 12 cm of soil also holds back 60 % of a summer's rain [{city}][{office}].\n"
        f"- Green roofs pay for themselves within five years [{roofers}]."
    )
    return json.dumps({"summary": summary, "detail": detail, "citations": []})


def _in_german(request: ChatRequest) -> dict[str, object]:
    """Three sentences and a list, each with all pages that say it; the last cites one that does not."""
    said = []
    for words, sentences in GERMAN.items():
        numbers = [one.number for one in sources_in(request.user) if any(known in one.text for known in sentences)]
        said.append(f"{words} {''.join(f'[{number}]' for number in numbers or ['1'])}.")
    return {"summary": " ".join(said[:3]), "detail": "\n".join(f"- {one}" for one in said[3:]), "citations": []}


def _compared(journal: str, plants: str) -> dict[str, object]:
    table = (
        f"| Roof | Days of cooling |\n|---|---|\n| 4 cm of soil and sedum | 9 days without rain [{plants}] |\n"
        f"| 15 cm of soil and grasses | 31 days without rain [{plants}] |"
    )
    summary = f"{GRASS[:-1]} [{journal}][{plants}]. {SEDUM[:-1]} [{plants}]. {DEPTH[:-1]} [{plants}]."
    return {"summary": f"{summary}\n\n{table}", "detail": "", "citations": []}


def _drought(journal: str, plants: str) -> dict[str, object]:
    summary = f"{DEPTH[:-1]} [{plants}]. {SEDUM[:-1]} [{plants}]. {WATER[:-1]} [{plants}]."
    return {"summary": summary, "detail": f"- {GRASS[:-1]} [{journal}][{plants}].", "citations": []}


_PAPER_SUMMARY = f"{DRY[:-1]} [brandt-2024, page 2]."
_PAPER_DETAIL = f"- {GRASS[:-1]} [brandt-2024, page 2].\n- {SURFACE[:-1]} [brandt-2024, page 1]."


def _check(request: ChatRequest) -> str:
    """By the words that claim and passages share; one claim says more than its source, and one what no source says."""

    def told(item: str, by_share: str) -> str:
        claim = item.partition("</claim>")[0]
        if "6 °C" in item and "3 °C" in claim:
            return "contradicted"
        for words, sentences in GERMAN.items():
            if words in claim.rpartition("<claim>")[2]:  # not in what stands before it
                return "supported" if any(one in item for one in sentences) else "unsupported"
        verdicts = {"for good": "partial", "pay for themselves": "unsupported"}
        shares = "supported" if by_share in ("supported", "partial") else "unsupported"
        return next((verdict for words, verdict in verdicts.items() if words in claim), shares)

    return re.sub(r"(?<=\d: )\d+% of it", "it says less", by_words(request, told))


_ITEMS = (
    "How many days without rain different roofs keep cooling",
    "How the depth of the soil changes it",
    "How much water keeps a thin roof cooling",
    "Which plants cool most when it is dry",
    "Whether watering costs more than it saves",
)


def _refine(request: ChatRequest) -> str:
    return json.dumps(
        {"question": DEEP_QUESTION, "in_scope": ["planted flat roofs"], "out_of_scope": ["walls"],
         "key_terms": ["green roof", "drought", "evapotranspiration"], "checklist": list(_ITEMS)}
    )  # fmt: skip


def _queries(request: ChatRequest) -> str:
    made = "<queries>" in request.user
    first = {"pubmed": [], "web": ["green roof cooling dry soil days", "green roof substrate depth drought"]}
    return json.dumps({"pubmed": [], "web": ["green roof irrigation cost cooling", "sedum or grasses drought"]} if made
                      else first)  # fmt: skip


def _facts(request: ChatRequest) -> str:
    by_item = {SEDUM: ["1"], DEPTH: ["1", "2"], WATER: ["3"], DRY: ["1"], GRASS: ["4"]}
    facts = [
        {"fact": words, "items": items, "source": source.number, "quote": words}
        for source in sources_in(request.user)
        for words, items in by_item.items()
        if words in source.text
    ]
    return json.dumps({"facts": facts})


def _coverage(request: ChatRequest) -> str:
    states = ("satisfied", "satisfied", "partial", "partial", "unsatisfied")
    count = block(request.user, "facts").count("\nF") + 1
    missing = ("", "", "the water that roofs of other depths need", "plants other than sedum and grasses", "the costs")
    rows = [
        {"id": str(number), "coverage": state, "facts": [min(number, count)], "missing": lacks}
        for number, (state, lacks) in enumerate(zip(states, missing, strict=True), start=1)
    ]
    return json.dumps({"items": rows})


_CODE = """\
import csv
import time
from pathlib import Path

SENSOR = Path("/sys/bus/w1/devices/28-00000a1b2c3d/temperature")

with open("roof.csv", "a", newline="") as file:
    rows = csv.writer(file)
    while True:
        celsius = int(SENSOR.read_text()) / 1000
        rows.writerow([time.strftime("%Y-%m-%d %H:%M"), celsius])
        file.flush()
        time.sleep(60)"""


def _item(url: str, content: str) -> str:
    return f"<research_item>\n<source>{url}</source>\n<content>\n{content}\n</content>\n</research_item>"


def _found(*items: str) -> str:
    return "<research_result>\n" + "\n".join(items) + "\n</research_result>"


_SENSORS, _WORKSHOP, _SERIES = (leaf.url for leaf in CODE_LEAVES)
WRITTEN: Mapping[str, object] = {
    "plan": _plan,
    "answer": _answer,
    "check": _check,
    "refine": _refine,
    "queries": _queries,
    "facts": _facts,
    "coverage": _coverage,
    "idea": _found(
        _item(_WORKSHOP, LOGGER),
        _item(_SERIES, MEDIAN),
        _item(_WORKSHOP, SHADE),
        _item("https://blog.invented.example/roof-ai", "A model can foresee the temperature of any roof."),
    ),
    "implementation": _found(
        _item(_SENSORS, f"{SENSOR}\n\n```python\n{_CODE}\n```\n\nDependencies: none beyond the standard library")
    ),
}

PAPER = f"""<!doctype html><html lang="en"><head><title>Green roofs and indoor heat: four summers</title>
<style>@page {{ size: A5; margin: 16mm }} body {{ font: 10.5pt/1.45 serif; text-align: justify }}
h1 {{ font-size: 17pt; text-align: left; line-height: 1.2 }} h2 {{ font-size: 12pt; margin: 1.2em 0 .3em }}
.by {{ color: #444; text-align: left }} section + section {{ break-before: page }}</style></head><body>
<section><h1>Green roofs and indoor heat: four summers</h1><p class="by">I. Brandt and T. Nowak</p>
<h2>Abstract</h2><p>We compared nine pairs of houses with the same plan, one of each pair with a planted roof, from 2020
to 2023. {COOLER} The difference was largest in rooms with windows to the west.</p>
<h2>1 Introduction</h2><p>Flat roofs of bitumen reach 70 °C in the sun. What they pass on to the rooms below depends on
the insulation, the colour, and the water that plants give off. {SURFACE} How much of it is felt indoors has rarely been
measured over more than one summer.</p></section>
<section><h2>2 Results</h2><p>The cooling followed the water in the soil. {DRY} After 14 mm of rain it was back within
two days. {GRASS} Bare soil of the same depth cooled the rooms by a third of what planted soil did.</p>
<h2>3 Discussion</h2><p>A roof that is to cool in August has to keep water until August. Deeper soil, a layer that
stores rain, or a little watering at night are ways to it; which of them is worth its cost depends on the summer.</p>
<p>Our houses were badly insulated, as most houses of their age are. In better ones there is less left to gain, and we
would not plant a roof for the sake of the rooms alone.</p></section></body></html>"""


class Voted(SqlEvaluations):
    """A year of votes and a file of questions."""

    async def judged(self, tenant: str) -> list[JudgedAnswers]:
        told = {Confidence.HIGH: (141, 148), Confidence.MEDIUM: (96, 121), Confidence.LOW: (21, 44)}
        return [JudgedAnswers(level, "votes", *counts) for level, counts in told.items()]


async def evaluated(name: str) -> Run:
    """Two lighthouses asked of a careful model and of one that leaves the height out."""
    says = (
        worlds.SENTENCES if name == "careful" else {worlds.EDDYSTONE: (worlds.BUILT,), worlds.FASTNET: (worlds.ROCK,)}
    )
    file = f"- {{id: eddystone, ask: '{worlds.EDDYSTONE}', contains: [49, 1882]}}\n"
    cases = read_cases(f"{file}- {{id: fastnet, ask: '{worlds.FASTNET}', contains: 54}}")
    outcomes = await run_cases(cases, asking(lambda case: worlds.deps(worlds.model(name, says=says))), at_once=1)
    took = 4.1 if name == "careful" else 1.9
    shown = tuple(replace(one, seconds=took, cost_usd=took / 1000) for one in outcomes)
    return Run("Lighthouses", "2026-11-22T10:00:00Z", {"GORKD_MODEL": name}, shown)
