"""Checking a receipt without the server that gave it: hashes, spans, and every rule asked again.

Pure over values and offline. What cannot be asked again, a judge's word above all, is told as such and is no failure;
neither is that another version of the rules says something else. What pages say today is compared on request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.evidence.verbatim import verify_quote
from core.model.answer import Verdict
from core.model.source import Page
from core.presentation.render import one_line
from core.presentation.wording import MARK_MEANINGS
from core.receipts.container import NoReceipt, OpenedReceipt, open_receipt
from core.receipts.receipt import Receipt, ReceiptClaim, ReceiptEvidence, ReceiptSource, ask_rules, text_hash, versions
from core.text.saying import say, say_again, say_many

State = Literal["ok", "failed", "told"]
SHOWN = 5  # of the same sort of trouble; the rest is counted
SIGNATURE = "signature"
VOUCHED_BY_NOBODY = "a key nobody vouched for ({signer}): compare it with {where}, or give --key"
_WEIGHT = (Verdict.SUPPORTED, Verdict.MOVED, Verdict.PARTIAL, Verdict.UNCHECKED, Verdict.UNSUPPORTED)


@dataclass(frozen=True)
class Check:
    """`told` is what is to be known and is no failure."""

    name: str
    state: State
    says: str


@dataclass(frozen=True)
class Verification:
    """`receipt` is None where the file cannot be read."""

    receipt: Receipt | None
    checks: tuple[Check, ...]
    signer: str = ""

    @property
    def is_intact(self) -> bool:
        """Nothing failed. Whoever wrote it may have made all of it up, unless it `is_sound`."""
        return all(check.state != "failed" for check in self.checks)

    @property
    def is_sound(self) -> bool:
        """Intact, and signed with a key that whoever verifies trusts."""
        return self.is_intact and any(check.name == SIGNATURE and check.state == "ok" for check in self.checks)

    @property
    def ending(self) -> str:
        """Whether it may be relied on, in a sentence."""
        if not self.is_intact or self.receipt is None:
            return say("Do not rely on it.")
        if self.is_sound:
            return say("Sound: nothing in it was changed, and it is signed with the key that you trust.")
        if self.signer:
            key = say(VOUCHED_BY_NOBODY, signer=self.signer, where=key_place(self.receipt))
            return say("Whole, but signed with {key}. Anybody can write and sign such a file.", key=key)
        return say(
            "Whole, but unsigned: nothing in it was changed by accident or in part; anybody can have written all of it."
        )


def key_place(receipt: Receipt) -> str:
    """Where the server that a receipt says it is from publishes its key."""
    return (
        f"{one_line(receipt.issuer).rstrip('/')}/.well-known/gorkd-key" if receipt.issuer else say("its server's key")
    )


def verify_receipt(content: bytes, *, keys: Sequence[str] = ()) -> Verification:
    """`keys` are the public keys, in base64, of which one is expected to have signed; without any, none is."""
    try:
        opened = open_receipt(content)
    except NoReceipt as error:
        return Verification(None, (Check("file", "failed", str(error)),))
    receipt = opened.receipt
    return Verification(
        receipt,
        (
            _file(opened),
            _signature(opened, keys),
            _spans(receipt),
            _answer(receipt),
            *_rules(receipt),
            _judged(receipt),
            _texts(receipt),
        ),
        opened.signer if opened.is_genuine else "",
    )


def _file(opened: OpenedReceipt) -> Check:
    if opened.problems:
        return Check("file", "failed", "; ".join(opened.problems))
    return Check(
        "file",
        "ok",
        say_many("{number} member, as it was written", "{number} members, as they were written", len(opened.members)),
    )


def _signature(opened: OpenedReceipt, keys: Sequence[str]) -> Check:
    if not opened.signer:
        state: State = "failed" if keys else "told"
        return Check(SIGNATURE, state, say("unsigned: integrity only; whoever changed it could have written it anew"))
    if not opened.is_genuine:
        return Check(SIGNATURE, "failed", say("the signature is not genuine"))
    if not keys:
        key = say(VOUCHED_BY_NOBODY, signer=opened.signer, where=key_place(opened.receipt))
        return Check(SIGNATURE, "told", say("signed with {key}", key=key))
    if opened.signer not in keys:
        return Check(
            SIGNATURE, "failed", say("signed with {key}, which is another key than the given one", key=opened.signer)
        )
    return Check(SIGNATURE, "ok", say("signed with the given key {key}", key=opened.signer))


def _entries(receipt: Receipt) -> list[tuple[ReceiptClaim, ReceiptEvidence]]:
    return [(claim, entry) for claim in receipt.claims for entry in claim.evidence]


def _spans(receipt: Receipt) -> Check:
    """Each quote is what stands between its offsets, in an excerpt of a source that was read."""
    known = {source.id: source for source in receipt.sources}
    wrong = []
    for claim, entry in _entries(receipt):
        excerpt = entry.excerpt
        span = slice(max(entry.start - excerpt.start, 0), max(entry.end - excerpt.start, 0))
        said = (excerpt.text[span], excerpt.trusted_text[span])  # a passage may reach over what is blanked out
        source = known.get(entry.source_id)
        fits = excerpt.start <= entry.start <= entry.end <= excerpt.end
        if source is None or entry.quote not in said or not fits or excerpt.end > source.characters:
            wrong.append(say("{claim} in {source}", claim=claim.id, source=entry.source_id))
        elif (excerpt.start, excerpt.end) == (0, source.characters) and text_hash(excerpt.text) != source.sha256:
            wrong.append(say("{source} is not the text of its hash", source=entry.source_id))
    one, many = "{number} quote, where it is said to stand", "{number} quotes, each where it is said to stand"
    good = say_many(one, many, len(_entries(receipt)))
    return _concluded("quotes", wrong, good, say("not where it is said to stand"))


def _answer(receipt: Receipt) -> Check:
    """Each claim is a sentence of the answer, and its verdict the best of its evidence."""
    texts = {"summary": _letters(receipt.summary), "detail": _letters(receipt.detail)}
    wrong = [say("{claim} is not in the answer", claim=one.id) for one in receipt.claims if not _is_said(one, texts)]
    for claim in receipt.claims:
        best = min((entry.verdict for entry in claim.evidence), key=_WEIGHT.index, default=claim.verdict)
        if best is not claim.verdict:
            was, verdicts = "{claim} is {verdict}, its evidence {best}", {"verdict": claim.verdict, "best": best}
            wrong.append(
                say(was, claim=claim.id, **{name: say(MARK_MEANINGS[found]) for name, found in verdicts.items()})
            )
    one, many = (
        "{number} sentence with the verdict of its evidence",
        "{number} sentences with the verdict of their evidence",
    )
    return _concluded("answer", wrong, say_many(one, many, len(receipt.claims)), say("does not fit"))


def _is_said(claim: ReceiptClaim, texts: Mapping[str, str]) -> bool:
    return _letters(claim.text) in texts.get(claim.id.partition("-")[0], "")


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalpha())


def _rules(receipt: Receipt) -> list[Check]:
    """Every verbatim verdict and every rule's doubt asked again, of the excerpts."""
    sources = {source.id: source for source in receipt.sources}
    verbatim, other = list[str](), list[str]()
    for claim, entry in _entries(receipt):
        source = sources.get(entry.source_id)
        if source is None or not entry.excerpt.start <= entry.start <= entry.end <= entry.excerpt.end:
            continue  # `quotes` has said it
        asked = ask_rules(claim.text, claim.before, source, entry.excerpt, (entry.start, entry.end))
        if asked.stands_verbatim is not entry.stands_verbatim:
            verbatim.append(say("{claim} in {source}", claim=claim.id, source=entry.source_id))
        if asked.findings != entry.findings:
            other.append(say("{claim} in {source}", claim=claim.id, source=entry.source_id))
    ours, theirs = versions(), receipt.versions
    if ours.rules != theirs.rules:
        return [_otherwise(receipt, [*verbatim, *other])]
    one, many = "{number} quote found again word for word", "{number} quotes found again word for word"
    found = say_many(one, many, sum(entry.stands_verbatim for _, entry in _entries(receipt)))
    pair, pairs = "{number} pair asked again, same findings", "{number} pairs asked again, same findings"
    same = say_many(pair, pairs, len(_entries(receipt)))
    return [
        _concluded("verbatim", verbatim, found, say("the rule says otherwise")),
        _concluded("rules", other, same, say("differ")),
        *_noted(receipt),
    ]


def _noted(receipt: Receipt) -> Iterator[Check]:
    """Verdicts that the rules do not give on the excerpt alone, or with a remark."""
    whole = "{claim}: word for word in the whole text, which is not in here"
    remarked = "{claim}: word for word, and a rule remarks: {remarks}"
    for claim, entry in _entries(receipt):
        if entry.by == "verbatim" and not entry.stands_verbatim:
            yield Check("rules", "told", say(whole, claim=claim.id))
        elif entry.by == "verbatim" and entry.findings:
            remarks = "; ".join(say_again(finding.reason) for finding in entry.findings)
            yield Check("rules", "told", say(remarked, claim=claim.id, remarks=one_line(remarks)))


def _otherwise(receipt: Receipt, differing: Sequence[str]) -> Check:
    ours, theirs = versions(), receipt.versions
    differ = "written by gorkd {before} with rules {old}; these are gorkd {now} with {new}; they differ on {pairs}"
    same = (
        "written by gorkd {before} with rules {old}; these are gorkd {now} with {new}; they say the same of every pair"
    )
    named = {"before": theirs.gorkd, "old": theirs.rules, "now": ours.gorkd, "new": ours.rules}
    return Check("rules", "told", say(differ, pairs=_few(differing), **named) if differing else say(same, **named))


def _judged(receipt: Receipt) -> Check:
    givers = Counter(entry.by for _, entry in _entries(receipt))
    by = ", ".join(receipt.judges) or say("a model whose name is no longer kept")
    if not givers["judge"]:
        return Check("judge", "ok", say("no verdict rests on a judge's word"))
    one = "{number} verdict of a judge ({who}) cannot be asked again offline"
    many = "{number} verdicts of a judge ({who}) cannot be asked again offline"
    return Check("judge", "told", say_many(one, many, givers["judge"], who=one_line(by)))


def _texts(receipt: Receipt) -> Check:
    one = "the whole text of {number} source is in here as a hash alone; --live compares what its page says today"
    many = "the whole texts of {number} sources are in here as hashes alone; --live compares what the pages say today"
    return Check("texts", "told", say_many(one, many, len(receipt.sources)))


def _concluded(name: str, wrong: Sequence[str], good: str, bad: str) -> Check:
    return Check(name, "failed", f"{bad}: {_few(wrong)}") if wrong else Check(name, "ok", good)


def _few(entries: Sequence[str]) -> str:
    known = list(dict.fromkeys(entries))
    more = [say("{number} more", number=len(known) - SHOWN)] if len(known) > SHOWN else []
    return ", ".join([*known[:SHOWN], *more])


# What the pages say today


def cited_sources(receipt: Receipt) -> list[ReceiptSource]:
    """Those with a passage in the receipt that have an address on the web."""
    cited = {entry.source_id for _, entry in _entries(receipt)}
    return [one for one in receipt.sources if one.id in cited and one.url.startswith(("http://", "https://"))]


def compare_live(receipt: Receipt, source: ReceiptSource, page: Page | None, why: str = "") -> Check:
    """`page` is the source as read now, None where it could not be, and then `why`."""
    name = f"live [{source.id.removeprefix('src_')}]"
    if page is None:
        return Check(name, "told", say("{url} could not be read: {why}", url=source.url, why=say_again(why)))
    if text_hash(page.text) == source.sha256:
        return Check(name, "ok", say("{url} reads as it did", url=source.url))
    quotes = dict.fromkeys(entry.quote for _, entry in _entries(receipt) if entry.source_id == source.id)
    gone = [quote for quote in quotes if verify_quote(quote, page.text) is None]
    if not gone:
        one = "{url} has changed; {number} quote of it still stands there"
        many = "{url} has changed; {number} quotes of it still stand there"
        return Check(name, "ok", say_many(one, many, len(quotes), url=source.url))
    quoted = "; ".join(f"“{one_line(quote)}”" for quote in gone[:SHOWN])
    return Check(name, "told", say("{url} says no longer: {quotes}", url=source.url, quotes=quoted))
