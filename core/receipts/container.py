"""The file of a receipt: a zip of a few members, a manifest of their hashes, and a signature over the manifest.

Manifest and signature have one spelling alone, which is made anew and compared, so that no byte of any member can be
changed unseen. Writing the same receipt twice gives the same file. A server gives them from its records.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import TypeAdapter, ValidationError

from core.model.errors import JobNotFound
from core.model.ports import JobStore, SourceStore
from core.pipeline.trace import TraceStore
from core.presentation import wording
from core.presentation.render import one_line, printable
from core.receipts.receipt import FORMAT, Receipt, build_receipt
from core.text.saying import say, speaking

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
    if not problems and members[MANIFEST] != _manifest(signed, signer):
        problems.append(say("{name} was changed", name=MANIFEST))
    if bool(signer) is not (SIGNATURE in members):
        problems.append(say("{name} was taken out" if signer else "{name} was put in", name=SIGNATURE))
    is_genuine = bool(signer) and _is_genuine(members[MANIFEST], members.get(SIGNATURE, b""), signer)
    return OpenedReceipt(_read(members[RECEIPT]), tuple(problems), signer, is_genuine, tuple(members))


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
    head = [f"# {receipt.question}", understood, receipt.notice]
    sources = [
        f"{one.id.removeprefix('src_')}. {one.title}. <{one.url}>, {say('read {moment}', moment=one.read_at)}"
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
            return {entry.filename: _member(archive, entry) for entry in archive.infolist()}
    except NoReceipt:
        raise
    except Exception as exc:  # zipfile raises what it likes of a broken file: struct.error, zlib.error, EOFError, …
        raise _unreadable(say("its zip is broken ({error})", error=type(exc).__name__)) from exc


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
        sources, trace = await self.sources.sources(job_id), await self.traces.read(job_id)
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
