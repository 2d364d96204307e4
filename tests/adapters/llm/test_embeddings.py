"""The embeddings adapter through the real SDK against a loopback endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.llm.embeddings import BATCH, CONCURRENT, MAX_CHARS, PATIENT, OpenAIEmbeddings, build_embeddings
from adapters.llm.endpoint import Endpoint, second_endpoint
from adapters.llm.openai import build_check
from core.model.errors import ModelError, ModelGarbled, ModelRateLimited, ModelRejected, ModelTimeout, ModelUnavailable
from core.model.ports import Vector
from tests.loopback.openai_responders import hashed_vector
from tests.loopback.openai_world import Fault, OpenAIWorld, openai_world

TEXTS = ["The cygnet is a young swan.", "A young swan is called a cygnet.", "Interest rates rose in March."]


@asynccontextmanager
async def embedder(world: OpenAIWorld, *, timeout_s: float = 5.0) -> AsyncIterator[OpenAIEmbeddings]:
    model = OpenAIEmbeddings(Endpoint(model="hashing", base_url=world.url), timeout_s=timeout_s, text_s=0.0)
    try:
        yield model
    finally:
        await model.aclose()


async def vectors_of(world: OpenAIWorld, texts: list[str]) -> list[Vector]:
    """The vectors of one call with a fresh adapter."""
    async with embedder(world) as model:
        return await model.embed(texts)


@pytest.mark.parametrize("only_floats", [False, True], ids=["base64", "floats"])
async def test_vectors_are_the_endpoints_own_at_unit_length(only_floats):
    """Whichever encoding the endpoint sends, the direction is kept and the length is one."""
    async with openai_world() as world:
        world.only_floats = only_floats
        world.embed = lambda text: 3.0 * hashed_vector(text)

        vectors = await vectors_of(world, TEXTS)

    for text, vector in zip(TEXTS, vectors, strict=True):
        assert vector.dtype == np.float32
        np.testing.assert_allclose(vector, hashed_vector(text), atol=1e-6)


async def test_many_texts_go_in_batches_side_by_side_and_keep_their_order():
    """No request is larger than the batch, no more run at once than allowed, and every text gets its own vector."""
    texts = [f"text number {number}" for number in range(BATCH * 6 + 5)]
    async with openai_world() as world:
        world.embedding_s = 0.05

        vectors = await vectors_of(world, texts)

    assert sorted(len(call.texts) for call in world.embedding_calls) == [5] + [BATCH] * 6
    assert world.most_open_calls == CONCURRENT
    np.testing.assert_allclose(vectors, [hashed_vector(text) for text in texts], atol=1e-6)


async def test_no_texts_cost_no_request():
    """An empty list is answered here."""
    async with openai_world() as world:
        assert await vectors_of(world, []) == []

    assert world.embedding_calls == []


async def test_overlong_text_is_cut_and_blank_text_replaced():
    """What endpoints refuse is not sent: blank texts, and more than a passage."""
    async with openai_world() as world:
        vectors = await vectors_of(world, ["word " * 5000, " \n", ""])

    assert [len(text) for text in world.embedding_calls[0].texts] == [MAX_CHARS, 1, 1]
    assert {vector.shape for vector in vectors} == {(256,)}


async def test_text_too_long_for_a_small_model_is_cut_further_and_remembered():
    """Local models read less than hosted ones; the limit is found out once."""

    def refuse_long(text: str) -> Vector:
        longest.append(len(text))
        return hashed_vector(text)

    longest: list[int] = []
    async with openai_world() as world, embedder(world) as model:
        world.embed = refuse_long
        world.max_embedding_chars = 2000
        await model.embed(["word " * 5000])
        await model.embed(["word " * 5000])

    assert longest == [1500, 1500]
    assert [len(call.texts[0]) for call in world.embedding_calls] == [6000, 3000, 1500, 1500]


TOO_MANY = [
    pytest.param(413, "Request Entity Too Large", id="a proxy's 413"),
    pytest.param(413, "batch size 40 > maximum allowed batch size 10", id="text-embeddings-inference"),
    pytest.param(422, "batch size 40 > maximum allowed batch size 10", id="422"),
    pytest.param(400, "Too many inputs. The max number of inputs is 10.", id="Azure"),
    pytest.param(400, "invalid request: total number of texts must be at most 10, received 40", id="Cohere"),
    pytest.param(400, "Invalid 'input': array too long. Expected an array with maximum length 10", id="OpenAI"),
    pytest.param(400, "Requested 400000 tokens, max 300000 tokens per request", id="OpenAI, tokens"),
    pytest.param(400, "Too many tokens in batch. Split into more batches.", id="Mistral"),
]


@pytest.mark.parametrize(("status", "message"), TOO_MANY)
async def test_too_many_texts_at_once_are_sent_as_fewer_and_that_is_remembered(status, message):
    """S001-07: batches of what the endpoint takes, found out once; no text is cut for it."""
    texts = [f"text number {number}" for number in range(40)]
    async with openai_world() as world, embedder(world) as model:
        world.max_embedding_texts, world.too_many = 10, Fault(status=status, message=message)
        vectors = await model.embed(texts)
        again = await model.embed(texts)

    np.testing.assert_allclose(vectors, [hashed_vector(text) for text in texts], atol=1e-6)
    np.testing.assert_allclose(again, vectors)
    assert [len(call.texts) for call in world.embedding_calls] == [40, 20, 10, 10, 10, 10, 10, 10, 10, 10]


async def test_a_batch_that_is_late_is_halved():
    """S001-07: a small machine computes text by text; half of them may be there in time."""
    texts = [f"text number {number}" for number in range(40)]
    async with openai_world() as world, embedder(world, timeout_s=1.5) as model:
        world.max_embedding_texts, world.too_many = 10, Fault(hang_first=True)
        vectors = await model.embed(texts)

    np.testing.assert_allclose(vectors, [hashed_vector(text) for text in texts], atol=1e-6)
    assert [len(call.texts) for call in world.embedding_calls] == [40, 20, 10, 10, 10, 10]


async def test_an_endpoint_that_answers_nothing_is_not_asked_text_by_text():
    """A few texts that are late say that nobody is there; what waits goes on without vectors."""
    async with openai_world() as world, embedder(world, timeout_s=0.3) as model:
        world.embedding_fault = Fault(hang_first=True)
        with pytest.raises(ModelTimeout):
            await model.embed([f"text number {number}" for number in range(PATIENT + 1)])

    assert [len(call.texts) for call in world.embedding_calls] == [PATIENT + 1, PATIENT // 2 + 1]


def test_more_texts_are_given_more_time():
    """A machine without a graphics card takes up to a second for each passage."""
    model = OpenAIEmbeddings(Endpoint(model="hashing", base_url="http://127.0.0.1:1/v1"))

    assert model.time_for(1) < model.time_for(64) < model.time_for(BATCH) <= 150


async def test_endpoint_without_base64_is_asked_for_numbers():
    """An endpoint that refuses the encoding is asked again without it, once."""
    async with openai_world() as world, embedder(world) as model:
        world.rejects = {"encoding_format.base64"}
        await model.embed(TEXTS)
        await model.embed(TEXTS)

    assert [call.encoding_format for call in world.embedding_calls] == ["base64", "float", "float"]


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param([float("nan")] * 256, id="nan"),
        pytest.param([float("inf")] * 256, id="inf"),
        pytest.param([0.0] * 256, id="zeros"),
        pytest.param([], id="empty"),
        pytest.param([1e300] * 256, id="too-large"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("only_floats", [False, True], ids=["base64", "floats"])
async def test_vector_that_is_none_is_garbled(numbers, only_floats):
    """A model that is broken is noticed; its vectors never reach a ranking."""
    async with openai_world() as world:
        world.only_floats = only_floats
        world.embed = lambda text: numbers

        with pytest.raises(ModelGarbled):
            await vectors_of(world, TEXTS)


async def test_zeros_among_vectors_stay_zeros():
    """A text of which the model knows nothing is like nothing, and spoils no other."""
    async with openai_world() as world:
        world.embed = lambda text: np.zeros(256) if text == TEXTS[1] else hashed_vector(text)

        vectors = await vectors_of(world, TEXTS)

    assert [round(float(np.linalg.norm(vector)), 5) for vector in vectors] == [1.0, 0.0, 1.0]


async def test_vectors_of_two_dimensions_are_garbled():
    """One dimension within a call and between calls, else cosine means nothing."""
    async with openai_world() as world, embedder(world) as model:
        await model.embed(TEXTS)
        world.embed = lambda text: hashed_vector(text)[:64]

        with pytest.raises(ModelGarbled, match="64 numbers among those of 256"):
            await model.embed(TEXTS)
        await model.aclose()


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        pytest.param(Fault(status=500), ModelUnavailable, id="500"),
        pytest.param(Fault(status=401), ModelRejected, id="401"),
        pytest.param(Fault(status=404), ModelRejected, id="404"),
        pytest.param(Fault(status=429), ModelRateLimited, id="429"),
        pytest.param(Fault(hang_first=True), ModelTimeout, id="hang"),
        pytest.param(Fault(raw=b"{", content_type="application/json"), ModelGarbled, id="half-json"),
        pytest.param(Fault(raw=b'{"data": []}', content_type="application/json"), ModelGarbled, id="no-vectors"),
        pytest.param(Fault(raw=b'{"data": null}', content_type="application/json"), ModelGarbled, id="null"),
        pytest.param(Fault(raw=b'{"data": [{}, {}, {}]}', content_type="application/json"), ModelGarbled, id="no-rows"),
        pytest.param(
            Fault(raw=b'{"data": [{"embedding": ["a"]}]}', content_type="application/json"), ModelGarbled, id="words"
        ),
        pytest.param(
            Fault(raw=b'{"data": [{"embedding": "!!!"}]}', content_type="application/json"),
            ModelGarbled,
            id="no-base64",
        ),
    ],
)
async def test_failure_becomes_our_error(fault, error):
    """Whatever goes wrong with one batch ends the call with one error of ours, not a group of them."""
    async with openai_world() as world, embedder(world, timeout_s=0.5) as model:
        world.embedding_fault = replace(fault)
        with pytest.raises(ModelError) as caught:
            await model.embed(TEXTS * BATCH)

    assert type(caught.value) is error


async def test_cancelling_passes():
    """`CancelledError` is nobody's to keep."""
    async with openai_world() as world, embedder(world) as model:
        world.embedding_fault = Fault(hang_first=True)
        call = asyncio.create_task(model.embed(TEXTS))
        await world.hanging.wait()

        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await model.aclose()


CHAT = {"OPENAI_BASE_URL": "http://chat.test/v1", "OPENAI_API_KEY": "sk-chat"}
OWN = {"GORKD_EMBEDDING_BASE_URL": "http://own.test/v1"}


@pytest.mark.parametrize(
    ("env", "url", "key"),
    [
        pytest.param({}, "https://api.openai.com/v1", "none", id="nothing-set"),
        pytest.param(CHAT, "http://chat.test/v1", "sk-chat", id="as-chat"),
        pytest.param({**CHAT, **OWN}, "http://own.test/v1", "none", id="own-host-never-gets-the-chat-key"),
        pytest.param(
            {**CHAT, **OWN, "GORKD_EMBEDDING_API_KEY": "sk-own"}, "http://own.test/v1", "sk-own", id="own-host-and-key"
        ),
        pytest.param(
            {**CHAT, "GORKD_EMBEDDING_BASE_URL": "http://chat.test/v2"},
            "http://chat.test/v2",
            "sk-chat",
            id="same-host",
        ),
        pytest.param({**CHAT, "GORKD_EMBEDDING_API_KEY": "sk-own"}, "http://chat.test/v1", "sk-own", id="own-key"),
    ],
)
def test_endpoint_and_key_fall_back_to_those_of_the_chat_model(env, url, key):
    """D6: embeddings may live elsewhere; a key goes only to the host it belongs to."""
    built = build_embeddings({"GORKD_EMBEDDING_MODEL": "small", **env})

    assert (built.endpoint.base_url, built.endpoint.api_key.get_secret_value()) == (url, key)


def test_a_check_model_has_an_address_and_a_key_of_its_own_too():
    """N-01: beside the chat model by default, and its key goes to no other host."""
    own = {**CHAT, "GORKD_CHECK_MODEL": "bespoke-minicheck", "GORKD_CHECK_BASE_URL": "http://own.test/v1"}
    endpoint = second_endpoint(own, model="GORKD_CHECK_MODEL", url="GORKD_CHECK_BASE_URL", key="GORKD_CHECK_API_KEY")

    assert (endpoint.base_url, endpoint.has_key, endpoint.model_setting) == (
        "http://own.test/v1", False, "GORKD_CHECK_MODEL",
    )  # fmt: skip
    assert build_check(own) is not None
    assert build_check(CHAT) is None


def test_no_embedder_without_a_model_name():
    """An address and a key alone do not switch embeddings on."""
    assert build_embeddings({**CHAT, **OWN}) is None


@given(st.text(max_size=200))
def test_hashing_embedder_gives_every_text_a_unit_vector(text):
    """The loopback embedder holds the port's contract for any text."""
    vector = hashed_vector(text)

    assert vector.shape == (256,)
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-5
    assert np.array_equal(vector, hashed_vector(text))


def test_hashing_embedder_puts_paraphrases_nearer_than_strangers():
    """Similar texts are similar, so that ranking by meaning can be tried without a model."""
    first, paraphrase, stranger = map(hashed_vector, TEXTS)

    assert float(first @ paraphrase) > 2 * max(0.2, float(first @ stranger))


def test_patience_gives_a_slow_model_more_time():
    """`GORKD_PATIENCE` holds for every call of a model, those for vectors too."""
    usual, patient = (build_embeddings({**CHAT, "GORKD_EMBEDDING_MODEL": "small"}, patience=by) for by in (1.0, 3.0))

    assert patient.time_for(5) == 3 * usual.time_for(5)
