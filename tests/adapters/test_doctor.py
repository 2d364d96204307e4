"""Each probe tells a part that works from one that does not, through the real SDK, and says what to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import discord.http
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from adapters import doctor
from adapters.chat.slack.settings import SCOPES
from adapters.llm.embeddings import build_embeddings
from adapters.llm.openai import build_chat
from adapters.search import surroundings
from adapters.search.registries import build_registries
from core.llm.prices import LIST_PRICES
from core.model.config import SearchSettings
from core.model.errors import ModelRejected, ProviderRejected, SetupError
from core.pipeline.checkup import Finding, Probe, examine
from core.tenancy.admission import Budget
from tests.fakes import FakeModel, FakeSearch, hit
from tests.loopback.openai_world import Fault as ModelFault
from tests.loopback.openai_world import OpenAIWorld, openai_world
from tests.loopback.registries import Paper
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import SearchWorld
from tests.loopback.slack_state import APP_TOKEN, BOT_TOKEN
from tests.loopback.slack_world import SlackWorld
from tests.servers import RedisServer, free_port, needs_ipv6

KEY = "sk-planted-0123456789"


async def found(probe: Probe) -> Finding:
    (finding,) = await examine([probe])
    assert KEY not in finding.says
    return finding


def model_env(world: OpenAIWorld, **more: str) -> dict[str, str]:
    return {"OPENAI_BASE_URL": world.url, "OPENAI_API_KEY": KEY, "GORKD_MODEL": "loop-1", **more}


async def test_a_folder_that_is_ours_alone_is_right(tmp_path: Path) -> None:
    """It is made when it is missing, as every other command would."""
    finding = await found(doctor.folder_probe(tmp_path / "new" / "data"))

    assert finding.state == "ok"
    assert (tmp_path / "new" / "data").stat().st_mode & 0o777 == 0o700


@pytest.fixture
def shared_folder(tmp_path: Path) -> Path:
    """A data folder that other users may enter, with a file that they may read."""
    (tmp_path / "gorkd.db").touch()
    (tmp_path / "gorkd.db").chmod(0o644)
    tmp_path.chmod(0o755)
    return tmp_path


async def test_a_folder_that_others_can_read_is_told_with_the_remedy(shared_folder: Path) -> None:
    """What people asked in private lies there."""
    finding = await found(doctor.folder_probe(shared_folder))

    assert finding.state == "warning"
    assert f"chmod -R go= {shared_folder}" in finding.says


async def test_a_folder_that_cannot_be_used_names_its_variable(tmp_path: Path) -> None:
    """Also for whoever may write everywhere."""
    (tmp_path / "file").write_text("x")

    finding = await found(doctor.folder_probe(tmp_path / "file" / "data"))

    assert finding.state == "failed"
    assert "GORKD_DATA" in finding.says


async def test_a_database_says_itself_what_is_wrong() -> None:
    """The store's own sentence."""

    async def opens() -> None: ...

    async def refuses() -> None:
        raise SetupError("DATABASE_URL refuses the password.")

    assert (await found(doctor.database_probe("database", opens))).state == "ok"
    assert (await found(doctor.database_probe("database", refuses))).says == "DATABASE_URL refuses the password."


@pytest.mark.parametrize(
    ("script", "state", "words"),
    [
        pytest.param({"respond": '{"word": "ready"}'}, "ok", "structured output", id="works"),
        pytest.param({"respond": '{"word": "maybe"}'}, "warning", "GORKD_MODEL", id="ignores the schema"),
        pytest.param({"respond": "I am ready!"}, "failed", "could not be read", id="no JSON at all"),
        pytest.param({"keys": {"sk-other"}}, "failed", "OPENAI_API_KEY", id="key refused"),
        pytest.param({"models": {"other"}}, "failed", "GORKD_MODEL", id="no such model"),
        pytest.param({"respond": ModelFault(status=503)}, "failed", "", id="out of order"),
    ],
)
async def test_the_model_is_asked_for_structured_output(script: Mapping[str, object], state: str, words: str) -> None:
    """One short call, through the SDK, with the key that is configured."""
    async with openai_world() as world:
        for name, value in script.items():
            setattr(world, name, value)
        model = build_chat(model_env(world))

        finding = await found(doctor.model_probe(model))
        await model.aclose()

    assert finding.state == state, finding
    assert words in finding.says


async def test_nobody_at_the_models_address_is_told_with_the_variable() -> None:
    """Within seconds."""
    model = build_chat({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": KEY})
    assert model is not None

    finding = await found(doctor.model_probe(model))

    assert finding.state == "failed"
    assert "OPENAI_BASE_URL" in finding.says


async def test_embeddings_are_tried_for_real() -> None:
    """Right: the dimensions; wrong: the endpoint's refusal as a sentence."""
    async with openai_world() as world:
        embedder = build_embeddings(model_env(world, GORKD_EMBEDDING_MODEL="embed-1"))
        right = await found(doctor.embedding_probe(embedder))
        world.keys = {"sk-other"}
        wrong = await found(doctor.embedding_probe(embedder))
        await embedder.aclose()

    assert right.state == "ok"
    assert "dimensions" in right.says
    assert wrong.state == "failed"
    assert "OPENAI_API_KEY" in wrong.says


@pytest.mark.parametrize(
    ("provider", "state", "words"),
    [
        pytest.param(FakeSearch("web", [hit("https://a.example")]), "ok", "answers in", id="works"),
        pytest.param(FakeSearch("web"), "warning", "check its address", id="finds nothing"),
        pytest.param(FakeSearch("files", strength="files"), "ok", "answers in", id="own files need not match"),
        pytest.param(
            FakeSearch("web", error=ProviderRejected("web", "401", operator_message="Check WEB_API_KEY.")),
            "failed",
            "Check WEB_API_KEY.",
            id="key refused",
        ),
    ],
)
async def test_a_provider_is_tried_with_one_search(provider: FakeSearch, state: str, words: str) -> None:
    """A common word, one result."""
    finding = await found(doctor.search_probe(provider))

    assert (finding.part, finding.state) == (f"search: {provider.name}", state)
    assert words in finding.says
    assert len(provider.asked) == 1


async def test_each_registry_is_tried_with_one_look_up_and_none_costs_more_than_a_warning() -> None:
    """All at once; answers come without them (N-16)."""
    known = Paper("https://lancet.test/", "A retracted paper", "…", doi="10.1016/S0140-6736(97)11096-0", pmid="9500320")
    faults = {"europepmc": Fault(status=503), "pubmed": Fault(kind="hang")}
    async with SearchWorld({"crossref": [known], "openalex": []}, faults=faults) as world, AsyncExitStack() as stack:
        env = {**world.env(), "GORKD_CONTACT_EMAIL": "nobody"}
        registries = build_registries(env, surroundings(env, SearchSettings(provider_timeout_s=1)))
        for registry in registries:
            stack.push_async_callback(registry.aclose)

        findings = await examine(doctor.registry_probes(registries))

    said = {finding.part.removeprefix("registry: "): (finding.state, finding.says) for finding in findings}
    assert said["crossref"][0] == "ok"
    assert {state for name, (state, _) in said.items() if name != "crossref"} == {"warning"}
    assert all(one in said["europepmc"][1] for one in ("EUROPEPMC_BASE_URL", "GORKD_REGISTRIES"))
    assert "too slow" in said["pubmed"][1]
    assert "check its address" in said["openalex"][1]
    assert "set GORKD_CONTACT_EMAIL to an address of your own" in said["unpaywall"][1]


@pytest.mark.parametrize(
    ("model", "budget", "state", "words"),
    [
        pytest.param("gpt-5.4-mini", Budget(), "ok", "no budget is set", id="priced"),
        pytest.param("gpt-5.4-mini", Budget(user_usd=1), "ok", "budgets are set", id="budgeted"),
        pytest.param("my-model", Budget(), "warning", "GORKD_PRICES", id="no price"),
        pytest.param("my-model", Budget(user_usd=1), "failed", "GORKD_PRICES", id="budget without a price"),
    ],
)
async def test_cost_is_known_or_the_way_to_know_it_is_told(model: str, budget: Budget, state: str, words: str) -> None:
    """A missing price is a doubt, and an error once a budget depends on it."""
    finding = await found(doctor.price_probe(FakeModel({}, name=model), LIST_PRICES, budget))

    assert finding.state == state
    assert words in finding.says


async def test_redis_is_asked_who_it_is(redis_server: RedisServer) -> None:
    """A real one; and an address at which nobody listens."""
    right = await found(doctor.redis_probe(redis_server.url))
    wrong = await found(doctor.redis_probe(f"redis://:{KEY}@127.0.0.1:9/0"))
    nonsense = await found(doctor.redis_probe("localhost"))

    assert right.state == "ok"
    assert right.says.startswith("Redis ")
    assert (wrong.state, nonsense.state) == ("failed", "failed")
    assert "REDIS_URL" in wrong.says
    assert "REDIS_URL" in nonsense.says


@pytest.mark.parametrize("host", ["127.0.0.1", pytest.param("::1", marks=needs_ipv6)])
async def test_a_port_is_free_ours_or_somebody_elses(host: str) -> None:
    """A running gorkd is no fault; another program is."""

    async def health(_: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    app = web.Application()
    app.router.add_get("/health", health)
    async with TestServer(app, host=host) as gorkd, TestServer(web.Application(), host=host) as stranger:
        assert gorkd.port
        assert stranger.port
        ours = await found(doctor.port_probe(host, gorkd.port))
        taken = await found(doctor.port_probe(host, stranger.port))
    free = await found(doctor.port_probe(host, free_port()))

    assert (ours.state, free.state, taken.state) == ("ok", "ok", "failed")
    assert "gorkd runs" in ours.says
    assert "PORT" in taken.says


async def test_the_slack_token_is_tried_with_slacks_own_test() -> None:
    """`auth.test` names who the bot token belongs to, `apps.connections.open` takes the app's; or why not."""

    async def auth_test(request: web.Request) -> web.Response:
        if request.headers["Authorization"] == "Bearer xoxb-right":
            return web.json_response({"ok": True, "user": "gorkd", "team": "Lighthouse"})
        return web.json_response({"ok": False, "error": "invalid_auth"})

    async def open_connection(request: web.Request) -> web.Response:
        if request.headers["Authorization"] == "Bearer xapp-right":
            return web.json_response({"ok": True, "url": "wss://127.0.0.1:9/"})
        return web.json_response({"ok": False, "error": "not_allowed_token_type"})

    app = web.Application()
    app.router.add_post("/api/auth.test", auth_test)
    app.router.add_post("/api/apps.connections.open", open_connection)
    async with TestServer(app) as server:
        url = str(server.make_url("/api/"))
        right = await found(doctor.slack_probe("xoxb-right", base_url=url))
        wrong = await found(doctor.slack_probe("xoxb-wrong", base_url=url))
        both = await found(doctor.slack_probe("xoxb-right", "xapp-right", base_url=url))
        app_wrong = await found(doctor.slack_probe("xoxb-right", "xapp-wrong", base_url=url))
    away = await found(doctor.slack_probe("xoxb-right", base_url="http://127.0.0.1:9/api/"))

    assert right == Finding("Slack", "ok", "the bot token is accepted as gorkd in Lighthouse")
    assert both == Finding("Slack", "ok", "both tokens are accepted, as gorkd in Lighthouse")
    assert wrong.state == away.state == app_wrong.state == "failed"
    assert "SLACK_APP_TOKEN (not_allowed_token_type)" in app_wrong.says
    assert "SLACK_BOT_TOKEN (invalid_auth)" in wrong.says
    assert not any(begin in wrong.says + away.says + app_wrong.says for begin in ("xoxb", "xapp"))


@pytest.mark.parametrize(
    ("granted", "state", "words"),
    [
        pytest.param(set(SCOPES), "ok", "both tokens are accepted, as gorkd in Loop", id="all"),
        pytest.param({*SCOPES, "team:read"}, "ok", "both tokens are accepted", id="more"),
        pytest.param({*SCOPES} - {"files:read", "users:read"}, "warning", "files:read, users:read", id="fewer"),
    ],
)
async def test_scopes_that_slack_did_not_grant_are_named(granted: set[str], state: str, words: str) -> None:
    """The dialog that makes an app may grant fewer than the manifest asks for (`x-oauth-scopes`)."""
    async with SlackWorld.open() as slack:
        slack.state.scopes = granted
        finding = await found(doctor.slack_probe(BOT_TOKEN, APP_TOKEN, base_url=f"{slack.url}/api/"))

    assert (finding.part, finding.state) == ("Slack", state)
    assert words in finding.says
    assert ("install the app anew" in finding.says) is (state == "warning")


async def test_the_discord_token_is_tried_with_a_login(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the bot, or where to copy its token."""

    async def me(request: web.Request) -> web.Response:
        if request.headers["Authorization"] == "Bot right":
            return exactly_json({"id": "1", "username": "gorkd", "discriminator": "0", "avatar": None})
        return exactly_json({"message": "401: Unauthorized", "code": 0}, status=401)

    app = web.Application()
    app.router.add_get("/api/users/@me", me)
    async with TestServer(app) as server:
        monkeypatch.setattr(discord.http.Route, "BASE", str(server.make_url("/api")))
        right = await found(doctor.discord_probe("right"))
        wrong = await found(doctor.discord_probe("wrong"))

    assert right.says.startswith("the token is accepted as gorkd; invite it with https://discord.com/oauth2/authorize?")
    assert "client_id=1&" in right.says
    assert wrong.state == "failed"
    assert "DISCORD_TOKEN" in wrong.says


def exactly_json(document: object, status: int = 200) -> web.Response:
    """discord.py reads JSON only under a content type without a charset."""
    headers = {"Content-Type": "application/json"}
    return web.Response(body=json.dumps(document).encode(), headers=headers, status=status)


async def test_what_is_not_configured_is_off_and_says_how_to_turn_it_on() -> None:
    """No part is silently missing."""
    probes = [
        doctor.model_probe(None),
        doctor.price_probe(None, {}, Budget()),
        doctor.embedding_probe(None),
        doctor.redis_probe(""),
        doctor.discord_probe(""),
        doctor.slack_probe(""),
        *doctor.registry_probes([]),
    ]

    findings = await examine(probes)

    assert {finding.state for finding in findings} == {"off"}
    assert all(finding.says for finding in findings)


async def test_a_model_that_refuses_is_told_in_its_own_words() -> None:
    """Any error of the port becomes a finding."""
    model = FakeModel({"doctor": ModelRejected("no", operator_message="Set OPENAI_API_KEY.")})

    assert (await found(doctor.model_probe(model))).says == "Set OPENAI_API_KEY."
