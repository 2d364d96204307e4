"""Settings as text, what may be set, and what it means for sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.source import SearchFilters, SourceKind
from core.tenancy.settings import (
    FIELDS,
    GROUPS,
    Ceilings,
    SettingsRefused,
    SourcePolicy,
    TenantSettings,
    read_setting,
    read_settings,
    refusals,
    unset_words,
    write_setting,
)

PROVIDERS = ("tavily", "exa", "wikipedia", "pubmed", "arxiv", "files", "web_search")


def some(values: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(values, unique=True, max_size=5).map(tuple)


def maybe(most: int) -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(1, most)


LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True).filter(lambda text: text[2:4] != "--")
DOMAINS = st.lists(LABELS, min_size=2, max_size=4).map(".".join).filter(lambda text: not text.startswith("www."))
WORDS = st.lists(
    st.sampled_from(PROVIDERS) | DOMAINS | DOMAINS.map("-{}".format) | st.just("primary"), min_size=1, unique=True
)


def keyed(lines: dict[str, list[str]]) -> tuple[str, ...]:
    return tuple(f"{name}: {' '.join(words)}" for name, words in lines.items())


SETTINGS = st.builds(
    TenantSettings,
    channels=some(st.from_regex(r"C[A-Z0-9]{8,10}|[0-9]{17,20}", fullmatch=True)),
    visibility=st.sampled_from(["workspace", "channel", "private"]),
    threads=st.sampled_from(["auto", "always", "never"]),
    retention_days=maybe(36_500),
    user_per_min=maybe(10_000),
    workspace_per_min=maybe(10_000),
    monthly_usd=st.none() | st.integers(1, 10_000_000).map(lambda cents: cents / 100),
    providers=some(st.sampled_from(PROVIDERS)),
    primary_only=st.booleans(),
    allow_domains=some(DOMAINS),
    block_domains=some(DOMAINS),
    lenses=st.dictionaries(st.from_regex(r"[a-z]{2,8}", fullmatch=True), WORDS, max_size=4).map(keyed),
    channel_lenses=st.dictionaries(
        st.from_regex(r"C[A-Z0-9]{8,10}|[0-9]{17,20}|everywhere", fullmatch=True), st.sampled_from(["law", "medicine"])
    ).map(lambda chosen: keyed({channel: [lens] for channel, lens in chosen.items()})),
    corpus=some(DOMAINS.map(lambda domain: f"https://{domain}/sitemap.xml")),
)


ALL_SET = TenantSettings(
    channels=("C0123ABCD",), visibility="private", threads="never", retention_days=7, user_per_min=3,
    workspace_per_min=4, monthly_usd=5.5, providers=("exa",), primary_only=True, allow_domains=("a.example",),
    block_domains=("b.example",), lenses=("law: primary",), channel_lenses=("C0123ABCD: law",),
    corpus=("https://a.example/sitemap.xml",),
)  # fmt: skip


@given(SETTINGS, st.sampled_from([TenantSettings(), ALL_SET]))
def test_what_is_written_is_read_back(settings, others):
    """Round trip, whether nothing or everything was set before; every setting is in the table."""
    written = {key: write_setting(key, settings) for key in FIELDS}

    assert read_settings(written, others) == settings
    assert set(written) == set(TenantSettings.__dataclass_fields__)
    assert {FIELDS[key].group for key in FIELDS} == set(GROUPS)


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        pytest.param("channels", "<#C0123ABCD|general>, C0456EFGH", ("C0123ABCD", "C0456EFGH"), id="mentions"),
        pytest.param("allow_domains", "https://www.WHO.int/a\n*.un.org;who.int", ("who.int", "un.org"), id="addresses"),
        pytest.param("block_domains", "bücher.example", ("xn--bcher-kva.example",), id="another script"),
        pytest.param("allow_domains", "edu", ("edu",), id="institutions' suffix"),
        pytest.param("monthly_usd", "$12.5", 12.5, id="dollars"),
        pytest.param("monthly_usd", "", None, id="empty is no limit"),
        pytest.param("retention_days", "none", None, id="none"),
        pytest.param("providers", "PubMed arxiv", ("pubmed", "arxiv"), id="providers"),
        pytest.param("primary_only", "YES", True, id="yes"),
        pytest.param(
            "lenses", "Law: https://www.eur-lex.europa.eu/x, PRIMARY\nnews:-x.com Tavily",
            ("law: eur-lex.europa.eu primary", "news: -x.com tavily"), id="lenses",
        ),
        pytest.param(
            "channel_lenses", "<#C0123ABCD|health>: Medicine; everywhere: law",
            ("C0123ABCD: medicine", "everywhere: law"), id="lenses of channels",
        ),
        pytest.param(
            "corpus", "https://x.org/a,b, http://y.org", ("https://x.org/a,b", "http://y.org"), id="addresses of pages"
        ),
    ],
)  # fmt: skip
def test_what_people_write_is_understood(key, text, expected):
    assert getattr(read_setting(key, text, TenantSettings()), key) == expected


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        pytest.param("channels", "#general", "#general is not a channel's id", id="channel's name"),
        pytest.param("allow_domains", "nature", "nature is not a domain", id="no domain"),
        pytest.param("allow_domains", "a..b", "a..b is not a domain", id="empty label"),
        pytest.param("allow_domains", " ".join(f"d{n}.com" for n in range(51)), "at most 50", id="too many"),
        pytest.param("user_per_min", "0", "from 1 to 10000", id="nothing a minute"),
        pytest.param("user_per_min", "٣", "whole number", id="other digits"),
        pytest.param("monthly_usd", "0", "in dollars", id="no money"),
        pytest.param("monthly_usd", "1e3", "in dollars", id="exponent"),
        pytest.param("visibility", "everyone", "one of workspace, channel, private", id="choice"),
        pytest.param("primary_only", "maybe", "one of yes, no", id="maybe"),
        pytest.param("lenses", "law: -", "- is not a domain", id="nothing to exclude"),
        pytest.param("channel_lenses", ",: law", "alone; write a name", id="no channel"),
        pytest.param("colour", "red", "There is no setting colour", id="unknown"),
    ],
)
def test_what_cannot_be_is_said_by_its_key(key, text, says):
    """The settings stay as they are, and the sentence says what to write instead."""
    with pytest.raises(SettingsRefused) as refused:
        read_setting(key, text, TenantSettings())

    assert set(refused.value.refusals) == {key}
    assert says in refused.value.refusals[key]
    assert says in refused.value.user_message


def test_every_field_that_cannot_be_is_told_at_once():
    with pytest.raises(SettingsRefused) as refused:
        read_settings({"user_per_min": "x", "channels": "C0123ABCD", "monthly_usd": "much"}, TenantSettings())

    assert set(refused.value.refusals) == {"user_per_min", "monthly_usd"}


def test_an_empty_field_says_what_holds_then():
    """The operator's number, where there is one."""
    words = [unset_words(FIELDS["user_per_min"], ceilings) for ceilings in (Ceilings(), Ceilings(user_per_min=5))]

    assert words == ["As usual", "As usual: 5"]
    assert unset_words(FIELDS["providers"], Ceilings(("pubmed",))) == "All"


def test_nobody_goes_beyond_what_the_operator_allows():
    ceilings = Ceilings(("pubmed",), user_per_min=5, workspace_per_min=20, monthly_usd=50, retention_days=90)
    greedy = TenantSettings(
        user_per_min=6, workspace_per_min=20, monthly_usd=50.01, retention_days=91, providers=("pubmed", "exa"),
        allow_domains=("who.int",), block_domains=("who.int",),
    )  # fmt: skip

    found = refusals(greedy, ceilings)

    assert set(found) == {"user_per_min", "monthly_usd", "retention_days", "providers", "block_domains"}
    assert found["user_per_min"] == "At most 5 here; whoever runs gorkd can allow more."
    assert refusals(TenantSettings(workspace_per_min=20, monthly_usd=50, providers=("pubmed",)), ceilings) == {}
    assert set(refusals(TenantSettings(monthly_usd=1), Ceilings(is_priced=False))) == {"monthly_usd"}


@pytest.mark.parametrize(
    ("policy", "url", "is_permitted"),
    [
        pytest.param(SourcePolicy(allow=("who.int",)), "https://www.who.int/a", True, id="allowed"),
        pytest.param(SourcePolicy(allow=("who.int",)), "https://who.int.evil.example/", False, id="look-alike"),
        pytest.param(SourcePolicy(allow=("who.int",)), "https://notwho.int/", False, id="same ending"),
        pytest.param(SourcePolicy(block=("example.com",)), "https://a.EXAMPLE.com./x", False, id="below a blocked one"),
        pytest.param(SourcePolicy(block=("example.com",)), "http://example%2ecom/x", False, id="escaped"),
        pytest.param(SourcePolicy(block=("xn--bcher-kva.org",)), "https://bücher.org/", False, id="other script"),
        pytest.param(SourcePolicy(allow=("b.com",), block=("a.b.com",)), "https://a.b.com/", False, id="block first"),
        pytest.param(SourcePolicy(allow=("who.int",)), "file:///papers/a.md", True, id="a file has no site"),
        pytest.param(SourcePolicy(allow=("who.int",)), "attachment:a.pdf", True, id="nor has an attachment"),
    ],
)  # fmt: skip
def test_a_site_is_its_domain_and_all_below(policy, url, is_permitted):
    assert policy.permits(url, SourceKind.OFFICIAL) is is_permitted
    assert policy.permits_site(url) is is_permitted


@pytest.mark.parametrize("kind", list(SourceKind), ids=str)
def test_primary_sources_are_officials_standards_and_journals(kind):
    """Of web pages; the team's own files are not judged by it."""
    policy = SourcePolicy(primary_only=True)

    is_primary = kind in (SourceKind.OFFICIAL, SourceKind.STANDARDS, SourceKind.PEER_REVIEWED)

    assert policy.permits("https://example.com/", kind) is is_primary
    assert policy.permits("file:///a.md", kind)


# Of few providers and sites, so that two policies are now and then the same in another order.
SITES = some(st.sampled_from(["a.example", "a.b-c.example", "xn--bcher-kva.example"]))
POLICIES = st.builds(SourcePolicy, some(st.sampled_from(PROVIDERS[:2])), SITES, SITES, st.booleans())


@given(POLICIES, POLICIES)
def test_policies_that_permit_otherwise_have_other_keys(one, other):
    """So that an answer made under one is never given under the other; the order of entries does not matter."""
    first, second = (
        (set(policy.providers), set(policy.allow), set(policy.block), policy.primary_only) for policy in (one, other)
    )

    assert (one.key == other.key) is (first == second)
    assert SourcePolicy().key == ""


def test_an_engine_is_told_which_sites_count():
    narrowed = SourcePolicy(allow=("who.int",), block=("x.com",)).narrow(SearchFilters("week", ("nih.gov",)))

    assert narrowed == SearchFilters("week", ("nih.gov", "who.int"), ("x.com",))


@pytest.mark.parametrize(
    ("channel", "expected"),
    [
        pytest.param("C0123ABCD", SourcePolicy(("pubmed",), ("nih.gov",), ("x.com", "y.com"), True), id="its own lens"),
        pytest.param(
            "C0999ZZZZ", SourcePolicy(("tavily",), ("who.int",), ("x.com",), True), id="the one for all others"
        ),
        pytest.param("", SourcePolicy(("tavily",), ("who.int",), ("x.com",), True), id="no channel"),
    ],
)
def test_a_channel_sees_through_its_lens(channel, expected):
    """What a lens names takes the place of the workspace's; what is excluded stays so."""
    settings = TenantSettings(
        providers=("tavily",), allow_domains=("who.int",), block_domains=("x.com",),
        lenses=("health: pubmed nih.gov -y.com primary", "strict: primary"),
        channel_lenses=("C0123ABCD: health", "everywhere: strict"),
    )  # fmt: skip

    assert settings.policy_in(channel) == expected


def test_medicine_is_a_lens_from_the_start():
    """PubMed, Europe PMC and guidelines; nothing holds before an admin chooses it."""
    chosen = TenantSettings(channel_lenses=("C0123ABCD: medicine",))

    policy = chosen.policy_in("C0123ABCD")

    assert policy.permits_provider("pubmed")
    assert policy.permits_provider("europepmc")
    assert not policy.permits_provider("wikipedia")
    assert policy.permits_site("https://pubmed.ncbi.nlm.nih.gov/1")
    assert policy.permits_site("https://www.nice.org.uk/g")
    assert not policy.permits_site("https://example.com/")
    assert chosen.policy_in("C0999ZZZZ") == SourcePolicy()


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        pytest.param(TenantSettings(channel_lenses=("C0123ABCD: nosuch",)), "channel_lenses", id="no such lens"),
        pytest.param(TenantSettings(lenses=("law: pubmde",)), "lenses", id="neither provider nor site"),
        pytest.param(TenantSettings(corpus=("https://x.org",)), "corpus", id="no search of files"),
    ],
)
def test_what_names_nothing_is_refused(settings, key):
    assert key in refusals(settings, Ceilings(providers=("pubmed",)))
    assert refusals(TenantSettings(), Ceilings(providers=("pubmed",))) == {}
