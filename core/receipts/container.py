"""The file of a receipt: a zip of a few members, a manifest of their hashes, and a signature over the manifest.

Manifest and signature have one spelling alone, which is made anew and compared, so that no byte of any member can be
changed unseen. Writing the same receipt twice gives the same file. A server gives them from its records, and anybody
checks them without it.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import re
import struct
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from core.evidence.citations import strip_markers
from core.evidence.verbatim import verify_quote
from core.model.answer import Verdict
from core.model.errors import JobNotFound
from core.model.ports import JobStore, SourceStore
from core.model.source import Page
from core.pipeline.tool_traces import TraceStore
from core.presentation import wording
from core.presentation.bibliography import unmarked
from core.presentation.render import WEAKNESS, one_line, printable
from core.presentation.wording import MARK_MEANINGS
from core.receipts.receipt import (
    FORMAT,
    Receipt,
    ReceiptClaim,
    ReceiptEvidence,
    ReceiptSource,
    ask_rules,
    build_receipt,
    text_hash,
    versions,
)
from core.text.saying import say, say_again, say_many, speaking

RECEIPT, PAGE, MANIFEST, SIGNATURE = "receipt.json", "answer.md", "manifest.json", "signature.json"
_MEMBERS = {RECEIPT, PAGE, MANIFEST, SIGNATURE}
MAX_MEMBER_BYTES = 32_000_000  # of one unpacked; the largest answers have a hundredth of it
MAX_FILE_BYTES = 64_000_000
ALGORITHM = "Ed25519"  # RFC 8032
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say
_SHAPE: TypeAdapter[Receipt] = TypeAdapter(Receipt)
_FIELDS: TypeAdapter[dict[str, object]] = TypeAdapter(dict[str, object])


class NoReceipt(ValueError):
    """A file that is no receipt, or one that this gorkd cannot read: in one sentence for people."""


@dataclass(frozen=True)
class OpenedReceipt:
    """`problems` are what was changed since it was written; `signer` is the public key with which it says it is signed,
    "" for none, and `is_genuine` whether the signature is that key's.
    """

    receipt: Receipt
    problems: tuple[str, ...]
    signer: str
    is_genuine: bool
    members: tuple[str, ...]


def write_receipt(receipt: Receipt, key: bytes | None = None) -> bytes:
    """The zip, signed with the private Ed25519 `key` of 32 bytes where there is one."""
    members = {RECEIPT: _json(_SHAPE.dump_python(receipt, mode="json")), PAGE: page_of(receipt).encode()}
    members[MANIFEST] = _manifest(members, public_key(key) if key else "")
    if key is not None:
        members[SIGNATURE] = _signature(members[MANIFEST], key)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def open_receipt(content: bytes) -> OpenedReceipt:
    """Raises `NoReceipt` for what cannot be read as one."""
    members = _unpacked(content)
    missing = sorted({RECEIPT, PAGE, MANIFEST} - members.keys())
    if missing:
        raise _unreadable(say("there is no {name} in it", name=missing[0]))
    problems = [say("{name} does not belong to a receipt", name=name) for name in sorted(members.keys() - _MEMBERS)]
    listed, signer = _listed(members[MANIFEST])
    signed = {name: members[name] for name in (RECEIPT, PAGE)}
    problems += [
        say("{name} was changed", name=name)
        for name, text in signed.items()
        if listed.get(name) != hashlib.sha256(text).hexdigest()
    ]
    receipt = _read(members[RECEIPT])
    is_shown = all(printable(text).encode() in members[PAGE] for text in (receipt.summary, receipt.detail))
    spelled = {MANIFEST: _manifest(signed, signer), RECEIPT: _json(_FIELDS.validate_json(members[RECEIPT]))}
    wrong = [name for name, text in spelled.items() if members[name] != text] + ([] if is_shown else [PAGE])
    if not problems:
        problems += [say("{name} was changed", name=name) for name in wrong]
    if bool(signer) is not (SIGNATURE in members):
        problems.append(say("{name} was taken out" if signer else "{name} was put in", name=SIGNATURE))
    is_genuine = bool(signer) and _is_genuine(members[MANIFEST], members.get(SIGNATURE, b""), signer)
    return OpenedReceipt(receipt, tuple(problems), signer, is_genuine, tuple(members))


def public_key(key: bytes) -> str:
    """Of a private one of 32 bytes, in base64."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return base64.b64encode(Ed25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw()).decode()


def schema() -> dict[str, object]:
    """The JSON Schema of `receipt.json` (docs/receipt.schema.json)."""
    made = _SHAPE.json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": f"gorkd receipt {FORMAT}"}


def page_of(receipt: Receipt) -> str:
    """The answer as Markdown for who opens the zip without us, in the language spoken."""
    understood = receipt.understood and f"> {wording.understood_as(receipt.understood)}"
    head = [f"# {one_line(receipt.question)}", understood, receipt.notice]
    sources = [
        f"{one.id.removeprefix('src_')}. {unmarked(one_line(one.title))}. <{one_line(one.url)}>, "
        f"{say('read {moment}', moment=one.read_at)}"
        for one in receipt.sources
    ]
    foot = "Answered {moment} by gorkd {version}, {job}. Check this file: `gorkd verify FILE` (what is in it: {name})."
    named = {"moment": receipt.answered_at, "version": receipt.versions.gorkd, "job": receipt.job_id, "name": RECEIPT}
    level, reasons = wording.say_level(receipt.confidence), "; ".join(receipt.confidence_reasons)
    parts = [
        *filter(None, head),
        *filter(None, (receipt.summary, receipt.detail)),
        f"**{say(wording.CONFIDENCE)}**: {level}. {reasons}",
        "\n".join([f"## {say(wording.SOURCES)}", "", *sources]),
        say(foot, **named),
    ]
    return printable("\n\n".join(parts)) + "\n"


def _unpacked(content: bytes) -> dict[str, bytes]:
    if len(content) > MAX_FILE_BYTES:
        raise _unreadable(say("it is too large"))
    if not content.startswith(b"PK"):
        raise _unreadable(say("it is no zip file"))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            if len(set(names)) < len(names) or len(names) > len(_MEMBERS) + 4:
                raise _unreadable(say("it has members twice, or too many of them"))
            if not _is_all(content, archive):
                raise _unreadable(say("its zip is broken ({error})", error="bytes beside its members"))
            return {entry.filename: _member(archive, entry) for entry in archive.infolist()}
    except NoReceipt:
        raise
    except Exception as exc:  # zipfile raises what it likes of a broken file: struct.error, zlib.error, EOFError, …
        raise _unreadable(say("its zip is broken ({error})", error=type(exc).__name__)) from exc


def _is_all(content: bytes, archive: zipfile.ZipFile) -> bool:
    """No byte stands beside the members, where other programs read it as one more, or as a remark."""
    place = 0
    for entry in sorted(archive.infolist(), key=lambda one: one.header_offset):
        if entry.header_offset != place:
            return False
        place += 30 + sum(struct.unpack_from("<HH", content, place + 26)) + entry.compress_size
    return place == archive.start_dir and not archive.comment and content[-22:-18] == b"PK\x05\x06"


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """What unpacks to more than it says ends the reading."""
    with archive.open(entry) as member:
        content = member.read(MAX_MEMBER_BYTES + 1)
    if len(content) > MAX_MEMBER_BYTES:
        raise _unreadable(say("{name} is too large", name=entry.filename))
    return content


def _unreadable(why: str) -> NoReceipt:
    return NoReceipt(say("this is no receipt that can be read: {why}", why=why))


def _read(text: bytes) -> Receipt:
    try:
        fields = _FIELDS.validate_json(text)
        if fields.get("format") != FORMAT:
            other = "it is of format {format}, and this gorkd knows format {known}"
            raise _unreadable(say(other, format=repr(fields.get("format")), known=FORMAT))
        return _sensible(_SHAPE.validate_python(fields))
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_context=False, include_input=False)[0]
        raise _unreadable(f"{RECEIPT}: {'.'.join(map(str, fault['loc']))} {fault['type']}") from None


def _sensible(receipt: Receipt) -> Receipt:
    """What nobody writes would break or stall the rules: a date that is none, an order outside of its excerpt."""
    for source in receipt.sources:
        try:
            datetime.fromisoformat(source.published_at or "2000-01-01")
        except ValueError:
            raise _unreadable(say("{source} has no readable date", source=one_line(source.id))) from None
    for excerpt in (entry.excerpt for claim in receipt.claims for entry in claim.evidence):
        if not all(excerpt.start <= first <= last <= excerpt.end for first, last in excerpt.instructs):
            raise _unreadable(say("what speaks to an assistant stands outside of an excerpt"))
    return receipt


def _json(document: object) -> bytes:
    """One spelling: keys in the order of the fields, two blanks, no escapes that are not needed."""
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")


def _manifest(members: Mapping[str, bytes], signer: str) -> bytes:
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(members.items())}
    return _json({"gorkd_receipt": FORMAT, "sha256": hashes, "signed_by": signer})


def _listed(manifest: bytes) -> tuple[Mapping[str, object], str]:
    """The hashes by member, and the key with which it is signed."""
    try:
        fields = _FIELDS.validate_json(manifest)
    except ValidationError:
        return {}, ""
    listed = fields.get("sha256")
    return (listed if isinstance(listed, dict) else {}), str(fields.get("signed_by", ""))


def _signature(manifest: bytes, key: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    signature = Ed25519PrivateKey.from_private_bytes(key).sign(manifest)
    return _json({"algorithm": ALGORITHM, "signature": base64.b64encode(signature).decode()})


def _is_genuine(manifest: bytes, member: bytes, signer: str) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        signature = base64.b64decode(str(_FIELDS.validate_json(member)["signature"]), validate=True)
        key = base64.b64decode(signer, validate=True)
        Ed25519PublicKey.from_public_bytes(key).verify(signature, manifest)
    except (KeyError, ValueError, InvalidSignature):  # what pydantic and base64 raise are ValueErrors
        return False
    # base64 has bits that say nothing, and JSON blanks
    spelled = _json({"algorithm": ALGORITHM, "signature": base64.b64encode(signature).decode()})
    return member == spelled and base64.b64encode(key).decode() == signer


# Who gives receipts: a server with its records and its key


@dataclass(frozen=True)
class Receipts:
    """`issuer` is the server's public address. The first of `keys`, private ones of 32 bytes, signs."""

    jobs: JobStore
    sources: SourceStore
    traces: TraceStore
    issuer: str
    keys: Sequence[bytes] = field(repr=False)

    async def give(self, job_id: str, *, is_signed: bool = True) -> bytes:
        """The zip. Raises `JobNotFound`, also for a job without an answer, and `StoreError`."""
        job, result = await self.jobs.get(job_id), await self.jobs.result(job_id)
        if result is None or result.answer is None:
            raise JobNotFound(job_id)
        sources, trace = await self.sources.sources(job_id), await self.traces.read(result.cached_job or job_id)
        key = self.keys[0] if is_signed else None
        receipt = await asyncio.to_thread(build_receipt, job, result, sources, trace, issuer=self.issuer)
        with speaking(wording.language_of(job)):
            return write_receipt(receipt, key)

    @property
    def published(self) -> str:
        """What stands at `/.well-known/gorkd-key`: one public key a line, behind its algorithm, the newest first."""
        return "".join(f"ed25519 {public_key(key)}\n" for key in self.keys)


def keys_in(text: str) -> tuple[str, ...]:
    """Public keys in base64, from what is published or from one alone."""
    lines = [line.split()[-1] for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return tuple(dict.fromkeys(lines))


# Checking a receipt without the server that gave it: hashes, spans, and every rule asked again.
#
# Pure over values and offline. What cannot be asked again, a judge's word above all, is told as such and is no failure;
# neither is that another version of the rules says something else. What pages say today is compared on request.

State = Literal["ok", "failed", "told"]
SHOWN = 5  # of the same sort of trouble; the rest is counted
SIGNATURE_CHECK = "signature"
VOUCHED_BY_NOBODY = "a key nobody vouched for ({signer}): compare it with {where}, or give --key"


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
        return self.is_intact and any(check.name == SIGNATURE_CHECK and check.state == "ok" for check in self.checks)

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
    issuer = one_line(receipt.issuer).rstrip("/")
    return f"{issuer}/.well-known/gorkd-key" if receipt.issuer else say("its server's key")


def verify_receipt(content: bytes, *, keys: Sequence[str] = ()) -> Verification:
    """`keys` are the public keys, in base64, of which one is expected to have signed; without any, none is."""
    try:
        opened = open_receipt(content)
    except NoReceipt as error:
        return Verification(None, (Check("file", "failed", str(error)),))
    receipt = opened.receipt
    whole = (_file(opened), _check_signature(opened, keys), _spans(receipt), _answer(receipt))
    checks = (*whole, *_rules(receipt), _judged(receipt), _texts(receipt))
    return Verification(receipt, checks, opened.signer if opened.is_genuine else "")


def _file(opened: OpenedReceipt) -> Check:
    if opened.problems:
        return Check("file", "failed", "; ".join(opened.problems))
    one, many = "{number} member, as it was written", "{number} members, as they were written"
    return Check("file", "ok", say_many(one, many, len(opened.members)))


def _check_signature(opened: OpenedReceipt, keys: Sequence[str]) -> Check:
    if not opened.signer:
        unsigned = say("unsigned: integrity only; whoever changed it could have written it anew")
        return Check(SIGNATURE_CHECK, "failed" if keys else "told", unsigned)
    if not opened.is_genuine:
        return Check(SIGNATURE_CHECK, "failed", say("the signature is not genuine"))
    if not keys:
        key = say(VOUCHED_BY_NOBODY, signer=opened.signer, where=key_place(opened.receipt))
        return Check(SIGNATURE_CHECK, "told", say("signed with {key}", key=key))
    if opened.signer not in keys:
        another = say("signed with {key}, which is another key than the given one", key=opened.signer)
        return Check(SIGNATURE_CHECK, "failed", another)
    return Check(SIGNATURE_CHECK, "ok", say("signed with the given key {key}", key=opened.signer))


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
    sections = {"summary": receipt.summary, "detail": receipt.detail}
    texts = {name: (_letters(text), _numbers(text)) for name, text in sections.items()}
    wrong = []
    for claim in receipt.claims:
        letters, numbers = texts.get(claim.id.partition("-")[0], ("", set[str]()))
        if _letters(claim.text) not in letters or not _numbers(claim.text) <= numbers:
            wrong.append(say("{claim} is not in the answer", claim=claim.id))
        best = min((entry.verdict for entry in claim.evidence), key=WEAKNESS.index, default=Verdict.UNCHECKED)
        if best is not claim.verdict:
            was, verdicts = "{claim} is {verdict}, its evidence {best}", {"verdict": claim.verdict, "best": best}
            wrong.append(
                say(was, claim=claim.id, **{name: say(MARK_MEANINGS[found]) for name, found in verdicts.items()})
            )
    one = "{number} sentence with the verdict of its evidence"
    many = "{number} sentences with the verdict of their evidence"
    return _concluded("answer", wrong, say_many(one, many, len(receipt.claims)), say("does not fit"))


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalpha())


def _numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+", strip_markers(text)))


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
