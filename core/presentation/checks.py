"""Claims of a message that were checked: what the sources say for and against each, and how a result carries it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.model.answer import Evidence, JobResult, Verdict
from core.model.job import Json, rows


class Stand(StrEnum):
    """What the sources that were read say of a claim, taken together."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    DIFFERS = "differs"
    MIXED = "mixed"
    UNCONFIRMED = "unconfirmed"
    NO_EVIDENCE = "no evidence"


@dataclass(frozen=True)
class CheckedClaim:
    """`claim` is a sentence of the message. Evidence `PARTIAL` says a part of it; against it stand whole sentences.

    Where only rules compared it is `UNCHECKED`: what is for it says nearly the same, what is against it differs.
    """

    claim: str
    supporting: tuple[Evidence, ...] = ()
    contradicting: tuple[Evidence, ...] = ()

    def without(self, gone: Collection[str]) -> CheckedClaim:
        """With no evidence of these sources, by their ids."""
        supporting = tuple(entry for entry in self.supporting if entry.source_id not in gone)
        contradicting = tuple(entry for entry in self.contradicting if entry.source_id not in gone)
        return CheckedClaim(self.claim, supporting, contradicting)

    @property
    def stand(self) -> Stand:
        """Mixed also when nothing says more than a part of the claim."""
        is_whole = any(evidence.verdict is Verdict.SUPPORTED for evidence in self.supporting)
        if self.contradicting and is_whole:
            return Stand.MIXED
        if self.contradicting:
            is_judged = any(evidence.verdict is Verdict.SUPPORTED for evidence in self.contradicting)
            return Stand.CONTRADICTED if is_judged else Stand.DIFFERS
        if not self.supporting:
            return Stand.NO_EVIDENCE
        if is_whole:
            return Stand.SUPPORTED
        is_judged = any(evidence.verdict is not Verdict.UNCHECKED for evidence in self.supporting)
        return Stand.MIXED if is_judged else Stand.UNCONFIRMED


def checks_json(checks: Sequence[CheckedClaim]) -> dict[str, Json]:
    """The view of a result (`JobResult.details`) that `read_checks` reads."""
    return {
        "checks": [
            {
                "claim": check.claim,
                "verdict": check.stand.value,
                "supporting": [_evidence_json(evidence) for evidence in check.supporting],
                "contradicting": [_evidence_json(evidence) for evidence in check.contradicting],
            }
            for check in checks
        ]
    }


def read_checks(result: JobResult) -> list[CheckedClaim]:
    """The checked claims that a result carries, in the message's order; none when it is no check."""
    return [
        CheckedClaim(str(row.get("claim", "")), _read_evidence(row, "supporting"), _read_evidence(row, "contradicting"))
        for row in rows(result.details.get("checks"))
    ]


def _evidence_json(evidence: Evidence) -> Json:
    return {
        "source_id": evidence.source_id,
        "quote": evidence.quote,
        "start": evidence.start,
        "end": evidence.end,
        "page": evidence.page,
        "verdict": evidence.verdict.value,
    }


def _read_evidence(row: Mapping[str, Json], key: str) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            str(entry["source_id"]),
            str(entry["quote"]),
            int(str(entry["start"])),
            int(str(entry["end"])),
            Verdict(str(entry["verdict"])),
            page=int(str(entry["page"])) if entry.get("page") is not None else None,
        )
        for entry in rows(row.get(key))
    )
