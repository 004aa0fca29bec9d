"""The supervisor: who starts, shares, restarts and stops the server."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest

from rag_core.errors import SettingsError, StoreError
from rag_core.settings import Settings
from rag_core.stores.weaviate.chunks import ChunkStore
from rag_core.stores.weaviate.server import Server, remote_address
from tests.stores.samples import make_chunk, random_vectors

OTHER_PROCESS = """
import sys
from pathlib import Path
from rag_core.settings import Settings
from rag_core.stores.weaviate.chunks import ChunkStore
store = ChunkStore.open(Settings(data_dir=Path(sys.argv[1])), "shared")
print("open", flush=True)
sys.stdin.readline()
store.close()
print("closed", flush=True)
"""


class OtherProcess:
    """Another program that uses the same data folder."""

    def __init__(self, settings: Settings) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OTHER_PROCESS, str(settings.data_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        )

    def wait_open(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "open\n"

    def close(self) -> None:
        out, _ = self.process.communicate("\n", timeout=60)
        assert out == "closed\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def home(own_settings: Settings) -> Iterator[Path]:
    """The server's folder; whatever still runs there at the end of the test is ended."""
    folder = own_settings.data_dir / "weaviate"
    yield folder
    if (folder / "pid").exists():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid_in(folder), signal.SIGKILL)


def pid_in(home: Path) -> int:
    return int((home / "pid").read_text())


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_the_server_is_locked_down_and_leaves_in_order(own_settings: Settings, home: Path) -> None:
    server = Server(own_settings, print)
    with server.attached() as address:
        assert stat.S_IMODE((home / "api-key").stat().st_mode) == 0o600
        assert httpx.get(f"{address.url}/v1/schema").status_code == 401
        assert httpx.get(f"{address.url}/v1/schema", headers=address.headers).status_code == 200
        meta = httpx.get(f"{address.url}/v1/meta", headers=address.headers).json()
        assert list(meta["modules"]) == ["backup-filesystem"]
        assert (home / "running").exists()
        pid = pid_in(home)
        assert os.getsid(pid) == pid  # the terminal's Ctrl-C goes to our session, not to its
        assert (server.resident_mb or 0) > 50
        assert not server.unchecked
    server.leave()
    assert not is_running(pid)
    assert not (home / "running").exists()
    assert not server.alive
    server.leave()


def test_taken_ports_are_left_for_the_next_free_set_and_the_data_stays(own_settings: Settings, home: Path) -> None:
    store = ChunkStore.open(own_settings, "ports")
    store.ensure_tenant("t")
    store.put("t", [make_chunk("cloud")], random_vectors(1))
    store.close()
    base = int((home / "ports").read_text())
    said: list[str] = []
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", base + 4))  # Raft's
        taken.listen()
        store = ChunkStore.open(own_settings, "ports", say=said.append)
    assert store.bm25("t", "cloud", limit=1)
    assert any("ports were taken" in line for line in said)
    store.close()
    now = int((home / "ports").read_text())
    assert now != base
    with Server(own_settings, print).attached() as address:
        assert address.port == now


def test_a_second_process_attaches_and_the_last_one_out_stops_it(own_settings: Settings, home: Path) -> None:
    store = ChunkStore.open(own_settings, "shared")
    pid = pid_in(home)
    other = OtherProcess(own_settings)
    other.wait_open()
    store.close()
    assert pid_in(home) == pid
    assert is_running(pid)
    other.close()
    assert not is_running(pid)


def test_processes_that_start_at_the_same_instant_share_one_server(own_settings: Settings, home: Path) -> None:
    others = [OtherProcess(own_settings) for _ in range(3)]
    for other in others:
        other.wait_open()
    servers = [
        process
        for process in psutil.process_iter(["environ"])
        if (process.info["environ"] or {}).get("PERSISTENCE_DATA_PATH") == str(home / "data")
    ]
    assert [server.pid for server in servers] == [pid_in(home)]
    others[0].kill()
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda other: other.close(), others[1:]))
    assert not is_running(servers[0].pid)


def test_a_server_whose_owner_was_killed_is_attached_to(own_settings: Settings, home: Path) -> None:
    owner = OtherProcess(own_settings)
    owner.wait_open()
    pid = pid_in(home)
    owner.kill()
    assert is_running(pid)
    store = ChunkStore.open(own_settings, "shared")
    assert pid_in(home) == pid
    store.close()
    assert not is_running(pid)


def test_an_unclean_stop_is_noticed_at_the_next_start(own_settings: Settings, home: Path) -> None:
    owner = OtherProcess(own_settings)
    owner.wait_open()
    os.kill(pid_in(home), signal.SIGKILL)
    owner.kill()
    server = Server(own_settings, print)
    with server.attached():
        assert server.unchecked
        server.checked()
    server.leave()
    with server.attached():
        assert not server.unchecked
    server.leave()


def test_searches_go_on_through_a_kill(own_settings: Settings, home: Path) -> None:
    store = ChunkStore.open(own_settings, "search")
    store.ensure_tenant("t")
    chunks, vectors = [make_chunk(f"w{n}x", order=n) for n in range(50)], random_vectors(50)
    store.put("t", chunks, vectors)
    until = time.monotonic() + 1.5
    threading.Timer(0.3, os.kill, (pid_in(home), signal.SIGKILL)).start()

    def search(number: int) -> int:
        searched = 0
        while time.monotonic() < until:
            hits = store.hybrid("t", f"w{number}x", vectors[number], alpha=0.5, limit=1)
            assert [hit.chunk for hit in hits] == [chunks[number]]
            searched += 1
        return searched

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(search, range(6)))
    assert store.last_repair.verified == 50
    store.close()


def test_a_server_that_dies_at_its_start_is_an_error_with_its_last_words(own_settings: Settings, home: Path) -> None:
    home.mkdir(parents=True)
    (home / "data").write_text("a file where the server wants a folder")
    with pytest.raises(StoreError, match=r"ended while starting \(.*data.*server\.log"):
        ChunkStore.open(own_settings, "dead")


def test_a_long_log_is_put_aside_at_the_start(own_settings: Settings, home: Path) -> None:
    home.mkdir(parents=True)
    (home / "server.log").write_bytes(b"x" * (11 * 2**20))
    server = Server(own_settings, print)
    with server.attached():
        assert (home / "server.log").stat().st_size < 2**20
    assert (home / "server.log.1").stat().st_size == 11 * 2**20
    server.leave()


@pytest.fixture
def remote(store: ChunkStore, settings: Settings) -> Settings:
    """The session's server as if it were somebody else's."""
    port = int((settings.data_dir / "weaviate" / "ports").read_text())
    return Settings(
        data_dir=settings.data_dir / "elsewhere",
        weaviate_url=f"http://127.0.0.1:{port}",
        weaviate_grpc_port=port + 1,
        weaviate_api_key=(settings.data_dir / "weaviate" / "api-key").read_text(),
    )


def test_with_an_address_nothing_is_started_or_stopped(remote: Settings, store: ChunkStore, tenant: str) -> None:
    there = ChunkStore.open(remote, "test")
    there.put(tenant, [make_chunk("cloud")], random_vectors(1))
    assert there.bm25(tenant, "cloud", limit=1)
    health = there.health()
    assert (health.managed, health.resident_mb, health.log) == (False, None, None)
    there.close()
    assert store.count(tenant) == 1
    assert not (remote.data_dir / "weaviate").exists()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"weaviate_api_key": "wrong"}, "refuses the key: set WEAVIATE_API_KEY"),
        ({"weaviate_api_key": None}, "refuses the key: set WEAVIATE_API_KEY"),
        ({"weaviate_url": "http://127.0.0.1:9"}, "does not answer: start it, or correct WEAVIATE_URL"),
        ({"weaviate_grpc_port": 9}, "has no gRPC port 9: set RAGSCOPE_WEAVIATE_GRPC_PORT"),
    ],
)
def test_an_address_that_does_not_work_is_told_in_one_sentence(
    remote: Settings, change: dict[str, object], sentence: str
) -> None:
    with pytest.raises(StoreError, match=sentence):
        ChunkStore.open(remote.model_copy(update=change), "test")


def test_an_address_is_read_with_its_scheme_and_port() -> None:
    cloud = remote_address(Settings(weaviate_url="https://weaviate.example", weaviate_api_key="k"))
    assert (cloud.host, cloud.port, cloud.secure, cloud.url) == (
        "weaviate.example",
        443,
        True,
        "https://weaviate.example:443",
    )
    with pytest.raises(SettingsError, match="WEAVIATE_URL"):
        remote_address(Settings(weaviate_url="weaviate.example:8080"))
