"""What the loopback web holds and what is asked about it.

Real technical documents where the optional data folder has them, else made-up ones of the same kind
and length. One document is one site, as the results of a real search mostly are.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import unescape

from tests.shared_data import SHARED

_PAGES = SHARED / "data" / "pages"
_EXTRACT_CHARS = 800
_RELATED = 9  # other pages that a search for one finds too
_COMMON = 0.2  # of all pages; a word in more tells a search service nothing
_QUESTIONS = (
    "What does the proposal on {subject} change, and for whom?",
    "Which problem does {subject} solve, according to its authors?",
    "What are the drawbacks of {subject} that its authors name?",
)
_WORDS = (
    "harbour wheel granary sluice ledger archive beacon quarry orchard viaduct lantern meadow foundry kiln signal "
    "cistern parish weir causeway lockkeeper survey gauge rampart mill ferry turbine pasture cellar belfry conduit"
).split()
_CLAIMS = (
    "The {0} near the {1} was rebuilt in {year} after the {2} had failed.",
    "Surveyors counted {count} repairs of the {0} and found that the {1} carried most of the load.",
    "Most visitors reach the {0} by the {1}, although the {2} is closed from November to March.",
    "Its {0} holds {count} cubic metres, which is enough for the {1} and the {2} together.",
    "Engineers disagreed about the {0}: some wanted a second {1}, others a stronger {2}.",
)


@dataclass(frozen=True)
class WebPage:
    """`extract` is its beginning; `index` the words under which a search service finds it."""

    path: str
    title: str
    html: str
    extract: str
    index: str = ""


@dataclass(frozen=True)
class Corpus:
    pages: Sequence[WebPage]
    questions: Sequence[str]
    is_real: bool


def load_corpus(*, real: bool = True, made_up: int = 60) -> Corpus:
    """Three questions a page, all different. Falls back to made-up pages where the data folder is absent."""
    is_real = real and _PAGES.exists()
    pages = _indexed(_read_pages() if is_real else _make_pages(made_up))
    subjects = [re.sub(r"^PEP \d+ – ", "", page.title) for page in pages]
    worded = [subject for subject in subjects if len(re.findall(r"[A-Za-z]{3,}", subject)) >= 2]
    spread = [*worded[::3], *worded[1::3], *worded[2::3]]  # neighbours are related, what is asked at once is not
    questions = [template.format(subject=subject) for template in _QUESTIONS for subject in spread]
    return Corpus(pages, questions, is_real)


def _indexed(pages: Sequence[WebPage]) -> list[WebPage]:
    """Each page is found by the rare words of its beginning, and by the titles of the pages before it.

    So every search finds ten pages or more, and none is found by all.
    """
    words = [set(re.findall(r"\w+", f"{page.title} {page.extract}".lower())) for page in pages]
    seen = Counter(word for own in words for word in own)
    common = {word for word, count in seen.items() if count > _COMMON * len(pages)}
    rare = [own - common for own in words]
    titles = [set(re.findall(r"\w+", page.title.lower())) - common for page in pages]
    return [
        replace(page, index=" ".join(sorted(rare[at].union(*(titles[at - back] for back in range(1, _RELATED + 1))))))
        for at, page in enumerate(pages)
    ]


def _read_pages() -> list[WebPage]:
    index: list[Mapping[str, object]] = json.loads((_PAGES / "index.json").read_text("utf-8"))
    pages = []
    for row in index:
        html = (_PAGES / f"{row['id']}.html").read_text("utf-8")
        pages.append(WebPage(f"/doc-{row['id']}", str(row["title"]), html, _extract_of(html)))
    return pages


def _extract_of(html: str) -> str:
    paragraphs = re.findall(r"<p>(.*?)</p>", html, re.DOTALL)
    text = unescape(re.sub(r"<[^>]+>", "", " ".join(paragraphs)))
    return " ".join(text.split())[:_EXTRACT_CHARS]


def _make_pages(count: int) -> list[WebPage]:
    rng = random.Random(7)  # the same pages in every run
    return [_make_page(number, rng) for number in range(count)]


def _make_page(number: int, rng: random.Random) -> WebPage:
    first, second = rng.sample(_WORDS, 2)
    title = f"The {first} and {second} of Site {number}"
    paragraphs = [" ".join(_claim(first, rng) for _ in range(6)) for _ in range(20)]
    links = "".join(f"<li><a href='/doc-{other}'>Site {other}</a></li>" for other in range(40))
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    html = (
        f"<html lang='en'><head><title>{title}</title></head><body><nav><ul>{links}</ul></nav>"
        f"<article><h1>{title}</h1>{body}</article><footer>Imprint</footer></body></html>"
    )
    return WebPage(f"/doc-{number}", title, html, paragraphs[0][:_EXTRACT_CHARS])


def _claim(subject: str, rng: random.Random) -> str:
    others = rng.sample([word for word in _WORDS if word != subject], 2)
    sentence = rng.choice(_CLAIMS)
    return sentence.format(subject, *others, year=rng.randint(1810, 1990), count=rng.randint(12, 900))
