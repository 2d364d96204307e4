"""Prose with BibTeX keys: read into numbered sources to be judged, freed of quotations, and written back.

The author's own brief is a source too, so that a sentence without a key is held against what the author said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

import regex

from core.evidence.citations import Grammar, KeyRef, Marker, keep_markers, parse_markers, rewrite_markers
from core.evidence.grounding import OWN_LIST, VERBATIM, Grounder
from core.evidence.judge import Judgement, Ruling
from core.evidence.quoting import cited
from core.evidence.structure import Judged
from core.library.funnel import TELLING
from core.library.paper import Paper
from core.model.answer import Section as Part
from core.model.source import Source
from core.presentation.bibliography import CitedWork, Name, bibtex, key_of, names_in, ris
from core.presentation.render import cut, one_line
from core.text.chunking import Passage
from core.text.language import rarity
from core.text.sentences import is_chatter
from core.text.terms import terms as terms_in

BRIEF_ID = "src_1"
_MIN_TELLING = 3  # words of a run
_WORD = regex.compile(r"[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*")
_QUOTED = regex.compile(r"[\"“”„‟«»]([^\"“”„‟«»\n]{3,80})[\"“”‟«»]")
_NUMBERS = regex.compile(r"(?<![ \t])[ \t]*+(?:\[\d+\])+")  # a run of blanks is tried from its beginning alone


class KeyGrounder(Grounder):
    """A `Grounder` for prose that cites `keys` (by source id); `unknown` collects the keys that are nobody's.

    What cites no key is a sentence on the own work, and is looked for in the brief.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        question: str,
        passages: Mapping[str, Sequence[Passage]],
        *,
        keys: Mapping[str, str],
    ) -> None:
        super().__init__(sources, question, passages)
        self._ids = {key: source_id for source_id, key in keys.items()}
        self._own: set[str] = set()  # ids of sentences that cite nothing
        self.unknown: list[str] = []

    def propose(
        self, section: Part, place: int, text: str, *, gap: str = "", asserts: bool = True, before: str = ""
    ) -> Judged:
        numbered, is_cited = self._numbered(text)
        if asserts and not is_cited and not is_chatter(text):
            numbered = cited(numbered, BRIEF_ID.removeprefix("src_"))
            self._own.add(f"{section}-{place}")
        return super().propose(section, place, numbered, gap=gap, asserts=asserts, before=before)

    def conclude(self, judged: Judged, judgements: Sequence[Judgement | None]) -> Judged:
        """What the brief says is the author's own: no paper that says the like is cited for it."""
        says_so = (Ruling.SUPPORTED, Ruling.PARTIAL)
        said = list(zip(judged.asked, judgements, strict=True))
        stands = judged.claim and any(one.reasons == (VERBATIM,) for one in judged.claim.evidence)
        told = any(one.is_cited and word and word.ruling in says_so for one, word in said)
        if judged.id in self._own and (told or stands):
            judgements = [word if one.is_cited else None for one, word in said]
        return super().conclude(judged, judgements)

    def _numbered(self, text: str) -> tuple[str, bool]:
        """The sentence with numbers for keys, and whether it cited anything, be it unknown."""
        text = keep_markers(text, (), Grammar.NUMBER)  # numbers are ours alone
        targets = [mark.target for mark in parse_markers(text, Grammar.KEY, keys=self._ids)]
        named = [target.key for target in targets if isinstance(target, KeyRef)]
        self.unknown += [key for key in named if key not in self._ids]
        text = keep_markers(text, self._ids, Grammar.KEY, keys=self._ids)
        return rewrite_markers(text, Grammar.KEY, self._as_numbers, keys=self._ids), bool(named)

    def _as_numbers(self, group: Sequence[Marker]) -> str:
        keys = [mark.target.key for mark in group if isinstance(mark.target, KeyRef)]
        return "".join(f"[{self._ids[key].removeprefix('src_')}]" for key in keys)


def with_keys(text: str, keys: Mapping[str, str]) -> str:
    """`text` with `(key; key)` for its numbers; the brief's number goes. `keys` are by source id."""

    def written(found: regex.Match[str]) -> str:
        named = [keys[f"src_{number}"] for number in regex.findall(r"\d+", found.group()) if f"src_{number}" in keys]
        return f" ({'; '.join(dict.fromkeys(named))})" if named else ""

    return _NUMBERS.sub(written, text)


def with_labels(text: str, labels: Mapping[str, str]) -> str:
    """`text` with `[Smith et al., 2024; Doe, 2020]` for its keys (D3). `labels` are by key."""

    def written(group: Sequence[Marker]) -> str | None:
        named = [
            labels[mark.target.key] for mark in group if isinstance(mark.target, KeyRef) and mark.target.key in labels
        ]
        return f"[{'; '.join(named)}]" if named else None

    return rewrite_markers(text, Grammar.KEY, written, keys=set(labels))


def as_prose(text: str, *, title: str, authors: Mapping[str, str]) -> str:
    """As Markdown: LaTeX read; no announcement, heading of its own or list of references. `authors` are by key."""
    text = _ANNOUNCED.sub("", text, count=1)
    text = _CITE.sub(lambda found: _cited(found, authors), text)
    by_case = {key.casefold(): key for key in authors}
    text = _PANDOC.sub(lambda found: _named(found, by_case.get(found[1].casefold(), ""), authors), text)
    for _ in range(2):  # bold within italics
        text = _FONT.sub(r"\1", text)
    text = _SECTIONING.sub(r"\n\n### \1\n\n", text)
    text = _ESCAPED.sub(r"\1", _DISPLAY.sub(lambda found: f"\n\n$${' '.join(found['formula'].split())}$$\n\n", text))
    kept: list[str] = []
    is_listing = False
    for line in text.splitlines():
        head = _HEAD.fullmatch(line)
        name = " ".join((head[1] if head else line).strip("*_: \t").split())
        if head or OWN_LIST.fullmatch(name):
            is_listing = OWN_LIST.fullmatch(name) is not None
        is_title = name.casefold() == title.casefold()
        if not is_listing and not is_title:
            kept.append(f"### {name}" if head else line)
    return _PARAGRAPH.sub("\n\n", "\n".join(kept)).strip()


_ANNOUNCED = regex.compile(  # what a writer says before the section
    r"\A\s*(?:sure|certainly|(?:here|below)(?:['’]s| is| are)|hier (?:ist|folgt)|voici|aquí|ecco)\b[^\n]{0,120}\n",
    regex.IGNORECASE,
)
_CITE = regex.compile(  # `\citep[see][p. 3]{key, other}`
    r"[ ~]*\\(\w{0,12}cite\w{0,12})\*?(?:\[[^\[\]]{0,200}\]){0,2}\{([^{}]*)\}", regex.IGNORECASE
)
# "as @key says", "… says @key."
_PANDOC = regex.compile(r"(?<!\w|[\[;,(-] ?)@([\w:./+-]*\w)(?P<end>(?=[.,;:]?(?:\n|$)|\.\s))?")
_FONT = regex.compile(r"\\(?:text(?:bf|it|tt|rm|sf)|emph|underline|mbox)\{([^{}]*)\}")
_SECTIONING = regex.compile(r"\\(?:sub)*(?:section|paragraph)\*?\{([^{}]*)\}(?:\s*\\label\{[^{}]*\})?")
_DISPLAY = regex.compile(r"\\begin\{((?:equation|align|displaymath)\*?)\}(?P<formula>.*?)\\end\{\1\}", regex.DOTALL)
_PARAGRAPH = regex.compile(r"\n\s*\n")
_ESCAPED = regex.compile(r"\\([%&_#$])")
_HEAD = regex.compile(r"[ \t]*#{1,6}[ \t]+(?:\d+(?:\.\d+)*\.?[ \t]+)?(.+?)[ \t#]*")


def _named(found: regex.Match[str], key: str, authors: Mapping[str, str]) -> str:
    if not key:
        return found.group()
    return f"({key})" if found["end"] is not None else f"{authors[key]} ({key})"


def _cited(found: regex.Match[str], authors: Mapping[str, str]) -> str:
    keys = [key.strip() for key in found[2].split(",") if key.strip()]
    who = authors.get(keys[0], "") if keys and found[1].casefold() in ("citet", "textcite") else ""
    before = " " if found[0][0] in " ~" or not who else ""
    return f"{before}{who}{' ' if who else ''}({'; '.join(keys)})"


class Quotations:
    """The runs of words that the writer may not repeat: every run of more than `longest` words in `texts`.

    A run that stands in `terms` (titles, the author's own brief) is a term, and one with fewer than three words that
    tell something is how everybody writes: "in the presence of", "a 95 % confidence interval". Names, numbers and what
    is measured are facts, which stay as they are.
    """

    def __init__(self, texts: Sequence[str], *, longest: int, terms: Iterable[str] = ()) -> None:
        self._size = longest + 1
        self._runs = {run for text in texts for run, _ in self._runs_of(text)}
        self._terms = "\n".join(f" {' '.join(_words(text))} " for text in terms)
        self._said = "\n".join(f" {' '.join(_words(text))} " for text in texts)

    def unmarked(self, sentence: str) -> str:
        """Without the marks around what a text says too: what stays is too short to be a quotation (D4)."""

        def bare(found: regex.Match[str]) -> str:
            run = f" {' '.join(_words(found[1]))} "
            return found[run.count(" ") > 2 and run in self._said and run not in self._terms]

        return _QUOTED.sub(bare, sentence)

    def in_sentence(self, sentence: str) -> str:
        """The first run of words that a text has too, as the sentence has it; "" for none."""
        return next(
            (sentence[start:end] for start, end in self._spans(sentence) if self._tells(sentence[start:end])), ""
        )

    def _spans(self, sentence: str) -> Iterable[tuple[int, int]]:
        """Where runs stand, those that overlap as one."""
        merged: list[tuple[int, int]] = []
        for run, (start, end) in self._runs_of(sentence):
            if run in self._runs:
                if merged and start < merged[-1][1]:
                    merged[-1] = (merged[-1][0], end)
                else:
                    merged.append((start, end))
        return merged

    def _tells(self, run: str) -> bool:
        if f" {' '.join(_words(run))} " in self._terms:
            return False
        words = [word for word in _WORD.findall(run) if word.islower()]
        return sum(rarity(term, "en") >= TELLING for term in terms_in(" ".join(words))) >= _MIN_TELLING

    def _runs_of(self, text: str) -> Iterable[tuple[tuple[str, ...], tuple[int, int]]]:
        found = list(_WORD.finditer(text))
        words = [match.group().casefold() for match in found]
        for at in range(len(words) - self._size + 1):
            span = (found[at].start(), found[at + self._size - 1].end())
            yield tuple(words[at : at + self._size]), span


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


# BibTeX keys of a library's papers, and their entries: the same key in every section and on every day. A paper keeps
# its own key where it came with one; else first author, year and first telling word of the title. Of papers with one
# key, the one that came first keeps it, and the others get a letter: a paper that is added later renames none.


_ENTRY = regex.compile(r"\s*@\s*(?P<kind>[A-Za-z]+)\s*\{\s*(?P<key>[^\s,{}]*)\s*,")
_USABLE = regex.compile(r"[A-Za-z][\w:./+-]{2,99}", regex.ASCII)  # what a bracket in prose and \cite both take
MAX_TITLE_CHARS = 40  # of a paper that names no author, where it is cited
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def assign_keys(papers: Sequence[Paper]) -> dict[str, str]:
    """By paper id. Keys differ in more than case, since BibTeX does not tell those apart."""
    keys: dict[str, str] = {}
    taken: set[str] = set()
    for paper in sorted(papers, key=lambda paper: (paper.added_at, paper.id)):
        stem = own_key(paper) or key_of(work_of_paper(paper))
        key = next(f"{stem}{end}" for end in _endings() if f"{stem}{end}".casefold() not in taken)
        taken.add(key.casefold())
        keys[paper.id] = key
    return keys


def own_key(paper: Paper) -> str:
    """The key of the entry that the paper came with, "" where that cannot be cited."""
    found = _ENTRY.match(paper.bibtex)
    return found["key"] if found and _USABLE.fullmatch(found["key"]) else ""


def bibliography(papers: Sequence[Paper], keys: Mapping[str, str]) -> str:
    """A `.bib` of these papers, in the order of their keys."""
    return "\n".join(_entry(paper, keys[paper.id]) for paper in sorted(papers, key=lambda paper: keys[paper.id]))


def exported(papers: Sequence[Paper], form: str) -> str:
    """A reading list: `bib` with the keys that sections cite by, or `ris`."""
    keys = assign_keys(papers)
    if form == "bib":
        return bibliography(papers, keys)
    return ris([work_of_paper(paper) for paper in sorted(papers, key=lambda paper: keys[paper.id])])


def author_years(papers: Sequence[Paper], keys: Mapping[str, str]) -> dict[str, str]:
    """By key: `Smith et al., 2024`, with a letter where several papers would have the same. `keys` are by paper id."""
    papers = sorted(papers, key=lambda paper: keys[paper.id])
    plain = {keys[paper.id]: f"{author(paper)}, {paper.year or 'n.d.'}" for paper in papers}
    alike = {label: [key for key, other in plain.items() if other == label] for label in plain.values()}
    return {
        key: f"{label}{_endings()[1 + alike[label].index(key)]}" if len(alike[label]) > 1 else label
        for key, label in plain.items()
    }


def author(paper: Paper) -> str:
    """`Smith et al.`"""
    authors = work_of_paper(paper).authors
    who = authors[0].family if authors else cut(one_line(paper.title), MAX_TITLE_CHARS)
    return f"{who}{' et al.' if len(authors) > 1 else ''}"


def work_of_paper(paper: Paper) -> CitedWork:
    names: list[Name] = []
    for author in paper.authors:
        names += names_in(one_line(author))[0]
    published = _date(paper.published)
    return CitedWork(
        number=0,
        title=one_line(paper.title) or "Untitled",
        authors=tuple(names),
        has_more_authors=False,
        journal="",
        publisher="",
        published_on=published,
        read_on=paper.added_at.date(),
        url=paper.url if paper.url.startswith(("http://", "https://")) else "",
        file="",
        doi=one_line(paper.doi),
        arxiv_id=paper.id if "arxiv.org/" in paper.url else "",
        pubmed_id="",
        is_article=False,
        date_parts=1 + paper.published.count("-"),
    )


def _entry(paper: Paper, key: str) -> str:
    """The paper's own entry under its key where it is whole, else one made of what is known."""
    found = _ENTRY.match(paper.bibtex)
    if found and _is_whole(paper.bibtex):
        return f"@{found['kind']}{{{key},{paper.bibtex[found.end() :].rstrip()}\n"
    return bibtex([work_of_paper(paper)], [key])


def _is_whole(entry: str) -> bool:
    """One entry, whose braces close with its last character."""
    depth = 0
    text = entry.strip()
    for place, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if depth == 0 and char == "}":
            return place == len(text) - 1
    return False


def _endings() -> Sequence[str]:
    return ["", *_LETTERS, *(first + second for first in _LETTERS for second in _LETTERS)]


def _date(published: str) -> date | None:
    try:
        return date.fromisoformat(f"{published}-01-01"[: len("2024-01-01")] if len(published) < 10 else published[:10])
    except ValueError:
        return None
