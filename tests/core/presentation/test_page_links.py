"""Signed page links: who has none, an old, another's or a void one does not get in."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.model.job import ResearchJob, Scope
from core.presentation.page_links import LINK_LIFE, PageLinks, PaperPlace, is_private
from tests.golden.samples import COMPLETED, LINKS, NOON

SECOND = timedelta(seconds=1)
PRIVATE = replace(COMPLETED, request=replace(COMPLETED.request, scope=Scope("slack:T1", "channel:C1")))


def sig_of(job: ResearchJob, links: PageLinks = LINKS) -> str:
    return links.link(job).partition("?sig=")[2]


@pytest.mark.parametrize(
    ("visibility", "asked", "expected"),
    [
        pytest.param("workspace", {}, False, id="open to all"),
        pytest.param("workspace", {"is_private": True}, True, id="asked privately"),
        pytest.param("workspace", {"attachments": ("plan.pdf",)}, True, id="with a file"),
        pytest.param("channel:C1", {}, True, id="channel"),
        pytest.param("user:U1", {}, True, id="direct message"),
    ],
)
def test_only_what_everybody_may_see_needs_no_signature(visibility: str, asked: dict[str, object], expected: bool):
    job = replace(COMPLETED, request=replace(COMPLETED.request, scope=Scope("slack:T1", visibility), **asked))

    link = LINKS.link(job)

    assert is_private(job) is expected
    assert ("?sig=" in link) is expected
    assert link.startswith(f"https://gorkd.test/jobs/{job.id}")
    assert LINKS.allows(job, "", NOON) is not expected
    assert LINKS.allows(job, sig_of(job), NOON)


OTHERS = [
    pytest.param(replace(PRIVATE, id="job_other"), id="another job"),
    pytest.param(replace(PRIVATE, request=replace(PRIVATE.request, scope=Scope("slack:T2", "channel:C1"))), id="team"),
    pytest.param(replace(PRIVATE, request=replace(PRIVATE.request, scope=Scope("slack:T1", "user:C1"))), id="place"),
]


@pytest.mark.parametrize("other", OTHERS)
def test_a_signature_opens_one_job_in_one_scope(other: ResearchJob):
    """HMAC over job and scope: what was signed for one opens no other."""
    assert not LINKS.allows(PRIVATE, sig_of(other), NOON)


def test_a_signature_ends_with_its_time_and_no_longer_one_can_be_claimed():
    """The expiry is signed too."""
    sig = sig_of(PRIVATE)
    expiry, _, mac = sig.partition("-")

    assert LINKS.allows(PRIVATE, sig, NOON + LINK_LIFE - SECOND)
    assert not LINKS.allows(PRIVATE, sig, NOON + LINK_LIFE)
    assert not LINKS.allows(PRIVATE, f"{int(expiry) + 1}-{mac}", NOON)


def test_revocation_voids_earlier_links_and_no_later_ones():
    """Also those that were signed within the same second."""
    later = replace(LINKS, clock=lambda: NOON + SECOND)

    assert not LINKS.allows(PRIVATE, sig_of(PRIVATE), NOON, revoked_at=NOON)
    assert LINKS.allows(PRIVATE, sig_of(PRIVATE, later), NOON + SECOND, revoked_at=NOON)
    assert LINKS.allows(COMPLETED, "", NOON, revoked_at=NOON)


def test_an_older_key_still_verifies_and_a_lost_one_does_not():
    """Secrets are rotated: the newest signs, the ones behind it are believed."""
    rotated = replace(LINKS, keys=(b"new", *LINKS.keys))

    assert rotated.allows(PRIVATE, sig_of(PRIVATE), NOON)
    assert not LINKS.allows(PRIVATE, sig_of(PRIVATE, rotated), NOON)


@given(st.text(max_size=80) | st.from_regex(r"[0-9]{1,12}-[A-Za-z0-9_-]{43}", fullmatch=True))
def test_whatever_else_is_presented_opens_nothing(sig: str):
    """Any text at all is refused without an error."""
    assert not LINKS.allows(PRIVATE, sig, NOON)


def test_no_key_is_shown():
    """A dataclass tells its fields to whoever prints it."""
    assert "key" not in repr(LINKS)


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=40))
def test_a_paper_is_read_from_its_token_again(tenant: str, visibility: str, paper_id: str):
    """Whatever it is called; and its signature ends with its time."""
    place = PaperPlace(Scope(tenant, visibility), paper_id)
    sig = LINKS.paper(place).partition("?sig=")[2]

    assert PaperPlace.read(place.token) == place
    assert LINKS.allows_paper(place, sig, NOON)
    assert not LINKS.allows_paper(place, sig, NOON + LINK_LIFE)
    assert not LINKS.allows_paper(replace(place, paper_id=f"{paper_id}v2"), sig, NOON)


@given(st.text())
@example(base64.urlsafe_b64encode(b"[" * 5000).decode())
def test_any_token_is_read_or_is_none(token: str):
    """What is read has a token of its own, from which it is read again."""
    place = PaperPlace.read(token)

    assert place is None or PaperPlace.read(place.token) == place


def test_a_link_makes_none_that_outlives_it_or_its_revocation():
    """What the page of a private answer links to beside it; a link that opens nothing makes none."""
    other, old = replace(PRIVATE, id="job_other"), sig_of(PRIVATE)
    later = replace(LINKS, clock=lambda: NOON + LINK_LIFE - SECOND)

    made = later.beside(PRIVATE, other, old).partition("?sig=")[2]

    assert later.allows(other, made, NOON + LINK_LIFE - SECOND)
    assert not later.allows(other, made, NOON + LINK_LIFE)
    assert not later.allows(other, made, NOON + SECOND, revoked_at=NOON + SECOND)
    assert (
        later.beside(PRIVATE, other, f"9{old}") == later.beside(COMPLETED, other, "99999999999-x") == "/jobs/job_other"
    )
    assert later.beside(PRIVATE, COMPLETED, old) == f"/jobs/{COMPLETED.id}"
