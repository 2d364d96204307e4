"""Embeddings of any OpenAI-compatible endpoint, in batches, as unit vectors of one dimension."""

from __future__ import annotations

import asyncio
import base64
import logging
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from adapters.llm.endpoint import Connection, Endpoint, second_endpoint, timeout
from adapters.llm.failures import GARBLED, SLOW, call_failures, model_error, safe_cause
from adapters.llm.reading import attribute
from core.model.errors import ModelError, ModelGarbled, ModelTimeout
from core.model.ports import Vector

if TYPE_CHECKING:
    import openai

log = logging.getLogger(__name__)

BATCH = 128  # texts a request; endpoints take 256 and more, smaller batches answer sooner
CONCURRENT = 4  # requests at once; a local endpoint computes them one by one anyway
TIMEOUT_S = 15.0  # one request, besides its texts' own time: a local server may load the model first
TEXT_S = 1.0  # a text: what a passage takes a model of 100 million parameters on one busy core
PATIENT = 8  # texts; so few that are late mean that nobody answers, and are not tried one by one
MAX_CHARS = 6000  # of one text; passages are far shorter, and most models read at least 512 tokens of it
LEAST_CHARS = 750  # no model reads less; an endpoint that still finds this too long means something else
_TOO_LONG = re.compile(r"too (long|large)|context.length|maximum context|max(imum)?.{0,20}tokens|less than \d+ tokens")
# In the words of proxies, text-embeddings-inference, Azure, Cohere, OpenAI, Mistral; llama.cpp's "physical batch size"
# is about one text.
_TOO_MANY = re.compile(
    r"too many (inputs|texts|items|documents|strings|tokens in batch)|number of (inputs|texts)|array too long"
    r"|(?<!physical )(?<!current )batch size|(per|in one|more) (request|batch)|(entity|payload|content|body) too large"
)


def build_embeddings(env: Mapping[str, str], *, patience: float = 1.0) -> OpenAIEmbeddings | None:
    """The model that `GORKD_EMBEDDING_MODEL` names; None when it is not set.

    It lives at `GORKD_EMBEDDING_BASE_URL` with `GORKD_EMBEDDING_API_KEY`, by default where the chat
    model lives. The chat endpoint's key is not sent to another host. Each request may take `patience` times as long
    as usual. Raises `SetupError` on an address or key that cannot be one.
    """
    endpoint = second_endpoint(
        env, model="GORKD_EMBEDDING_MODEL", url="GORKD_EMBEDDING_BASE_URL", key="GORKD_EMBEDDING_API_KEY"
    )
    return OpenAIEmbeddings(endpoint, timeout_s=patience * TIMEOUT_S, text_s=patience * TEXT_S) if endpoint else None


class OpenAIEmbeddings:
    """An `EmbeddingModel`. `timeout_s` bounds each request, with `text_s` more for each of its texts.

    A text for which the endpoint has only zeros keeps them: it is like nothing. Texts are cut to what
    the endpoint takes, and sent by as many as it takes, which is found out on its first refusal and remembered.
    """

    def __init__(self, endpoint: Endpoint, *, timeout_s: float = TIMEOUT_S, text_s: float = TEXT_S) -> None:
        self.endpoint, self.name = endpoint, endpoint.model
        self._connection = Connection(endpoint)
        self._timeout_s = timeout_s
        self._text_s = text_s
        self._slots = asyncio.Semaphore(CONCURRENT)
        self._encoding: Literal["base64", "float"] = "base64"  # a quarter of the bytes of JSON numbers
        self._max_chars = MAX_CHARS
        self._batch = BATCH
        self._dimension = 0

    async def warm_up(self) -> None:
        """Import the SDK and open the client; no network."""
        await self._connection.client()

    async def aclose(self) -> None:
        await self._connection.aclose()

    def time_for(self, texts: int) -> float:
        """Seconds that one request with so many texts may take."""
        return self._timeout_s + self._text_s * texts

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See `EmbeddingModel.embed`. One failed batch fails the call, once it is too small to be halved."""
        batches = _parted(texts, self._batch)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._embed_batch(batch)) for batch in batches]
        except ExceptionGroup as failed:
            first = failed.exceptions[0]
            raise first from first.__cause__
        return [vector for task in tasks for vector in task.result()]

    async def _embed_batch(self, texts: Sequence[str]) -> list[Vector]:
        """At once if the endpoint takes as many and is quick enough, else by halves."""
        import openai

        if len(texts) <= self._batch:
            try:
                return await self._ask(texts)
            except ModelError as exc:
                is_late = isinstance(exc, ModelTimeout) and len(texts) > PATIENT
                is_too_many = isinstance(exc.__cause__, openai.APIStatusError) and _is_too_many(exc.__cause__)
                if len(texts) == 1 or not (is_late or is_too_many):
                    raise
                self._batch = min(self._batch, (len(texts) + 1) // 2)
                log.warning("%s: %s; going on by %d texts", self.endpoint.host, type(exc).__name__, self._batch)
        return [vector for half in _parted(texts, self._batch) for vector in await self._embed_batch(half)]

    async def _ask(self, texts: Sequence[str]) -> list[Vector]:
        within_s = self.time_for(len(texts))
        async with self._slots:
            try:
                async with asyncio.timeout(within_s):
                    rows = await self._request(texts, within_s)
            except TimeoutError as exc:
                raise ModelTimeout(
                    f"{self.endpoint.host} did not embed {len(texts)} texts in {within_s:.0f} s", operator_message=SLOW
                ) from exc
            except call_failures() as exc:
                raise model_error(exc, self.endpoint) from safe_cause(exc, self.endpoint)
        return self._checked(rows, len(texts))

    async def _request(self, texts: Sequence[str], within_s: float) -> list[Vector]:
        """The endpoint's vectors as sent, in the order of `texts`."""
        import openai

        client = await self._connection.client()
        while True:
            encoding, max_chars = self._encoding, self._max_chars
            try:
                response = await client.embeddings.create(
                    model=self.endpoint.model,
                    # Endpoints refuse blank texts; any short text is as unlike the rest.
                    input=[text[:max_chars] if text.strip() else "." for text in texts],
                    encoding_format=encoding,
                    timeout=timeout(within_s),
                )
            except openai.APIStatusError as exc:
                if (len(texts) > 1 and _is_too_many(exc)) or not self._adapt(exc, encoding, max_chars):
                    raise
            else:
                return _vectors(response)

    def _adapt(self, exc: openai.APIStatusError, encoding: str, max_chars: int) -> bool:
        """Ask for less next time, if what was refused is something we can do without."""
        said = str(exc).lower()
        if exc.status_code in {400, 422} and encoding == "base64" and "encoding_format" in said:
            self._encoding = "float"
        elif exc.status_code in {400, 413, 422, 500} and max_chars > LEAST_CHARS and _TOO_LONG.search(said):
            self._max_chars = min(self._max_chars, max_chars // 2)
        else:
            return False
        log.warning(
            "%s refused the texts; going on with %s and %d characters",
            self.endpoint.host,
            self._encoding,
            self._max_chars,
        )
        return True

    def _checked(self, rows: list[Vector], expected: int) -> list[Vector]:
        """Unit vectors. Raises `ModelGarbled` on a wrong number of them, a wrong dimension, or what is no number."""
        if len(rows) != expected:
            raise self._garbled(f"{len(rows)} vectors for {expected} texts")
        dimension = self._dimension or rows[0].size
        wrong = next((row.size for row in rows if row.size != dimension or not row.size), None)
        if wrong is not None:
            raise self._garbled(f"a vector of {wrong} numbers among those of {dimension}")
        matrix = np.stack(rows)
        if not np.isfinite(matrix).all():
            raise self._garbled("a vector with what is no number")
        lengths = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
        if not lengths.any():
            raise self._garbled("nothing but zeros")
        self._dimension = dimension
        return list((matrix / np.where(lengths == 0, 1.0, lengths)).astype(np.float32))

    def _garbled(self, what: str) -> ModelGarbled:
        return ModelGarbled(f"{self.endpoint.host} sent {what}", operator_message=GARBLED)


def _is_too_many(exc: openai.APIStatusError) -> bool:
    """Whether fewer texts may be taken; a bare 413 is about the whole request."""
    said = str(exc).lower()
    return exc.status_code in {400, 413, 422, 500} and (
        _TOO_MANY.search(said) is not None or (exc.status_code == 413 and not _TOO_LONG.search(said))
    )


def _parted(texts: Sequence[str], size: int) -> list[Sequence[str]]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def _vectors(response: object) -> list[Vector]:
    """In the order of their `index`, or as sent where that is amiss. Raises `ValueError` on what is no vector."""
    found = attribute(response, "data")
    rows = list(found) if isinstance(found, list) else []
    vectors = [_vector(attribute(row, "embedding")) for row in rows]
    places = {attribute(row, "index"): vector for row, vector in zip(rows, vectors, strict=True)}
    numbers = range(len(rows))
    return [places[number] for number in numbers] if all(number in places for number in numbers) else vectors


def _vector(value: object) -> Vector:
    """From numbers, or from base64 of little-endian float32; some endpoints send either, whatever was asked."""
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32)
    if isinstance(value, list) and all(isinstance(number, int | float) for number in value):
        try:
            return np.asarray(value, dtype=np.float32)
        except OverflowError as exc:
            raise ValueError(f"a vector with a number out of range: {exc}") from exc
    raise ValueError(f"no vector but {type(value).__name__}")
