"""Watches over a simulated web: what is told of real changes, and what of disguises, in figures.

A web of small pages changes over simulated days: real changes of ten kinds, and disguises (other words, another order,
advertisements and dates, another host, outages, another model's wording). A third of the hosts give no validators. The
model words each answer anew, and the judge errs in one of ten pairs, in the same pair always in the same way. Time is
an argument: nobody waits.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from random import Random

from core.evidence.control import CONTROLS
from core.model.answer import ModelUsage
from core.model.errors import PageStatus
from core.model.job import ResearchRequest, Scope
from core.model.ports import ChatDelta, ChatRequest
from core.model.source import Page, SearchHit, SearchQuery
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.watch.runner import WatchRunner
from core.watch.watch import Rhythm, Watch, WatchNotice
from tests.fakes import NOW, FakeSearch, Idle, hit, make_deps, verdicts_json

DAYS, CHANGES, DISGUISES, TOPICS = 200, 60, 600, 20
SMALL = (24, 8, 40, 4)  # the same four of a test
ERRS = 0.1  # of the judge's pairs
WITHIN = timedelta(days=2, hours=5)  # two runs, with the second look's hour and the research
SCOPE = Scope("discord:1", "channel:2")
REAL = ("number", "date", "name", "polarity", "material", "hedge", "new", "gone", "conflict", "page lost")
DISGUISED = ("reworded", "reordered", "ads and dates", "another host", "outage", "another model")

# Each fact in several wordings, by its state; `{s}` is the subject.
_VALUED = {
    "length": ("The {s} Bridge is {v} metres long.", "The {s} Bridge has a length of {v} metres.",
               "From end to end the {s} Bridge measures {v} metres.", "The length of the {s} Bridge is {v} metres."),
    "opened": ("The {s} Bridge was opened in {v}.", "Traffic first crossed the {s} Bridge in {v}.",
               "The {s} Bridge opened to traffic in {v}.", "The opening of the {s} Bridge took place in {v}."),
    "head": ("{v} heads the authority of the {s} Bridge.", "The authority of the {s} Bridge is headed by {v}.",
             "The head of the {s} Bridge authority is {v}.", "The {s} Bridge authority is led by {v}."),
    "toll": ("A crossing of the {s} Bridge costs {v} euros.", "The toll on the {s} Bridge is {v} euros.",
             "Drivers pay {v} euros to cross the {s} Bridge.", "Crossing the {s} Bridge by car costs {v} euros."),
    "material": ("The {s} Bridge is built of {v}.", "The {s} Bridge is made of {v}.",
                 "Its builders made the {s} Bridge of {v}.", "The {s} Bridge was constructed from {v}."),
    "traffic": ("Some {v} vehicles use the {s} Bridge each day.", "Each day {v} vehicles cross the {s} Bridge.",
                "The {s} Bridge carries {v} vehicles a day.", "Daily traffic on the {s} Bridge is {v} vehicles."),
    "piers": ("The {s} Bridge stands on {v} piers.", "The {s} Bridge rests on {v} piers.",
              "There are {v} piers below the {s} Bridge.", "The {s} Bridge is carried by {v} piers."),
}  # fmt: skip
_STATED = {
    "lorries": {
        "yes": ("Lorries may cross the {s} Bridge.", "The {s} Bridge is open to lorries.",
                "Heavy lorries are allowed on the {s} Bridge."),
        "no": ("Lorries may not cross the {s} Bridge.", "The {s} Bridge is closed to lorries.",
               "Heavy lorries are banned from the {s} Bridge."),
    },
    "effect": {
        "sure": ("The {s} Bridge has cut travel times across the bay.",
                 "Travel times across the bay fell because of the {s} Bridge."),
        "unsure": ("The {s} Bridge may have cut travel times across the bay.",
                   "It is not known whether the {s} Bridge has cut travel times across the bay."),
    },
}  # fmt: skip
_NAMES = ("Ada Brandt", "Noor Haddad", "Piet de Vries", "Lucia Moreno", "Tomas Novak", "Grace Okafor", "Sven Lund")
_MATERIALS = ("steel", "granite", "concrete", "timber", "brick", "limestone")
_SUBJECTS = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ivy", "Juniper", "Katsura",
             "Larch", "Maple", "Nutmeg", "Oak", "Poplar", "Quince", "Rowan", "Spruce", "Tamarack")  # fmt: skip
_ADS = ("Sign up for our newsletter today.", "Advertisement: new shoes at half the price.", "Book a hotel near you.",
        "We use cookies to improve this site.", "Readers also liked ten recipes for soup.")  # fmt: skip

Fact = tuple[str, str]  # a kind of fact and its state


@dataclass
class SitePage:
    """`wording` is by fact, `order` a permutation's seed; `is_away` while its server does not answer."""

    url: str
    facts: dict[str, str]
    wording: dict[str, int] = field(default_factory=dict)
    order: int = 0
    ads: int = 0
    is_away: bool = False
    has_validators: bool = True


@dataclass
class Topic:
    subject: str
    pages: list[SitePage]
    watch: Watch | None = None
    version: int = 0  # of its web
    seen: int = -1  # the version that a run has ended with

    @property
    def question(self) -> str:
        return f"What is known about the {self.subject} Bridge?"


@dataclass(frozen=True)
class Happening:
    at: datetime
    topic: int
    kind: str


class Web:
    """A `PageFetcher`, a `SearchProvider` and the truth. `bodies` and `spared` count answers with and without one."""

    name, strength = "web", "factual"

    def __init__(self, topics: int, rng: Random) -> None:
        self.rng = rng
        self.meaning: dict[str, tuple[str, Fact]] = {}
        self.topics = [self._topic(place) for place in range(topics)]
        self.bodies: Counter[str] = Counter()
        self.wasted: Counter[str] = Counter()

    def _topic(self, place: int) -> Topic:
        subject, rng = _SUBJECTS[place], self.rng
        facts = {kind: self._value(kind) for kind in ("length", "opened", "head", "toll", "material", "traffic")}
        facts |= {"lorries": "yes", "effect": "sure"}
        pages = [
            SitePage(f"https://{subject.lower()}-{name}.example/bridge", dict(facts), has_validators=number < 2)
            for number, name in enumerate(("city", "press", "guide"))
        ]
        for page in pages:
            page.wording = {kind: rng.randrange(9) for kind in (*_VALUED, *_STATED)}
            page.order = rng.randrange(999)
        return Topic(subject, pages)

    def _value(self, kind: str) -> str:
        rng = self.rng
        return {
            "length": lambda: str(rng.randrange(200, 2000)), "opened": lambda: str(rng.randrange(1850, 2020)),
            "head": lambda: rng.choice(_NAMES), "toll": lambda: str(rng.randrange(2, 40)),
            "material": lambda: rng.choice(_MATERIALS), "traffic": lambda: str(rng.randrange(11, 99) * 1000),
            "piers": lambda: str(rng.randrange(3, 60)),
        }[kind]()  # fmt: skip

    def sentence(self, topic: Topic, kind: str, state: str, wording: int) -> str:
        ways = _VALUED.get(kind) or _STATED[kind][state]
        said = ways[wording % len(ways)].format(s=topic.subject, v=state)
        self.meaning[_plain(said)] = (topic.subject, (kind, state))
        return said

    def text(self, topic: Topic, page: SitePage) -> str:
        said = [self.sentence(topic, kind, state, page.wording.get(kind, 0)) for kind, state in page.facts.items()]
        Random(page.order).shuffle(said)
        beside = [f"Updated on {1 + page.ads % 28} May, {page.ads} readers.", _ADS[page.ads % len(_ADS)]]
        return "\n\n".join([" ".join(said[:4]), beside[1], " ".join(said[4:]), beside[0]])

    def find(self, url: str) -> tuple[Topic, SitePage] | None:
        return next(((topic, page) for topic in self.topics for page in topic.pages if page.url == url), None)

    async def fetch(self, url: str, *, known: Page | None = None) -> Page:
        found = self.find(url)
        if found is None or found[1].is_away:
            raise PageStatus(url, 503 if found else 404)
        topic, page = found
        text = self.text(topic, page)
        etag = sha256(text.encode()).hexdigest()[:12] if page.has_validators else ""
        if known is not None and known.etag and known.etag == etag:
            return known
        self.bodies[topic.subject] += 1
        self.wasted[topic.subject] += known is not None and known.text == text
        return Page(url, f"{topic.subject} Bridge", text, NOW, etag=etag)

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        topic = next((one for one in self.topics if one.subject.lower() in query.text.lower()), None)
        pages = [page for page in topic.pages if not page.is_away] if topic else []
        return [
            hit(page.url, self.text(topic, page)[:200], title=f"{topic.subject} Bridge", rank=rank)
            for rank, page in enumerate(pages[:limit])
            if topic
        ]

    # What happens

    def change(self, topic: Topic, kind: str, told: Set[str]) -> bool:
        """Whether it could; something that the answer has `told` (or, of what is new, has not) is otherwise now."""
        one_of = {"number": ["length", "toll", "traffic", "piers"], "gone": ["material", "toll", "traffic"]}.get(
            kind, []
        )
        facts = {"date": "opened", "name": "head", "polarity": "lorries", "hedge": "effect", "conflict": "length"}
        some = [fact for fact in one_of or [facts.get(kind, kind)] if fact in told]
        if not some and kind not in ("new", "page lost"):
            return False
        return {
            "number": lambda: self._set(topic, self.rng.choice(some)),
            "date": lambda: self._set(topic, "opened"),
            "name": lambda: self._set(topic, "head"),
            "material": lambda: self._set(topic, "material"),
            "polarity": lambda: self._turn(topic, "lorries", "yes", "no"),
            "hedge": lambda: self._turn(topic, "effect", "sure", "unsure"),
            "new": lambda: self._add(topic, "piers"),
            "gone": lambda: self._drop(topic, self.rng.choice(some)),
            "conflict": lambda: self._set(topic, "length", only=topic.pages[0]),
            "page lost": lambda: self._lose(topic, told),
        }[kind]()  # fmt: skip

    def disguise(self, topic: Topic, kind: str) -> None:
        page, rng = self.rng.choice(topic.pages), self.rng
        if kind in ("reworded", "another model"):
            for fact in rng.sample(sorted(page.facts), k=min(rng.randint(1, 3), len(page.facts))):
                page.wording[fact] = page.wording.get(fact, 0) + 1
        elif kind == "reordered":
            page.order += 1
        elif kind == "ads and dates":
            page.ads += 1
        elif kind == "another host":
            page.url = re.sub(r"(?:-\d+)?\.example", f"-{rng.randrange(10**6)}.example", page.url)
        elif kind == "outage":
            page.is_away = True

    def _set(self, topic: Topic, kind: str, *, only: SitePage | None = None) -> bool:
        held = [page for page in topic.pages if kind in page.facts]
        if not held or (only is not None and (only not in held or len(held) < 2)):
            return False
        before = {page.facts[kind] for page in held}
        value = next(value for _ in range(99) if (value := self._value(kind)) not in before)
        for page in [only] if only else held:
            page.facts[kind] = value
        return True

    def _turn(self, topic: Topic, kind: str, one: str, other: str) -> bool:
        for page in topic.pages:
            page.facts[kind] = other if page.facts.get(kind, one) == one else one
        return True

    def _add(self, topic: Topic, kind: str) -> bool:
        if any(kind in page.facts for page in topic.pages):
            return False
        value = self._value(kind)
        for page in topic.pages[:2]:
            page.facts[kind] = value
        return True

    def _drop(self, topic: Topic, kind: str) -> bool:
        return bool([page.facts.pop(kind) for page in topic.pages if kind in page.facts])

    def _lose(self, topic: Topic, told: Set[str]) -> bool:
        """The only page that has a told fact goes for good."""
        for lost in topic.pages if len(topic.pages) > 2 else ():
            others = {kind for page in topic.pages if page is not lost for kind in page.facts}
            if (lost.facts.keys() & told) - others:
                topic.pages.remove(lost)
                return True
        return False


@dataclass
class Writer:
    """A model that plans, writes what the sources say in words of its own, and judges, erring in `ERRS` of pairs."""

    web: Web
    name: str = "simulated-1"
    calls: Counter[str] = field(default_factory=Counter)
    seed: int = 0

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        self.calls[request.purpose] += 1
        text = {"plan": self._plan, "answer": self._answer, "check": self._check}[request.purpose](request)
        yield ChatDelta(text)
        yield ChatDelta(usage=ModelUsage(len(request.user) // 4, len(text) // 4))

    def _plan(self, request: ChatRequest) -> str:
        subject = next((name for name in _SUBJECTS if f"{name} Bridge" in request.user), "Alder")
        return json.dumps({
            "recency": "any", "content": "general", "queries": [f"{subject} Bridge"], "type": "factual",
            "language": "en", "entities": [f"{subject} Bridge"], "time": "",
        })  # fmt: skip

    def _answer(self, request: ChatRequest) -> str:
        self.seed += 1
        found: dict[tuple[str, Fact], tuple[str, str]] = {}
        for source, text in re.findall(
            r"<source\b[^>]*?\bid=[\"']?([\w-]+)[\"']?[^>]*>(.*?)</source>", request.user, re.S
        ):
            for sentence in re.split(r"(?<=\.)\s+", text.strip()):
                known = self.web.meaning.get(_plain(sentence))
                if known and known not in found:
                    found[known] = (re.sub(r"\D", "", source), sentence)
        rng = Random(self.seed)
        cited = []
        for (subject, (kind, state)), (number, quote) in found.items():
            topic = next(one for one in self.web.topics if one.subject == subject)
            said = self.web.sentence(topic, kind, state, rng.randrange(9)) if rng.random() < 0.5 else quote
            cited.append((f"{said.rstrip('.')} [{number}].", said, number, quote))
        rng.shuffle(cited)
        citations = [{"claim": said, "source_id": f"src_{number}", "quote": quote} for _, said, number, quote in cited]
        written = [text for text, *_ in cited]
        return json.dumps({"summary": " ".join(written[:5]), "detail": " ".join(written[5:]), "citations": citations})

    def _check(self, request: ChatRequest) -> str:
        if request.schema_name == "answers":
            return json.dumps({"answers": "yes", "reason": ""})
        verdicts = {}
        for number, item in enumerate(request.user.split("<item ")[1:], start=1):
            claim = "".join(re.findall(r"<claim>(.*?)</claim>", item, re.S))
            passages = re.findall(r"<passage>(.*?)</passage>", item, re.S)
            verdicts[number] = self._rule(claim, passages), ""
        return verdicts_json(verdicts)

    def _rule(self, claim: str, passages: Sequence[str]) -> str:
        """By what the sentences mean; the same pair always gets the same ruling."""
        if any(control.claim == claim for control in CONTROLS):
            return "contradicted"
        said = [known for passage in passages for part in re.split(r"(?<=\.)\s+", passage)
                if (known := self.web.meaning.get(_plain(part)))]  # fmt: skip
        meant = self.web.meaning.get(_plain(claim))
        truth = "unsupported"
        if meant and any(one == meant for one in said):
            truth = "supported"
        elif meant and any((one[0], one[1][0]) == (meant[0], meant[1][0]) for one in said):
            truth = "contradicted"
        errs = int(sha256("\n".join([claim, *passages]).encode()).hexdigest()[:8], 16) % 1000 < 1000 * ERRS
        if not errs:
            return truth
        return "supported" if truth != "supported" else "unsupported"


@dataclass
class Figures:
    """What came of a simulation."""

    told: Counter[str] = field(default_factory=Counter)
    happened: Counter[str] = field(default_factory=Counter)
    false_alarms: list[tuple[str, WatchNotice]] = field(default_factory=list)
    missed: list[Happening] = field(default_factory=list)
    runs: int = 0
    unchanged_runs: int = 0
    dear_runs: int = 0  # without a change, that cost more than one model call
    wasted_bodies: int = 0  # read although the same, where validators are given
    calls: Counter[str] = field(default_factory=Counter)

    @property
    def told_share(self) -> float:
        return sum(self.told.values()) / max(1, sum(self.happened.values()))


class Simulation:
    def __init__(self, days: int, changes: int, disguises: int, topics: int, *, seed: int = 1) -> None:
        self.rng = Random(seed)
        self.web = Web(topics, self.rng)
        self.model = Writer(self.web)
        self.now: datetime = NOW
        self.end = NOW + timedelta(days=days)
        search = FakeSearch("web")
        self.deps = replace(
            make_deps(search=[search], model=self.model, clock=lambda: self.now),
            pages=self.web, providers={"web": self.web},
        )  # fmt: skip
        self.researcher = Researcher(self.deps, Idle())
        self.runner = WatchRunner(self.deps, self.deps.watches, self.researcher.submit_run)
        self.figures = Figures()
        self.plan = sorted(self._plan(days, changes, disguises, topics), key=lambda one: one.at)
        self.real: list[Happening] = []

    def _plan(self, days: int, changes: int, disguises: int, topics: int) -> list[Happening]:
        """Real changes of a topic are days apart, so that each is told by itself."""
        found = []
        each = -(-changes // topics)
        room = (days - 12) / each
        for number in range(changes):
            topic, turn = number % topics, number // topics
            day = 5 + turn * room + self.rng.random() * max(room - 7, 0.5)
            found.append(Happening(NOW + timedelta(days=day), topic, REAL[number % len(REAL)]))
        for number in range(disguises):
            day = 2 + self.rng.random() * (days - 4)
            found.append(
                Happening(NOW + timedelta(days=day), self.rng.randrange(topics), DISGUISED[number % len(DISGUISED)])
            )
        return found

    async def run(self) -> Figures:
        await self._begin()
        waiting = [*self.plan]
        while self.now < self.end:
            due = {
                topic.subject: await self.deps.watches.get(topic.watch.id) for topic in self.web.topics if topic.watch
            }
            moment = max(self.now, min(watch.next_at for watch in due.values()))
            while waiting and waiting[0].at <= moment:
                await self._happen(waiting.pop(0), waiting)
            self.now = moment
            for topic in self.web.topics:
                if due[topic.subject].next_at <= self.now:
                    await self._step(topic, due[topic.subject])
        await self._judge()
        return self.figures

    async def _begin(self) -> None:
        for topic in self.web.topics:
            if int(topic.subject[0] < "K"):  # half of them have a fact that one page alone carries
                for page in topic.pages[:-1]:
                    page.facts.pop("opened", None)
            job = await self.researcher.submit(ResearchRequest(topic.question, SCOPE, asker="ada", is_fresh=True))
            await run_job(job.id, self.deps, DirectSteps())
            watch = await self.researcher.watching.watch(job.id, f"a{topic.subject}", scope=SCOPE, rhythm=Rhythm(24))
            topic.watch = replace(watch, ends_at=self.end + timedelta(days=365))
            await self.deps.watches.put(topic.watch)

    async def _told_facts(self, topic: Topic) -> set[str]:
        """The kinds of facts that the answer told last says."""
        watch = await self.deps.watches.get(topic.watch.id)
        result = await self.deps.jobs.result(watch.told)
        claims = result.answer.claims if result and result.answer else ()
        return {known[1][0] for claim in claims if (known := self.web.meaning.get(_plain(claim.text)))}

    async def _happen(self, happening: Happening, waiting: list[Happening]) -> None:
        topic = self.web.topics[happening.topic]
        told = await self._told_facts(topic)
        if happening.kind == "back":
            for page in topic.pages:
                page.is_away = False
        elif happening.kind in REAL:
            kinds = [happening.kind, "number", "date", "name", "material", "polarity"]
            kind = next((kind for kind in kinds if self.web.change(topic, kind, told)), "")
            if kind:
                self.real.append(replace(happening, kind=kind))
        else:
            self.web.disguise(topic, happening.kind)
            if happening.kind == "outage":
                back = Happening(happening.at + timedelta(hours=self.rng.uniform(2, 15)), happening.topic, "back")
                waiting.append(back)
                waiting.sort(key=lambda one: one.at)
        topic.version += 1

    async def _step(self, topic: Topic, watch: Watch) -> None:
        """One turn of a worker, for one watch, with the research that it begins."""
        calls, wasted, version = self.model.calls.total(), self.web.wasted[topic.subject], topic.version
        is_new = watch.stage == "waiting" and not watch.suspected
        await self.runner._take(watch, self.now)
        for job in await self.deps.jobs.unfinished(limit=100):
            await run_job(job.id, self.deps, DirectSteps())
        self.figures.runs += is_new
        if is_new and topic.seen == version:
            self.figures.unchanged_runs += 1
            self.figures.dear_runs += self.model.calls.total() - calls > 1
            self.figures.wasted_bodies += self.web.wasted[topic.subject] - wasted
        after = await self.deps.watches.get(watch.id)
        topic.seen = version if after.stage == "waiting" and not after.suspected else -1

    async def _judge(self) -> None:
        for place, topic in enumerate(self.web.topics):
            real = [one for one in self.real if one.topic == place]
            notices = [one for one in await self.deps.watches.notices(topic.watch.id) if one.tone == "changed"]
            used: set[int] = set()
            for change in real:
                if change.at > self.end - WITHIN:
                    continue
                self.figures.happened[change.kind] += 1
                within = [n for n, one in enumerate(notices) if change.at <= one.at <= change.at + WITHIN]
                used.update(within)
                if within:
                    self.figures.told[change.kind] += 1
                else:
                    self.figures.missed.append(change)
            late = {
                n
                for n, one in enumerate(notices)
                if any(change.at <= one.at <= change.at + timedelta(days=6) for change in real)
            }
            self.figures.false_alarms += [(topic.subject, one) for n, one in enumerate(notices) if n not in used | late]
        self.figures.calls = self.model.calls


def _plain(sentence: str) -> str:
    return " ".join(re.findall(r"[\w]+", sentence.lower()))


def print_watching() -> None:
    figures = asyncio.run(Simulation(DAYS, CHANGES, DISGUISES, TOPICS, seed=1).run())
    happened, told = sum(figures.happened.values()), sum(figures.told.values())
    print(f"{TOPICS} watches over {DAYS} days, {DISGUISES} disguises, a judge that errs in {ERRS:.0%} of pairs")
    print(f"told within two runs: {told} of {happened} changes ({figures.told_share:.1%})")
    for kind, count in sorted(figures.happened.items()):
        print(f"  {kind}: {figures.told[kind]} of {count}")
    alarms = len(figures.false_alarms)
    per = f"one in {figures.runs / alarms:.0f}" if alarms else "none"
    print(f"false alarms: {alarms} in {figures.runs} runs ({per})")
    print(f"unchanged runs: {figures.unchanged_runs}, of which {figures.dear_runs} cost more than one model call")
    print(f"bodies read again although validators are given: {figures.wasted_bodies}")
    print(f"model calls: {dict(figures.calls)}\n")


if __name__ == "__main__":
    print_watching()
