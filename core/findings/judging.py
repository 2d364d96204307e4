"""Items and reports held against the pages that were read: every sentence is judged, code is parsed, places are ranked.

Nothing is executed. What no page carries is never shown as found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import regex

from core.evidence.authority import kind_of, registrable_domain, same_voice
from core.evidence.differences import is_same_claim
from core.evidence.grounding import Grounder
from core.evidence.structure import Judged, before_of
from core.findings.opening import Opened, ReadItem, with_plain_addresses
from core.findings.results import (
    CodeBlock,
    CodeCheck,
    Remark,
    ResearchMode,
    check_code,
    dependencies_of,
    first_code,
    prose_of,
    without_code,
)
from core.model.source import Source, SourceKind
from core.text.language import DENIES
from core.text.saying import say, say_many
from core.text.sentences import is_chatter, split_sentences
from core.text.terms import terms
from core.text.urls import domain_of

_BULLET = regex.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)]|#{1,6})\s+")
_STOP = regex.compile(r"[.!?。！？]*$")
_MARKER = regex.compile(r"\[\d{1,3}\]")
_MAX_LABEL_CHARS = 90
VERBATIM = Remark("code as on its page")
ADAPTED = Remark("code written by the model, not on its page", "doubt")
SINGLE_SOURCE = Remark("single source", "doubt")
NOT_SAID = "its page does not say it"
NO_CODE = Remark("it has no code", "doubt")


@dataclass
class JudgedItem:
    """An item with its sentences. `why_unverified` is "" until a reason is found."""

    mode: ResearchMode
    place: int
    url: str
    content: str
    source: Source | None
    why_unverified: str
    sentences: list[Judged] = field(default_factory=list)
    code: CodeBlock | None = None
    check: CodeCheck | None = None
    is_verbatim: bool = False
    corroborators: int = 0
    dependencies: str = ""

    @property
    def shown(self) -> list[Judged]:
        return [entry for entry in self.sentences if entry.shown is not None]

    @property
    def is_carried(self) -> bool:
        """Whether its page says it, or has its code."""
        return any(entry.claim for entry in self.shown) or self.is_verbatim

    @property
    def level(self) -> int:
        source = self.source
        if source is None:
            return FARM_LEVEL
        return level_of(source.url, self.mode, kind=source.metadata.kind, title=source.title)

    @property
    def standing(self) -> str:
        return level_name(self.level, self.mode) if self.source else ""

    @property
    def remarks(self) -> tuple[Remark, ...]:
        said: list[Remark] = []
        if self.mode == "idea":
            one, many = "corroborated by {number} other source", "corroborated by {number} other sources"
            others = self.corroborators
            said.append(Remark(say_many(one, many, others)) if others else SINGLE_SOURCE)
        if self.code:
            said += [Remark(self.code.language, "language")] if self.code.language else []
            said += self.check.remarks if self.check else ()
            said.append(VERBATIM if self.is_verbatim else ADAPTED)
        elif self.mode == "implementation":
            said.append(NO_CODE)
        return tuple(said)


def judge_item(mode: ResearchMode, place: int, item: ReadItem, opened: Opened, grounder: Grounder) -> JudgedItem:
    """One item against its page. Sentences that the rules cannot judge stay undecided for now."""
    source = opened.source_of(item.source) if item.source else None
    judged = JudgedItem(mode, place, item.source, item.content, source, opened.why_not(item.source))
    if mode == "implementation":
        judged.code = first_code(item.content)
        stated = dependencies_of(item.content)
        judged.check = check_code(judged.code, stated) if judged.code else None
        judged.dependencies = "" if stated is None else ", ".join(stated) or "none"
    if source is None:
        return judged
    if judged.code:
        judged.is_verbatim = _squeezed(judged.code.text) in _squeezed(source.content)
    prose = with_plain_addresses(prose_of(item.content) if mode == "implementation" else without_code(item.content))
    judged.sentences = judge_prose(prose, f"{mode}{place}", grounder, own=source, sources=(source,))
    return judged


def judge_prose(
    text: str, prefix: str, grounder: Grounder, *, own: Source | None = None, sources: Sequence[Source]
) -> list[Judged]:
    """Every sentence of prose. One without a marker of its own cites `own`. A label may say what `sources` say."""
    judged: list[Judged] = []
    end = 0
    known = {term for source in sources for term in terms(source.trusted_content)}
    for place, sentence in enumerate(split_sentences(text)):
        written = _BULLET.sub("", sentence.text) if own else sentence.text
        cited = _with_citation(written, own) if own and sentence.asserts and not is_chatter(written) else written
        gap = text[end : sentence.start]
        before = before_of(judged, "summary", written, gap)
        entry = grounder.propose("summary", place, cited, gap=gap, asserts=sentence.asserts, before=before)
        if entry.claim is None and entry.shown is None and _is_label_of(written, known):
            entry = replace(entry, shown=written.strip())
        judged.append(_named(entry, f"{prefix}-{place}"))
        end = sentence.end
    return judged


def find_corroborators(item: JudgedItem, sources: Sequence[Source]) -> int:
    """How many other sources, independent of its own, carry the item's first carried sentence too."""
    claim = next((entry.claim for entry in item.shown if entry.claim and entry.claim.evidence), None)
    if claim is None or item.source is None:
        return 0
    voices = [item.source]
    carrying = {entry.source_id for entry in claim.evidence if entry.verdict.carries}
    for source in sources:
        if source.id in carrying and not any(same_voice(source, voice) for voice in voices):
            voices.append(source)
    return len(voices) - 1


def rank_items(items: Sequence[JudgedItem]) -> list[JudgedItem]:
    """Best first, each once: the model's own order (relevance) and the place's standing weigh alike; then code's."""
    count = max(len(items), 1)

    def cost(item: JudgedItem) -> float:
        flaws = 0.0
        if item.check is not None:
            flaws += 0.4 * (item.check.parses is False) + 0.1 * bool(item.check.undeclared)
        return item.place / count + (item.level - 1) / FARM_LEVEL + flaws + 0.1 * (not item.corroborators)

    kept: list[JudgedItem] = []
    for item in sorted(items, key=lambda item: (item.why_unverified != "", cost(item))):
        said = prose_of(item.content)
        if not any(one.code == item.code and is_same_claim(said, prose_of(one.content)) for one in kept):
            kept.append(item)
    return kept


def settle_item(item: JudgedItem) -> None:
    """After the undecided sentences are settled: an item of which nothing stands is not verified."""
    if item.source is not None and not item.is_carried and not item.why_unverified:
        item.why_unverified = say(NOT_SAID)


def is_on_a_page(code: str, sources: Sequence[Source]) -> bool:
    squeezed = _squeezed(code)
    return bool(squeezed) and any(squeezed in _squeezed(source.content) for source in sources)


def _with_citation(sentence: str, own: Source) -> str:
    """The sentence with its item's source, unless it names sources itself."""
    if _MARKER.search(sentence) or "http" in sentence:
        return sentence
    body = sentence.rstrip()
    stop = _STOP.search(body)
    at = stop.start() if stop else len(body)
    return f"{body[:at]} [{own.number}]{body[at:]}"


def _is_label_of(text: str, known: set[str]) -> bool:
    """A title in the words of its page, which denies nothing."""
    said = set(terms(text))
    return bool(said) and len(text) <= _MAX_LABEL_CHARS and said <= known and not DENIES.search(text)


def _squeezed(text: str) -> str:
    return regex.sub(r"\s+", "", text)


def _named(entry: Judged, name: str) -> Judged:
    """Under an id of its own, until it has its place in the answer."""
    claim = replace(entry.claim, id=name) if entry.claim else None
    return replace(entry, id=name, claim=claim)


# How much a place counts in each mode: the order of sources that S004 gives, and places that count for nothing


OTHER_LEVEL = 5  # places of which nothing is known come after the four levels of S004
FARM_LEVEL = 6

# By judgement. Who makes models and platforms that others build on.
_VENDORS = frozenset(
    """openai.com google.com ai.google deepmind.com deepmind.google meta.com fb.com microsoft.com anthropic.com
    nvidia.com huggingface.co amazon.com amazon.science apple.com ibm.com intel.com amd.com mistral.ai cohere.com
    databricks.com snowflake.com cloudflare.com oracle.com salesforce.com elastic.co mongodb.com redhat.com stripe.com
    netflixtechblog.com uber.com spotify.com allenai.org eleuther.ai stability.ai baidu.com alibabacloud.com
    pinecone.io langchain.com llamaindex.ai weaviate.io qdrant.tech""".split()
)
# Whose explanations the field reads and cites.
_EDUCATORS = frozenset(
    """realpython.com lilianweng.github.io karpathy.github.io karpathy.ai martinfowler.com simonwillison.net fast.ai
    distill.pub jvns.ca eli.thegreenplace.net sebastianraschka.com magazine.sebastianraschka.com jalammar.github.io
    colah.github.io ruder.io eugeneyan.com huyenchip.com danluu.com joelonsoftware.com kentcdodds.com web.dev
    css-tricks.com digitalocean.com d2l.ai deeplearning.ai coursera.org khanacademy.org testdriven.io
    fullstackpython.com programiz.com w3schools.com freecodecamp.org machinelearningmastery.com""".split()
)
_REPOSITORIES = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "raw.githubusercontent.com"})
_REPUTABLE_OWNERS = frozenset(
    """openai google googleapis google-research deepmind google-deepmind facebookresearch meta-llama microsoft azure
    azure-samples anthropics nvidia huggingface aws aws-samples awslabs apple ibm intel mistralai pytorch tensorflow
    keras-team scikit-learn numpy scipy pandas-dev python psf django pallets encode fastapi tiangolo apache kubernetes
    docker grafana elastic redis postgres nodejs facebook vercel angular vuejs rust-lang golang dotnet spring-projects
    langchain-ai run-llama vllm-project pydantic astral-sh explosion ray-project dask jupyter matplotlib""".split()
)
# Scrapers of question sites, article mills, and mass-made tutorials without authors.
_FARMS = frozenset(
    """codegrepper.com grepper.com newbedev.com stackoom.com exceptionshub.com py4u.net py4u.org qastack.com
    code-examples.net 9to5answer.com solveforum.com tutorialink.com itecnote.com itecnotes.com copyprogramming.com
    stackovernet.com devbugfix.com bleepcoder.com programmersought.com technical-qa.com answeright.com coderoad.ru
    ehow.com ezinearticles.com hubpages.com articlesbase.com buzzle.com suite101.com associatedcontent.com
    examiner.com answerbag.com sooperarticles.com selfgrowth.com thefreelibrary.com articlecity.com goarticles.com
    analyticsinsight.net techbullion.com techtimes.com outlookindia.com""".split()
)
_LISTICLE = regex.compile(
    r"^\W*(?:the\s+)?(?:\d{1,3}\s+(?:best|top)|(?:top|best)\s+\d{1,3})\b|\bultimate guide\b.*\b20\d\d\b",
    regex.IGNORECASE,
)

_PAPERS = frozenset({SourceKind.PEER_REVIEWED, SourceKind.PREPRINT})
_OFFICIAL = frozenset({SourceKind.OFFICIAL, SourceKind.STANDARDS})
_BY_OFFICE, _BY_PAPER = ("official", "official documentation or standard"), ("paper", "paper")
_LAST = (("vendor", "major vendor or lab"), ("educator", "known educator"))
# Groups of places as S004 orders them, each with what people read of it.
_LEVELS: Mapping[ResearchMode, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "idea": (_BY_OFFICE, _BY_PAPER, *_LAST),
        "implementation": (
            ("official", "official documentation"), ("repository", "widely adopted repository"), *_LAST,
        ),
        "freeform": (_BY_PAPER, _BY_OFFICE, *_LAST),
    }
)  # fmt: skip


def level_of(url: str, mode: ResearchMode, *, kind: SourceKind | None = None, title: str = "") -> int:
    """1…4 as S004 orders the places of a mode, `OTHER_LEVEL` for others, `FARM_LEVEL` for content farms."""
    if is_farm(url, title=title):
        return FARM_LEVEL
    group = _group(url, kind or kind_of(url))
    return next((level for level, (name, _) in enumerate(_LEVELS[mode], 1) if name == group), OTHER_LEVEL)


def level_name(level: int, mode: ResearchMode) -> str:
    """`official documentation`, `paper`, …"""
    if level >= FARM_LEVEL:
        return "content farm"
    return _LEVELS[mode][level - 1][1] if level < OTHER_LEVEL else "other site"


def is_farm(url: str, *, title: str) -> bool:
    """Whether a place makes pages for search engines: known for it, or a list of bests on a site nobody knows."""
    domain = domain_of(url)
    if registrable_domain(domain) in _FARMS:
        return True
    return bool(_LISTICLE.search(title)) and _group(url, kind_of(url)) == "other"


def _group(url: str, kind: SourceKind) -> str:
    domain = domain_of(url)
    owner = registrable_domain(domain)
    if kind in _OFFICIAL:
        return "official"
    if kind in _PAPERS:
        return "paper"
    if domain in _EDUCATORS or owner in _EDUCATORS:
        return "educator"
    if domain in _REPOSITORIES:
        path = regex.sub(r"^https?://[^/]+/", "", url, flags=regex.IGNORECASE)
        return "repository" if path.partition("/")[0].casefold() in _REPUTABLE_OWNERS else "other"
    return "vendor" if owner in _VENDORS else "other"
