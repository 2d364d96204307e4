"""Wikipedia: whole articles, found by the words of a question."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from adapters.search.service import Surroundings
from adapters.search.wikipedia import MAX_ARTICLES, WikipediaSearch
from core.evidence.authority import same_voice
from core.model.errors import ProviderError, ProviderRateLimited
from core.model.job import LOCAL
from core.model.source import SearchFilters, SearchHit, SearchQuery, SourceKind
from core.stages.gathering import Gathering, make_source
from tests.adapters.search.making import ask_failing, provider
from tests.fakes import make_deps, make_job
from tests.loopback.search_corpus import Document
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import SearchWorld

AGENT = "gorkd/test (tests)"
NO_FILTERS = SearchFilters()
TIDE = Document(
    "https://en.wikipedia.org/wiki/Tide",
    "Tide",
    "Tides are the rise and fall of sea levels.\n\n\n== Causes ==\nThe moon raises the tides.\n\n"
    "=== Spring ===\nTwice.",
    published_at=datetime(2025, 2, 3, 4, 5, 6, tzinfo=UTC),
)


async def ask(
    world: SearchWorld, question: str, *, limit: int = 5, filters: SearchFilters = NO_FILTERS
) -> list[SearchHit]:
    wikipedia = WikipediaSearch(world.base_url("wikipedia"), Surroundings(agent=AGENT))
    try:
        return list(await wikipedia.search(SearchQuery(question, filters), limit=limit, scope=LOCAL))
    finally:
        await wikipedia.aclose()


async def test_an_article_is_read_whole() -> None:
    """No page needs to be fetched afterwards; headings become Markdown, the last revision is its date."""
    async with SearchWorld([TIDE]) as world:
        hits = await ask(world, "What raises the tides?")

    assert hits == [
        SearchHit(
            provider="wikipedia",
            url=TIDE.url,
            title="Tide",
            text=(
                "Tides are the rise and fall of sea levels.\n\n\n## Causes\nThe moon raises the tides.\n\n"
                "### Spring\nTwice."
            ),
            is_complete=True,
            published_at=TIDE.published_at,
            kind=SourceKind.REFERENCE,
        )
    ]


async def test_question_words_are_not_searched_for() -> None:
    """The search engine wants every word to match, and no article says `how does`."""
    async with SearchWorld([TIDE]) as world:
        hits = await ask(world, "How does the moon's pull make tides?")

        asked = world.asked[0].parameters["gsrsearch"]
    assert asked == "moon pull tides"
    assert hits == [] or hits[0].url == TIDE.url


async def test_when_no_article_has_all_words_those_with_some_are_found() -> None:
    """A long question must not come back empty because of one word."""
    async with SearchWorld([TIDE]) as world:
        hits = await ask(world, "moon tides harbour insurance")

        searches = [asked.parameters["gsrsearch"] for asked in world.asked if "gsrsearch" in asked.parameters]
    assert [hit.url for hit in hits] == [TIDE.url]
    assert searches == ["moon tides harbour insurance", "moon OR tides OR harbour OR insurance"]


async def test_search_syntax_in_a_question_has_no_effect() -> None:
    """Operators such as insource:// would be costly or refused."""
    async with SearchWorld([TIDE]) as world:
        await ask(world, 'insource:/(a+)+/ "tides" -moon intitle:x~ OR * | {{')

        asked = world.asked[0].parameters["gsrsearch"]
    assert not set(asked) & set('/()+"-:~*|{}')


async def test_ranks_are_the_services_and_disambiguation_pages_are_left_out() -> None:
    """The API lists pages by id; `index` is the ranking. A list of meanings answers nothing."""
    best = Document("https://en.wikipedia.org/wiki/B", "Zebra tides moon", "tides moon sea")
    second = Document("https://en.wikipedia.org/wiki/A", "Alpha", "tides moon")
    meanings = Document("https://en.wikipedia.org/wiki/C", "Tides (disambiguation)", "tides moon sea may refer to")
    async with SearchWorld([second, meanings, best]) as world:
        hits = await ask(world, "tides OR moon OR sea OR x")

    assert [(hit.rank, hit.url) for hit in hits] == [(0, best.url), (1, second.url)]


async def test_one_unreadable_article_costs_only_itself_and_all_are_a_failure() -> None:
    """Each is a request of its own; an empty list would say that nothing was found."""
    moon = Document("https://en.wikipedia.org/wiki/Moon", "Moon", "The moon and tides.")
    async with SearchWorld([TIDE, moon]) as both, SearchWorld([TIDE]) as alone:
        both.refuse_pages = alone.refuse_pages = {"1000"}

        hits = await ask(both, "moon tides")
        with pytest.raises(ProviderError):
            await ask(alone, "moon tides")

    assert [hit.title for hit in hits] == ["Moon"]


async def test_no_more_articles_are_read_than_wanted() -> None:
    """Each costs a request, so the number is bounded whatever is asked for."""
    documents = [Document(f"https://en.wikipedia.org/wiki/T{i}", f"Tide {i}", "tides") for i in range(20)]
    async with SearchWorld(documents) as world:
        many = await ask(world, "tides", limit=20)
        one = await ask(world, "tides", limit=1)

        requests = len(world.asked)
    assert (len(many), len(one)) == (MAX_ARTICLES, 1)
    assert requests == 1 + MAX_ARTICLES + 1 + 1


@pytest.mark.parametrize(
    ("question", "domains"),
    [("tides", ("python.org",)), ("", ()), ("???", ()), ("\x00\x07", ()), ("   ", ())],
    ids=["other domains", "empty", "marks", "control", "blank"],
)
async def test_what_wikipedia_could_not_give_is_not_asked_for(question: str, domains: tuple[str, ...]) -> None:
    """Nothing to look up, or only on other sites (`include_domains`), is an empty answer and no request."""
    async with SearchWorld([TIDE], faults={"wikipedia": Fault(status=500)}) as world:
        hits = await ask(world, question, filters=SearchFilters(include_domains=domains))

        assert (hits, world.asked) == ([], [])


TOWER_DE = Document("https://de.wikipedia.org/wiki/Turm", "Der Turm", "Der Turm in Paris ist 330 Meter hoch.", id="7")
TOWER_EN = Document("https://en.wikipedia.org/wiki/Tower", "The Tower", "The tower is 330 metres high.", id="7")
BREAD_EN = Document("https://en.wikipedia.org/wiki/Bread", "Bread", "Bread is baked, says Turm.", id="8")


async def find_in(question: SearchQuery, *documents: Document, world: SearchWorld | None = None) -> list[SearchHit]:
    async with world or SearchWorld(documents) as opened:
        template = opened.base_url("wikipedia").replace("/w/api.php", "/{language}/w/api.php")
        async with provider("wikipedia", {"WIKIPEDIA_BASE_URL": template}) as searched:
            return list(await searched.search(question, limit=10, scope=LOCAL))


@pytest.mark.parametrize(
    ("question", "titles"),
    [
        pytest.param(SearchQuery("Wie hoch ist der Turm?"), ["Der Turm", "The Tower"], id="the question tells"),
        pytest.param(SearchQuery("Turm", SearchFilters(language="de")), ["Der Turm", "The Tower"], id="the plan tells"),
        pytest.param(SearchQuery("How high is the tower?"), ["The Tower"], id="English"),
        pytest.param(SearchQuery("Was ist tower?"), ["The Tower"], id="nothing in the language"),
    ],
)
async def test_the_wikipedia_of_the_questions_language_with_english_beside_it(
    question: SearchQuery, titles: list[str]
) -> None:
    """D21: the article in the language first, then its English counterpart."""
    hits = await find_in(question, TOWER_DE, TOWER_EN, BREAD_EN)

    assert [hit.title for hit in hits] == titles


async def test_a_wiki_that_fails_leaves_the_english_one() -> None:
    """S003-23: one that cannot be reached costs its own articles."""
    world = SearchWorld([TOWER_DE, TOWER_EN, BREAD_EN])
    world.answers["/wikipedia/de/w/api.php"] = Fault(status=500)

    hits = await find_in(SearchQuery("Was ist tower?"), world=world)

    assert [hit.title for hit in hits] == ["The Tower"]


async def test_two_languages_of_one_encyclopedia_are_one_voice() -> None:
    """D24: they have one owner and one kind, so they do not confirm each other."""
    hits = await find_in(SearchQuery("Wie hoch ist der Turm?"), TOWER_DE, TOWER_EN)
    gathering = Gathering(make_job("Wie hoch ist der Turm?"), make_deps())

    german, english = (make_source(gathering, hit, hit.text) for hit in hits)

    assert {german.metadata.kind, english.metadata.kind} == {SourceKind.REFERENCE}
    assert same_voice(german, english)


async def test_what_wikipedia_refuses_in_other_words_is_told_apart() -> None:
    """S003-23: errors come with status 200."""
    body = b'{"error": {"code": "ratelimited", "info": "You\'ve exceeded your rate limit."}}'

    with pytest.raises(ProviderRateLimited):
        await ask_failing("wikipedia", Fault(body=body))
