"""Who stands behind an address: a small curated table of publishers, and what their word weighs.

A host matches an entry only as a whole or below it (`docs.python.org` below `python.org`), so that
`nature.com.evil.example` and `evil-nature.com` match nothing. Unlisted hosts are unknown, not bad.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from types import MappingProxyType
from urllib.parse import urlsplit

from core.errors import SetupError
from core.source import SourceKind

# By judgement; only the order is argued for. Law-makers and the makers of a thing say what holds of it,
# standards bodies define, peers have checked; a preprint has named authors but no check yet; reference works
# and press have editors and report what others said; a local file was chosen by the operator; of an unknown
# page nothing is known; in a forum anyone writes anything.
_AUTHORITY = MappingProxyType(
    {
        SourceKind.OFFICIAL: 1.0,
        SourceKind.STANDARDS: 0.95,
        SourceKind.PEER_REVIEWED: 0.9,
        SourceKind.PREPRINT: 0.7,
        SourceKind.REFERENCE: 0.65,
        SourceKind.ESTABLISHED_PRESS: 0.6,
        SourceKind.LOCAL: 0.5,
        SourceKind.UNKNOWN: 0.35,
        SourceKind.FORUM: 0.2,
    }
)
PRIMARY_KINDS = frozenset({SourceKind.OFFICIAL, SourceKind.STANDARDS, SourceKind.PEER_REVIEWED})


def authority(kind: SourceKind) -> float:
    """The weight of a kind of publisher, 0…1, falling in the order of `SourceKind`."""
    return _AUTHORITY[kind]


def kind_of(
    url: str, *, hint: SourceKind | None = None, overrides: Mapping[str, SourceKind] = MappingProxyType({})
) -> SourceKind:
    """The kind of publisher behind `url`.

    `overrides` maps a domain to its kind and beats the table; the most specific entry wins. `hint`
    is what the provider knows (PubMed: peer reviewed) and beats the table but not the overrides.
    """
    host = _host(url)
    own = _lookup(host, overrides)
    if own:
        return own
    if hint is not None:
        return hint
    if not host:
        return SourceKind.LOCAL if url.lower().startswith("file:") else SourceKind.UNKNOWN
    return _lookup(host, _DOMAINS) or _by_subdomain(host)


def read_kinds(text: str) -> dict[str, SourceKind]:
    """The operator's own table, as in `intranet.example=official, blog.example=forum`.

    Raises `SetupError` on anything else; the message names the part that is wrong.
    """
    kinds: dict[str, SourceKind] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        domain, _, kind = (part.strip().lower() for part in entry.partition("="))
        if kind not in set(SourceKind) or not _DOMAIN.fullmatch(domain):
            raise SetupError(
                f"GORKD_SOURCE_KINDS: {entry!r} is not a domain and its kind. Write example.org=official, several "
                f"separated by commas; the kinds are {', '.join(SourceKind)}."
            )
        kinds[domain] = SourceKind(kind)
    return kinds


def registrable_domain(host: str) -> str:
    """The part of a host that one owner registers: `bbc.co.uk` of `news.bbc.co.uk`, "" of "".

    Sites of many owners (`alice.github.io`, `x.substack.com`) keep one label more. Addresses stay
    as they are. Covers the common two-label suffixes; an unlisted one takes its whole suffix for
    one owner, which counts too few independent sources rather than too many.
    """
    host = host.strip().lower().rstrip(".")
    host = host[1:].split("]")[0] if host.startswith("[") else host
    if _is_address(host):
        return host
    host = _PORT.sub("", host)
    if _is_address(host):
        return host
    labels = host.split(".")
    for size in (3, 2):
        if ".".join(labels[-size:]) in _SHARED_HOSTS:
            return ".".join(labels[-size - 1 :])
    is_two_label_suffix = len(labels) >= 3 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL
    return ".".join(labels[-3 if is_two_label_suffix else -2 :])


def _host(url: str) -> str:
    try:
        parts = urlsplit(url if "://" in url or url.startswith("file:") else f"//{url}")
        return (parts.hostname or "").rstrip(".") if parts.scheme != "file" else ""
    except ValueError:
        return ""


def _lookup(host: str, table: Mapping[str, SourceKind]) -> SourceKind | None:
    """The kind of the longest entry that is `host` or a domain above it."""
    labels = host.split(".")
    for start in range(len(labels)):
        kind = table.get(".".join(labels[start:]))
        if kind:
            return kind
    return None


def _by_subdomain(host: str) -> SourceKind:
    labels = host.split(".")
    is_own_subdomain = registrable_domain(host) == ".".join(labels[1:])  # docs.alice.github.io is nobody's manual
    if _is_address(host) or not is_own_subdomain or ".".join(labels[2:]) in _SHARED_HOSTS:
        return SourceKind.UNKNOWN
    if labels[0] in ("docs", "developer", "developers", "devdocs"):
        return SourceKind.OFFICIAL
    if labels[0] in ("forum", "forums", "community", "discuss", "answers"):
        return SourceKind.FORUM
    return SourceKind.UNKNOWN


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


_PORT = re.compile(r":\d+$")
_DOMAIN = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+")
_SECOND_LEVEL = frozenset("co com net org edu ac gov gob gouv govt go gv mil ne or nhs police sch ltd plc".split())
_SHARED_HOSTS = frozenset(
    """github.io gitlab.io gitbook.io readthedocs.io readthedocs.org rtfd.io blogspot.com wordpress.com
    substack.com medium.com tumblr.com netlify.app vercel.app pages.dev workers.dev herokuapp.com web.app
    firebaseapp.com appspot.com cloudfront.net s3.amazonaws.com azurewebsites.net livejournal.com typepad.com
    wixsite.com weebly.com
    squarespace.com notion.site hashnode.dev bearblog.dev neocities.org sourceforge.io fandom.com
    stackexchange.com hatenablog.com ghost.io webflow.io altervista.org""".split()
)


def _table(**domains_by_kind: str) -> Mapping[str, SourceKind]:
    return MappingProxyType(
        {domain: SourceKind(kind) for kind, domains in domains_by_kind.items() for domain in domains.split()}
    )


# Suffixes under which only governments register are entries too. Country codes are listed one by one: some are
# sold as short generic names, where a look-alike (`fda.gov.co`) costs little to make.
_DOMAINS = _table(
    official="""gov mil int gov.uk gov.au gov.br gov.cn gov.cz gov.gr gov.hk gov.ie gov.il gov.in gov.it gov.my gov.ng
    gov.ph gov.pl gov.pt gov.sa gov.sg gov.si gov.sk gov.tr gov.tw gov.ua gov.za gob.ar gob.cl gob.es gob.mx gob.pe
    gouv.fr gouv.qc.ca govt.nz go.id go.jp go.ke go.kr go.th gv.at gc.ca canada.ca admin.ch bund.de europa.eu un.org
    oecd.org worldbank.org imf.org wto.org unesco.org unicef.org bundesregierung.de bundestag.de bundesbank.de
    destatis.de rki.de gesetze-im-internet.de bankofengland.co.uk nhs.uk parliament.uk nice.org.uk python.org docs.rs
    rust-lang.org go.dev nodejs.org kernel.org postgresql.org sqlite.org mysql.com redis.io docker.com kubernetes.io
    git-scm.com readthedocs.io readthedocs.org developer.mozilla.org learn.microsoft.com docs.microsoft.com
    developer.apple.com developer.android.com developers.google.com cloud.google.com docs.aws.amazon.com
    docs.github.com api.slack.com docs.slack.dev openssl.org gnu.org apache.org debian.org ubuntu.com archlinux.org
    numpy.org scipy.org pytorch.org tensorflow.org djangoproject.com react.dev vuejs.org php.net ruby-lang.org
    openjdk.org llvm.org""",
    standards="""w3.org ietf.org rfc-editor.org iso.org iec.ch itu.int ieee.org unicode.org ecma-international.org
    whatwg.org oasis-open.org nist.gov etsi.org din.de bsigroup.com ansi.org khronos.org open-std.org tc39.es iana.org
    opengroup.org 3gpp.org icao.int""",
    peer_reviewed="""nature.com science.org sciencemag.org nejm.org thelancet.com bmj.com jamanetwork.com cell.com
    pnas.org plos.org pubmed.ncbi.nlm.nih.gov ncbi.nlm.nih.gov europepmc.org cochranelibrary.com cochrane.org
    sciencedirect.com springer.com springeropen.com biomedcentral.com onlinelibrary.wiley.com academic.oup.com
    cambridge.org tandfonline.com sagepub.com frontiersin.org mdpi.com royalsocietypublishing.org aps.org
    iopscience.iop.org pubs.acs.org pubs.rsc.org dl.acm.org ieeexplore.ieee.org aclanthology.org jmlr.org
    proceedings.mlr.press proceedings.neurips.cc jstor.org elifesciences.org acpjournals.org ahajournals.org aeaweb.org
    annualreviews.org usenix.org""",
    preprint="""arxiv.org biorxiv.org medrxiv.org chemrxiv.org ssrn.com osf.io preprints.org researchsquare.com
    hal.science zenodo.org eprint.iacr.org""",
    reference="""edu ac.uk ac.jp ac.kr ac.nz ac.za ac.in edu.au edu.cn edu.sg wikipedia.org wikidata.org wiktionary.org
    britannica.com merriam-webster.com oed.com dictionary.com plato.stanford.edu iep.utm.edu encyclopedia.com
    scholarpedia.org mayoclinic.org clevelandclinic.org medlineplus.gov webmd.com investopedia.com
    mathworld.wolfram.com ourworldindata.org statista.com duden.de larousse.fr treccani.it cppreference.com""",
    established_press="""reuters.com apnews.com afp.com bbc.com bbc.co.uk nytimes.com washingtonpost.com wsj.com ft.com
    economist.com theguardian.com bloomberg.com npr.org pbs.org cnn.com nbcnews.com cbsnews.com abcnews.go.com
    latimes.com usatoday.com time.com theatlantic.com newyorker.com politico.com axios.com propublica.org
    aljazeera.com dw.com spiegel.de zeit.de faz.net sueddeutsche.de tagesschau.de lemonde.fr lefigaro.fr elpais.com
    corriere.it repubblica.it nzz.ch thetimes.co.uk telegraph.co.uk independent.co.uk irishtimes.com abc.net.au
    smh.com.au cbc.ca theglobeandmail.com thehindu.com japantimes.co.jp nikkei.com scmp.com straitstimes.com
    arstechnica.com wired.com technologyreview.com theverge.com scientificamerican.com newscientist.com statnews.com
    lwn.net heise.de nationalgeographic.com""",
    forum="""reddit.com quora.com stackoverflow.com stackexchange.com serverfault.com superuser.com askubuntu.com
    mathoverflow.net news.ycombinator.com lobste.rs medium.com substack.com blogspot.com wordpress.com tumblr.com
    facebook.com twitter.com x.com instagram.com tiktok.com youtube.com linkedin.com pinterest.com threads.net bsky.app
    mastodon.social 4chan.org slashdot.org dev.to hashnode.dev hackernoon.com livejournal.com answers.yahoo.com
    answers.microsoft.com zhihu.com weibo.com vk.com t.me answers.com fandom.com discuss.python.org discord.com
    discord.gg""",
    unknown="docs.google.com",
)
