"""What a checked list says to people: a line for each reference, a table as CSV, and BibTeX with what was corrected.

It says where a work was not found, never that it does not exist.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import regex

from core.evidence.judge import Ruling
from core.library.desk import BibtexEntry, bibtex_entries
from core.model.answer import AnswerFile, JobResult
from core.model.errors import place_name
from core.model.job import Json, rows
from core.model.works import Notice, WorkRecord
from core.presentation.bibliography import latex_text
from core.presentation.render import csv_table, cut, one_line
from core.text.saying import say, say_again, say_many
from core.works.checking import CheckedReference, PartDiffers, RefStand

SHOWN = 20  # references of the answer's own list that need a look; the page has all
MAX_NAME_CHARS = 90
_FIELDS = {"title": "title", "authors": "author", "year": "year", "venue": "journal", "id": "doi"}
PARTS_DIFFER = {
    "title": "its title is {known}, not {given}",
    "authors": "its authors are {known}, not {given}",
    "year": "its year is {known}, not {given}",
    "venue": "its venue is {known}, not {given}",
    "id": "its DOI is {known}, not {given}",
}
RULINGS = {
    Ruling.SUPPORTED: "says it",
    Ruling.PARTIAL: "says a part of it",
    Ruling.UNSUPPORTED: "does not say it",
    Ruling.CONTRADICTED: "says otherwise",
}
NOT_JUDGED = "not judged"
_VERDICTS = {one: one for one in (*RULINGS.values(), NOT_JUDGED)}
_RULED = {
    "abstract": {
        Ruling.SUPPORTED: "its abstract says it",
        Ruling.PARTIAL: "its abstract says a part of it",
        Ruling.UNSUPPORTED: "its abstract does not say it",
        Ruling.CONTRADICTED: "its abstract says otherwise",
    },
    "full text": {
        Ruling.SUPPORTED: "its full text says it",
        Ruling.PARTIAL: "its full text says a part of it",
        Ruling.UNSUPPORTED: "its full text does not say it",
        Ruling.CONTRADICTED: "its full text says otherwise",
    },
}
NAMED = "Reference {number}, “{name}”"
_SIGNS = {"fine": "✓", "look": "◐", "bad": "✗"}


def list_text(checked: Sequence[CheckedReference], cited: Mapping[int, int]) -> str:
    """The answer: counts, and each reference that somebody should look at.

    `cited` gives the number of the source that holds the record of a reference, by the reference's.
    """
    doubtful = to_look_at(checked)
    lines = [counts_line(checked), *([""] if doubtful else [])]
    for place, one in enumerate(doubtful[:SHOWN], start=1):
        number, name = one.reference.number, cut(one_line(one.reference.name), MAX_NAME_CHARS)
        marker = f" [{cited[number]}]" if number in cited else ""
        lines.append(f"{place}. {say(NAMED, number=number, name=name)}: {said_of(one).removesuffix('.')}{marker}.")
    if len(doubtful) > SHOWN:
        lines.append(say("And {number} more in the table.", number=len(doubtful) - SHOWN))
    return "\n".join(lines)


def to_look_at(checked: Sequence[CheckedReference]) -> list[CheckedReference]:
    """Those that somebody should look at again, the worst first."""
    doubtful = (one for one in checked if one.needs_a_look)
    return sorted(doubtful, key=lambda one: (-_weight(one), one.reference.number))


def record_text(record: WorkRecord) -> str:
    """What the registries say of a work, as a text that can be cited: its title on the first line."""
    where = ", ".join(filter(None, (record.venue, record.year)))
    notices = [
        " ".join(filter(None, (one.kind.capitalize(), one.date and f"on {one.date}", one.url and f"({one.url})")))
        for one in record.notices
    ]
    lines = [record.title, "; ".join(record.authors), where, *notices, record.abstract]
    return "\n\n".join(filter(None, map(one_line, lines)))


def counts_line(checked: Sequence[CheckedReference]) -> str:
    """`40 references: 31 match their records, 2 were retracted, …`"""
    counts = Counter(one.stand for one in checked)
    retracted = sum(one.is_retracted for one in checked)
    said = [
        say_many("{number} matches its record", "{number} match their records", number)
        if (number := counts[RefStand.MATCHES]) else "",
        say_many("{number} was retracted", "{number} were retracted", retracted) if retracted else "",
        say_many("{number} differs from its record", "{number} differ from their records", number)
        if (number := counts[RefStand.DIFFERS]) else "",
        say_many("{number} has the id of another work", "{number} have the id of another work", number)
        if (number := counts[RefStand.OTHER_WORK]) else "",
        say_many("{number} was not found", "{number} were not found", number)
        if (number := counts[RefStand.NOT_FOUND] + counts[RefStand.UNLISTED]) else "",
        say("{number} could not be looked up", number=number) if (number := counts[RefStand.UNKNOWN]) else "",
    ]  # fmt: skip
    parts = ", ".join(filter(None, said))
    return say_many("{number} reference: {stands}.", "{number} references: {stands}.", len(checked), stands=parts)


def said_of(one: CheckedReference, *, has_uses: bool = True) -> str:
    """Everything that is known of it, in a sentence or some; `has_uses` with what it is cited for in vain."""
    standing, stand = _standing_words(one), _stand_words(one)
    said = [*standing, stand] if one.record else [": ".join([stand, *standing])]  # of the other work that has its id
    if one.same_as:
        said.append(say("the same work as reference {number}", number=one.same_as))
    said += [
        f"{say(_RULED[use.basis][use.ruling])}: “{cut(one_line(use.sentence), 120)}”"
        for use in one.uses
        if has_uses and use.is_doubtful and use.ruling and use.basis
    ]
    return "; ".join(filter(None, said)) + "."


def _stand_words(one: CheckedReference) -> str:
    asked = ", ".join(map(place_name, one.asked))
    away = ", ".join(f"{place_name(name)} ({say_again(why)})" for name, why in one.failed)
    unasked = f"; {say('no answer from {places}', places=away)}" if away else ""
    match one.stand:
        case RefStand.MATCHES:
            return say("found, matches its record")
        case RefStand.DIFFERS:
            return f"{say('found')}; {difference_words(one.differences)}"
        case RefStand.OTHER_WORK:
            holder = cut(one_line(one.holder.title), MAX_NAME_CHARS) if one.holder else ""
            has = "a work of that title has {id}"
            meant = f"; {say(has, id=(one.record.ids.name or say('no id')))}" if one.record else ""
            said = "its id {id} is that of another work, “{title}”"
            return say(said, id=one.reference.ids.name, title=holder) + meant
        case RefStand.UNLISTED:
            return say("not found in {places}, which list few books, reports and pages", places=asked) + unasked
        case RefStand.NOT_FOUND:
            return say("not found in {places}", places=asked) + unasked
    return say("could not be looked up: {why}", why=away or say("no registry can be asked for it"))


def difference_words(differences: Sequence[PartDiffers]) -> str:
    def short(text: str) -> str:
        return cut(one_line(text), MAX_NAME_CHARS)

    return "; ".join(say(PARTS_DIFFER[one.part], known=short(one.known), given=short(one.given)) for one in differences)


def _standing_words(one: CheckedReference) -> list[str]:
    record = one.record or one.holder
    if record is None:
        return []
    if record.retraction:
        return [_noticed(say("retracted"), record.retraction)]
    said = [_noticed(say("an expression of concern was published"), notice) for notice in record.concerns[:1]]
    return said + [_noticed(say("a correction was published"), notice) for notice in record.corrections[:1]]


def _noticed(said: str, notice: Notice) -> str:
    """What was published, with its day and its address."""
    said = say("{notice} on {day}", notice=said, day=notice.date) if notice.date else said
    return f"{said} ({notice.url})" if notice.url else said


def _weight(one: CheckedReference) -> int:
    """What should be looked at first: retracted, wrong id, not found, differing."""
    order = [RefStand.MATCHES, RefStand.UNKNOWN, RefStand.UNLISTED, RefStand.DIFFERS, RefStand.NOT_FOUND,
             RefStand.OTHER_WORK]  # fmt: skip
    return order.index(one.stand) + 10 * one.is_retracted


# As data: for the page and the API, as CSV


def references_json(checked: Sequence[CheckedReference]) -> dict[str, Json]:
    """The view of a result (`JobResult.details`): a row for each reference, and the files that come with it."""
    return {
        "references": [_row(one) for one in checked],
        "files": {"references.csv": references_csv(checked), "references.bib": corrected_bibtex(checked)},
    }


def reference_files(result: JobResult) -> tuple[AnswerFile, ...]:
    texts = result.details.get("files")
    known = texts if isinstance(texts, Mapping) else {}
    kinds = {"references.csv": "text/csv", "references.bib": "application/x-bibtex"}
    return tuple(AnswerFile(name, kind, str(known[name])) for name, kind in kinds.items() if known.get(name))


def reference_rows(result: JobResult | None) -> list[Mapping[str, Json]]:
    """What `references_json` wrote; none for another job."""
    return list(rows(result.details.get("references"))) if result else []


def verdict_words(verdict: str) -> str:
    """What a row says of a sentence that cites its work, said."""
    return say(_VERDICTS.get(verdict, "")) or verdict


def _row(one: CheckedReference) -> dict[str, Json]:
    record, reference = one.record, one.reference
    notice = (record.retraction or next(iter(record.notices), None)) if record else None
    copy = next((copy.url for copy in record.copies), "") if record else ""
    return {
        "number": reference.number,
        "label": reference.label,
        "reference": one_line(reference.name),
        "verdict": one.stand.value,
        "sign": _SIGNS["bad" if one.is_retracted else "look" if one.needs_a_look else "fine"],
        "said": said_of(one, has_uses=False),
        "is_retracted": one.is_retracted,
        "notice": notice.kind if notice else "",
        "notice_url": notice.url if notice else "",
        "notice_date": notice.date if notice else "",
        "doi": (record.ids.doi if record else "") or reference.ids.doi,
        "url": address_of(record) if record else "",
        "title": record.title if record else "",
        "year": record.year if record else "",
        "venue": record.venue if record else "",
        "differs": difference_words(one.differences),
        "open_copy": copy,
        "found_in": [place_name(name) for name in record.said_by] if record else [],
        "asked": [place_name(name) for name in one.asked],
        "same_as": one.same_as,
        "cited_for": [
            {
                "sentence": use.sentence,
                "verdict": RULINGS[use.ruling] if use.ruling else NOT_JUDGED,
                "read": use.basis,
                "reason": use.reason,
            }
            for use in one.uses
        ],
    }


def address_of(record: WorkRecord) -> str:
    """Where people find the work by its id; "" without one."""
    ids = record.ids
    places = (
        (ids.doi, "https://doi.org/"), (ids.arxiv, "https://arxiv.org/abs/"),
        (ids.pmid, "https://pubmed.ncbi.nlm.nih.gov/"), (ids.pmcid, "https://europepmc.org/article/PMC/"),
        (ids.openalex, "https://openalex.org/"),
    )  # fmt: skip
    return next((f"{place}{value}" for value, place in places if value), "")


_COLUMNS = (
    "number", "label", "reference", "verdict", "differs", "is_retracted", "notice", "notice_url", "notice_date", "doi",
    "title", "year", "venue", "open_copy", "found_in", "asked", "cited_for",
)  # fmt: skip


def references_csv(checked: Sequence[CheckedReference]) -> str:
    """As `csv_table` gives it."""
    return csv_table(_COLUMNS, ([_cell(row[name]) for name in _COLUMNS] for row in map(_row, checked)))


def _cell(value: Json) -> str:
    if isinstance(value, list):
        value = "; ".join(
            f"{entry['verdict']}: {entry['sentence']}" if isinstance(entry, dict) else str(entry) for entry in value
        )
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else one_line(str(value or ""))


# As BibTeX: the entries as they came, with what their records say in place of what differed


def corrected_bibtex(checked: Sequence[CheckedReference]) -> str:
    """Each entry under a comment that says what became of it; of lists in prose entries made from the records."""
    taken: set[str] = set()
    written: list[str] = []
    for one in checked:
        entry = _entry(one, taken)
        said = one_line(said_of(one)).replace("@", " at ").replace("{", "(").replace("}", ")")
        written.append(f"% {said}\n{entry}\n" if entry else f"% {one.reference.number}: {said}\n")
    return "\n".join(written)


def _entry(one: CheckedReference, taken: set[str]) -> str:
    given = next(iter(bibtex_entries(one.reference.text)), None)
    if given is not None:
        return _written(given.kind, given.key, _corrected(given, one))
    if one.record is None:
        return ""
    record = one.record
    first = regex.sub(r"[^a-z]", "", (record.authors[0] if record.authors else "anon").split()[-1].casefold()) or "anon"
    key = stem = f"{first}{record.year}"
    while key in taken:
        key = f"{stem}{chr(ord('a') + sum(name.startswith(stem) for name in taken))}"
    taken.add(key)
    return _written("article" if record.venue else "misc", key, _fields_of(record))


def _corrected(given: BibtexEntry, one: CheckedReference) -> dict[str, str]:
    fields = dict(given.fields)
    record = one.record
    if record is None:
        return fields
    known = _fields_of(record)
    venue = next((name for name in ("journal", "journaltitle", "booktitle") if name in fields), "journal")
    for part in one.differences:
        name = venue if part.part == "venue" else _FIELDS[part.part]
        if name == "year" and "year" not in fields:
            name = "date"
        fields[name] = known.get(_FIELDS[part.part], "") or fields.get(name, "")
    if record.ids.doi and ("doi" not in fields or one.stand is RefStand.OTHER_WORK):
        fields["doi"] = known["doi"]
    return fields


def _fields_of(record: WorkRecord) -> dict[str, str]:
    fields = {
        "author": " and ".join(latex_text(name) for name in record.authors),
        "title": f"{{{latex_text(record.title)}}}",
        "journal": latex_text(record.venue),
        "year": record.year,
        "doi": regex.sub(r"[{}\\\s]", "", record.ids.doi),
        "eprint": record.ids.arxiv,
        "archiveprefix": "arXiv" if record.ids.arxiv else "",
        "pmid": record.ids.pmid,
    }
    return {name: value for name, value in fields.items() if value}


def _written(kind: str, key: str, fields: Mapping[str, str]) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value.count("{") == value.count("}")]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
