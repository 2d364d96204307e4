"""Whose a job is: the text that is kept, and its parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.job import LOCAL, Scope, Tenant, personal

WORDS = st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1)


@pytest.mark.parametrize(
    ("scope", "parts"),
    [
        pytest.param(LOCAL, ("local", "", False), id="this machine"),
        pytest.param(Scope("discord:7", "workspace"), ("discord", "7", False), id="a server"),
        pytest.param(
            Scope("discord:user:8", "channel:2"), ("discord", "8", False), id="a person who installed the bot"
        ),
        pytest.param(Scope("slack:T1", personal("U1")), ("slack", "T1", True), id="a direct message"),
    ],
)
def test_a_scope_tells_its_platform_and_account(scope: Scope, parts: tuple[str, str, bool]):
    """Nobody else reads the text of a tenant or a visibility."""
    assert (scope.platform, scope.account, scope.is_one_persons) == parts


@given(platform=WORDS, account=WORDS, is_person=st.booleans())
def test_a_tenant_is_read_as_it_was_written(platform: str, account: str, is_person: bool):
    """On every platform that may come."""
    tenant = Tenant(platform, account, is_person)

    assert Tenant.read(str(tenant)) == tenant
