"""Embeddings of any OpenAI-compatible endpoint, in batches, as unit vectors of one dimension."""

from __future__ import annotations

import asyncio
import base64
import logging
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import numpy as np

from adapters.llm.endpoint import OPENAI_URL, Connection, Endpoint, checked_key, checked_url, setting, timeout
from adapters.llm.failures import GARBLED, SLOW, call_failures, model_error, safe_cause
from adapters.llm.reading import attribute
from adapters.proxies import Proxies
from core.errors import ModelGarbled, ModelTimeout
from core.ports import Vector

if TYPE_CHECKING:
    import openai

log = logging.getLogger(__name__)

BATCH = 128  # texts a request; endpoints take 256 and more, smaller batches answer sooner
CONCURRENT = 4  # requests at once; a local endpoint computes them one by one anyway
TIMEOUT_S = 15.0  # one request; embeddings are an aid, and the answer goes on without them
MAX_CHARS = 6000  # of one text; passages are far shorter, and most models read at least 512 tokens of it
LEAST_CHARS = 750  # no model reads less; an endpoint that still finds this too long means something else
_TOO_LONG = re.compile(r"too (long|large)|context.length|maximum context|max(imum)?.{0,20}tokens|less than \d+ tokens")


def build_embeddings(env: Mapping[str, str]) -> OpenAIEmbeddings | None:
    """The model that `GORKD_EMBEDDING_MODEL` names; None when it is not set.

    It lives at `GORKD_EMBEDDING_BASE_URL` with `GORKD_EMBEDDING_API_KEY`, by default where the chat
    model lives. The chat endpoint's key is not sent to another host. Raises `SetupError` on an
    address or key that cannot be one.
    """
    model = setting(env, "GORKD_EMBEDDING_MODEL")
    if not model:
        return None
    chat_url = setting(env, "OPENAI_BASE_URL") or OPENAI_URL
    own_url, own_key = setting(env, "GORKD_EMBEDDING_BASE_URL"), setting(env, "GORKD_EMBEDDING_API_KEY")
    url_setting = "GORKD_EMBEDDING_BASE_URL" if own_url else "OPENAI_BASE_URL"
    url = checked_url(own_url or chat_url, name=url_setting)
    is_chat_host = urlsplit(url).netloc == urlsplit(chat_url).netloc
    key_setting = "OPENAI_API_KEY" if is_chat_host and not own_key else "GORKD_EMBEDDING_API_KEY"
    endpoint = Endpoint(
        model=model,
        base_url=url,
        api_key=checked_key(setting(env, key_setting), name=key_setting),
        model_setting="GORKD_EMBEDDING_MODEL",
        url_setting=url_setting,
        key_setting=key_setting,
        proxies=Proxies.from_env(env),
    )
    return OpenAIEmbeddings(endpoint)


class OpenAIEmbeddings:
    """An `EmbeddingModel`. `timeout_s` bounds each request.

    A text for which the endpoint has only zeros keeps them: it is like nothing. Texts are cut to what
    the endpoint takes, which is found out on its first refusal and remembered.
    """

    def __init__(self, endpoint: Endpoint, *, timeout_s: float = TIMEOUT_S) -> None:
        self.endpoint = endpoint
        self._connection = Connection(endpoint)
        self._timeout_s = timeout_s
        self._slots = asyncio.Semaphore(CONCURRENT)
        self._encoding: Literal["base64", "float"] = "base64"  # a quarter of the bytes of JSON numbers
        self._max_chars = MAX_CHARS
        self._dimension = 0

    @property
    def name(self) -> str:
        return self.endpoint.model

    async def warm_up(self) -> None:
        """Import the SDK and open the client; no network."""
        await self._connection.client()

    async def aclose(self) -> None:
        await self._connection.aclose()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See `EmbeddingModel.embed`. One failed batch fails the call."""
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._embed_batch(batch)) for batch in batches]
        except ExceptionGroup as failed:
            first = failed.exceptions[0]
            raise first from first.__cause__
        return [vector for task in tasks for vector in task.result()]

    async def _embed_batch(self, texts: Sequence[str]) -> list[Vector]:
        async with self._slots:
            try:
                async with asyncio.timeout(self._timeout_s):
                    rows = await self._request(texts)
            except TimeoutError as exc:
                raise ModelTimeout(
                    f"{self.endpoint.host} did not embed {len(texts)} texts in {self._timeout_s:.0f} s",
                    user_message=SLOW,
                ) from exc
            except call_failures() as exc:
                raise model_error(exc, self.endpoint) from safe_cause(exc, self.endpoint)
        return self._checked(rows, len(texts))

    async def _request(self, texts: Sequence[str]) -> list[Vector]:
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
                    timeout=timeout(self._timeout_s),
                )
            except openai.APIStatusError as exc:
                if not self._adapt(exc, encoding, max_chars):
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
        return ModelGarbled(f"{self.endpoint.host} sent {what}", user_message=GARBLED)


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
