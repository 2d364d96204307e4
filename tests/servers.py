"""Real servers on free ports of this machine, for the tests of everything that talks to one.

Its fixtures are everybody's by tests/conftest.py. Where a binary is missing the tests skip and say so; with CI=true
they fail.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

START_TIMEOUT_S = 30
DEBIAN_POSTGRES = Path("/usr/lib/postgresql")  # Debian keeps one folder a version there and none of it on PATH
needs_ipv6 = pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="this machine has no IPv6")
QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=16MB", "max_connections=100")


class RedisServer:
    """A `redis-server` without persistence: a restart finds the same port and no data."""

    def __init__(self, binary: str, folder: Path) -> None:
        self._binary = binary
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        arguments = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self._folder)]
        self._process = subprocess.Popen([self._binary, *arguments], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        if not any("Ready to accept connections" in line for line in self._process.stdout):
            pytest.fail("redis-server did not start")

    def stop(self) -> None:
        """Kill it, as a machine that is lost would."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def pause(self) -> None:
        """Let it accept connections and answer nothing, until `resume`."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)


class PostgresServer:
    """A PostgreSQL cluster of its own. `stop` and `start` keep port and data.

    It runs as the user `postgres`, or `nobody`, when the tests run as root, which it refuses.
    """

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._account = _unprivileged_account()
        # Not below pytest's own folder, which only its owner may enter.
        self._folder = Path(tempfile.mkdtemp(prefix="gorkd-postgres-"))
        if self._account:
            os.chown(self._folder, self._account.pw_uid, self._account.pw_gid)
        self._user = self._account.pw_name if self._account else pwd.getpwuid(os.getuid()).pw_name
        self.port = free_port()

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{self._user}@127.0.0.1:{self.port}/{database}"

    def create(self) -> None:
        data = str(self._folder / "data")
        self._run("initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--pgdata", data)

    def start(self) -> None:
        settings = [f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories=", *QUICK]
        options = " ".join(f"-c {setting}" for setting in settings)
        self._control("start", "-w", "-l", str(self._folder / "log"), "-o", options)

    def stop(self) -> None:
        """End it at once, cutting every connection, as a failing machine would."""
        self._control("stop", "-w", "-m", "immediate")

    def remove(self) -> None:
        if (self._folder / "data" / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", *arguments, "-D", str(self._folder / "data"))

    def _run(self, program: str, *arguments: str) -> None:
        account = self._account
        done = subprocess.run(
            [self._binaries / program, *arguments],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,  # a pipe would stay open as long as the server that inherits it
            stderr=subprocess.DEVNULL,
            timeout=START_TIMEOUT_S,
            check=False,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
        )
        if done.returncode != 0:
            log = self._folder / "log"
            pytest.fail(f"{program} failed: {log.read_text() if log.exists() else done.returncode}")


@contextmanager
def running_redis(folder: Path) -> Iterator[RedisServer]:
    """A Redis server that is there for the block."""
    binary = shutil.which("redis-server")
    if binary is None:
        _miss("redis-server")
    server = RedisServer(str(binary), folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def running_nginx(folder: Path, to_port: int, *settings: str) -> Iterator[int]:
    """The port of an nginx that passes everything to `to_port` of this machine: plainly, or with more `settings`."""
    binary = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if binary is None:
        _miss("nginx")
    port = free_port()
    spools = " ".join(f"{kind}_temp_path {folder};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    location = f"proxy_pass http://127.0.0.1:{to_port}; {' '.join(settings)}"
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr; events {{}} "
        f"http {{ access_log off; {spools} server {{ listen 127.0.0.1:{port}; location / {{ {location} }} }} }}"
    )
    process = subprocess.Popen([str(binary), "-p", str(folder), "-c", str(config)], stderr=subprocess.DEVNULL)
    try:
        _await_listener(port)
        yield port
    finally:
        process.terminate()
        process.wait(START_TIMEOUT_S)


def _await_listener(port: int) -> None:
    ends_at = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < ends_at:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    pytest.fail(f"nobody listens on {port}")


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server that is there for the block."""
    binaries = find_postgres()
    if binaries is None:
        _miss("PostgreSQL (initdb, pg_ctl, postgres)")
    assert binaries is not None
    server = PostgresServer(binaries)
    try:
        server.create()
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory) -> Iterator[RedisServer]:
    """The Redis of this test session; whoever stops it starts it again."""
    with running_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The PostgreSQL of this test session; whoever stops it starts it again."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The session's Redis, emptied."""
    from redis import Redis

    with Redis.from_url(redis_server.url) as connection:
        connection.flushall()
    return redis_server.url


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A fresh, empty database on the session's server."""
    with fresh_database(postgres_server) as url:
        yield url


@contextmanager
def fresh_database(server: PostgresServer) -> Iterator[str]:
    """Its address, for as long as the block lasts."""
    from psycopg import connect

    name = f"test_{uuid.uuid4().hex}"
    with connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield server.url(name)
    with connect(server.url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def find_postgres() -> Path | None:
    """The folder with initdb, pg_ctl and postgres: by pg_config, Debian's own, or PATH; None when there is none."""
    candidates = []
    if (config := shutil.which("pg_config")) is not None:
        asked = subprocess.run([config, "--bindir"], capture_output=True, text=True, timeout=10, check=False)
        candidates.append(Path(asked.stdout.strip()))
    versions = [path for path in DEBIAN_POSTGRES.glob("*/bin") if path.parent.name.isdigit()]
    candidates += sorted(versions, key=lambda path: int(path.parent.name), reverse=True)
    if (initdb := shutil.which("initdb")) is not None:
        candidates.append(Path(initdb).resolve().parent)
    programs = ("initdb", "pg_ctl", "postgres")
    return next((path for path in candidates if all((path / program).exists() for program in programs)), None)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _unprivileged_account() -> pwd.struct_passwd | None:
    """Whom to run as when these tests run as root; None when they do not."""
    if os.getuid() != 0:
        return None
    names = {account.pw_name for account in pwd.getpwall()}
    return pwd.getpwnam("postgres" if "postgres" in names else "nobody")


def _miss(program: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{program} is not installed")
    pytest.skip(f"{program} is not installed")
