"""How much a place counts in each mode: the order of sources that S004 gives, and places that count for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import regex

from core.evidence.authority import kind_of, registrable_domain
from core.findings.results import ResearchMode
from core.model.source import Source, SourceKind
from core.text.urls import domain_of

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
_LEVEL_NAMES: Mapping[ResearchMode, tuple[str, ...]] = MappingProxyType(
    {
        "idea": ("official documentation or standard", "paper", "major vendor or lab", "known educator"),
        "implementation": (
            "official documentation",
            "widely adopted repository",
            "major vendor or lab",
            "known educator",
        ),
        "freeform": ("paper", "official documentation or standard", "major vendor or lab", "known educator"),
    }
)


def level_of(url: str, mode: ResearchMode, *, kind: SourceKind | None = None, title: str = "") -> int:
    """1…4 as S004 orders the places of a mode, `OTHER_LEVEL` for others, `FARM_LEVEL` for content farms."""
    if is_farm(url, title=title):
        return FARM_LEVEL
    group = _group(url, kind or kind_of(url))
    orders: Mapping[ResearchMode, tuple[str, ...]] = {
        "idea": ("official", "paper", "vendor", "educator"),
        "implementation": ("official", "repository", "vendor", "educator"),
        "freeform": ("paper", "official", "vendor", "educator"),
    }
    order = orders[mode]
    return order.index(group) + 1 if group in order else OTHER_LEVEL


def level_name(level: int, mode: ResearchMode) -> str:
    """`official documentation`, `paper`, …"""
    if level >= FARM_LEVEL:
        return "content farm"
    return _LEVEL_NAMES[mode][level - 1] if level < OTHER_LEVEL else "other site"


def is_farm(url: str, *, title: str = "") -> bool:
    """Whether a place makes pages for search engines: known for it, or a list of bests on a site nobody knows."""
    domain = domain_of(url)
    if registrable_domain(domain) in _FARMS:
        return True
    return bool(_LISTICLE.search(title)) and _group(url, kind_of(url)) == "other"


def source_level(source: Source, mode: ResearchMode) -> int:
    return level_of(source.url, mode, kind=source.metadata.kind, title=source.title)


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
        return "repository" if _repository_owner(url) in _REPUTABLE_OWNERS else "other"
    return "vendor" if owner in _VENDORS else "other"


def _repository_owner(url: str) -> str:
    path = regex.sub(r"^https?://[^/]+/", "", url, flags=regex.IGNORECASE)
    return path.partition("/")[0].casefold()
