"""The embedded Weaviate: one per data folder, shared by every process that uses it, stopped by the last one out.

Who uses the server holds a shared lock on `lease`. Starting, attaching and stopping happen under the exclusive lock
`starting`, so two processes that begin at the same instant share one server. A server whose owner was killed goes on
and is attached to by the next one. `running` is there from start to orderly stop: found at a start, it says that the
last stop was none. `unchecked` then stands until what was being written has been verified.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
from filelock import FileLock

from rag_core.errors import SettingsError, StoreError
from rag_core.settings import Settings
from rag_core.stores.weaviate.binary import Say, find_server
from rag_core.types import Value

NODE = "ragscope"
"""The server's name in Raft and in every shard: data written under one name is not found under another."""
FIRST_PORT = 18_080
PORT_SETS = 200
LOG_LIMIT = 10 * 2**20
NEWS_EVERY_S = 3
STOP_WITHIN_S = 60
_USER = "ragscope"


class Address(Value):
    """Where a Weaviate answers, and with which key."""

    host: str
    port: int
    grpc_port: int
    secure: bool = False
    api_key: str | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.host}:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}


def remote_address(settings: Settings) -> Address:
    """Read `WEAVIATE_URL`.

    Raises:
        SettingsError: It is no http or https address.
    """
    url = settings.weaviate_url or ""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError("WEAVIATE_URL", url, "an address such as http://127.0.0.1:8080")
    secure = parts.scheme == "https"
    return Address(
        host=parts.hostname,
        port=parts.port or (443 if secure else 80),
        grpc_port=settings.weaviate_grpc_port,
        secure=secure,
        api_key=settings.weaviate_api_key,
    )


class Server:
    """The server of one data folder, as one user of it sees it."""

    def __init__(self, settings: Settings, say: Say) -> None:
        self._settings, self._say = settings, say
        self.home = settings.data_dir / "weaviate"
        self.log = self.home / "server.log"
        self._ports, self._pid = self.home / "ports", self.home / "pid"
        self._running, self._unchecked = self.home / "running", self.home / "unchecked"
        self._log_from = 0
        self._lease: int | None = None
        self._child: subprocess.Popen[bytes] | None = None

    @contextmanager
    def attached(self, patience_s: float | None = None) -> Iterator[Address]:
        """Attach to the running server, or start it, and keep others from doing so within the block.

        Args:
            patience_s: Seconds to wait for a server that is alive but not ready yet; None waits on.

        Raises:
            ArtefactError: There is no server binary and none could be had.
            StoreError: The server died while starting, or is not ready in time (`retry`).
        """
        with contextlib.ExitStack() as held:
            try:
                self.home.mkdir(parents=True, exist_ok=True)
                held.enter_context(self._starting())
                self._take_lease()
                address = self._up(patience_s)
            except OSError as error:
                raise StoreError(
                    f"Weaviate's folder {self.home} cannot be used ({error.strerror or error}): "
                    "make it writable, with some space, and start again."
                ) from error
            yield address

    @property
    def unchecked(self) -> bool:
        """Whether writes from before an unclean stop are still to be verified."""
        return self._unchecked.exists()

    def checked(self) -> None:
        """Say that they have been."""
        self._unchecked.unlink(missing_ok=True)

    def distrust(self) -> None:
        """Have the last writes verified at the next connect: the disk was full while they were made."""
        with contextlib.suppress(OSError):  # on a full disk even this may fail; stopping says it again
            self._unchecked.touch()

    def stop(self) -> None:
        """Stop the server whoever uses it: each of them will connect again."""
        with self._starting():
            self._unchecked.touch()
            self._stop()

    @property
    def alive(self) -> bool:
        return self._process() is not None

    @property
    def resident_mb(self) -> float | None:
        """Resident memory of the server process; None when it does not run."""
        process = self._process()
        return process.memory_info().rss / 2**20 if process else None

    def leave(self) -> None:
        """Give up the lease; the last one out stops the server."""
        if self._lease is None:
            return
        with self._starting():
            fcntl.flock(self._lease, fcntl.LOCK_UN)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._stop()
            os.close(self._lease)
            self._lease = None

    def _starting(self) -> FileLock:
        return FileLock(self.home / "starting", is_singleton=False)

    def _take_lease(self) -> None:
        if self._lease is None:
            self._lease = os.open(self.home / "lease", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._lease, fcntl.LOCK_SH)

    # Starting

    def _up(self, patience_s: float | None) -> Address:
        while True:
            started = not self.alive
            if started:
                self._start()
            address = self._ready_address(patience_s)
            if address:
                return address
            # It died. If it had been dying when we came, or lost its ports to another, a new start helps.
            if started and _free(int(_read(self._ports))):
                raise StoreError(self._death())

    def _start(self) -> None:
        """Start the server on the first free set of ports, beginning with the one used last."""
        binary = find_server(self._settings, self._say)
        if self._running.exists():
            self._unchecked.touch()
        self._running.touch()
        base = int(_read(self._ports) or FIRST_PORT)
        if not _free_soon(base):
            base = next_free(base)
            self._say(f"Weaviate's ports were taken by something else; it takes {base} to {base + 5} from now on")
        _replace(self._ports, str(base))
        self._launch(binary, base)

    def _launch(self, binary: Path, base: int) -> None:
        if self.log.exists() and self.log.stat().st_size > LOG_LIMIT:
            self.log.replace(self.log.with_suffix(".log.1"))
        self._pid.unlink(missing_ok=True)
        command = [str(binary), "--host", "127.0.0.1", "--port", str(base), "--scheme", "http"]
        command += ["--read-timeout=600s", "--write-timeout=600s"]
        with self.log.open("ab") as log:
            self._log_from = log.tell()
            # The shell writes the pid before it becomes the server: whoever starts it may be killed at any time, and
            # the next one must still find it. A session of its own keeps the terminal's Ctrl-C away from it.
            self._child = subprocess.Popen(
                ["/bin/sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self._pid), *command],
                env=self._environment(base),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        while not _read(self._pid) and self._child.poll() is None:
            time.sleep(0.002)

    def _environment(self, base: int) -> dict[str, str]:
        """The server's whole environment: nothing of the user's bends it, and no key of theirs is in it."""
        key = self._api_key()
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG") if name in os.environ}
        return kept | {
            "PERSISTENCE_DATA_PATH": str(self.home / "data"),
            "ENABLE_MODULES": "backup-filesystem",
            "BACKUP_FILESYSTEM_PATH": str(self.home / "backups"),
            "API_BASED_MODULES_DISABLED": "true",
            "DEFAULT_VECTORIZER_MODULE": "none",
            "AUTOSCHEMA_ENABLED": "false",
            "DISABLE_TELEMETRY": "true",
            "GO_PROFILING_DISABLE": "true",
            "LOG_LEVEL": "warning",
            "GOMEMLIMIT": str(psutil.virtual_memory().total // 2),
            # Its own rule stops writes on a disk that is 90 % full, which many laptops are; ours counts what is left.
            "DISK_USE_READONLY_PERCENTAGE": "0",
            "DISK_USE_WARNING_PERCENTAGE": "0",
            # Vectors are searchable when the write returns; the queue of the other way is worked off much later.
            "ASYNC_INDEXING": "false",
            "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "false",
            "AUTHENTICATION_APIKEY_ENABLED": "true",
            "AUTHENTICATION_APIKEY_ALLOWED_KEYS": key,
            "AUTHENTICATION_APIKEY_USERS": _USER,
            "AUTHORIZATION_ADMINLIST_ENABLED": "true",
            "AUTHORIZATION_ADMINLIST_USERS": _USER,
            # gRPC and the data port listen on every interface, whatever is set: hence the key, and this password.
            "CLUSTER_BASIC_AUTH_USERNAME": _USER,
            "CLUSTER_BASIC_AUTH_PASSWORD": key,
            "CLUSTER_HOSTNAME": NODE,
            "CLUSTER_IN_LOCALHOST": "true",
            "CLUSTER_BIND_ADDR": "127.0.0.1",
            "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
            "GRPC_PORT": str(base + 1),
            "CLUSTER_GOSSIP_BIND_PORT": str(base + 2),
            "CLUSTER_DATA_BIND_PORT": str(base + 3),  # must be the gossip port + 1
            "RAFT_PORT": str(base + 4),
            "RAFT_INTERNAL_RPC_PORT": str(base + 5),
            "RAFT_JOIN": f"{NODE}:{base + 4}",
            "RAFT_BOOTSTRAP_EXPECT": "1",
            # A lone node need not wait for other votes: ready in 2.5 s instead of 8.
            "RAFT_TIMEOUTS_MULTIPLIER": "1",
        }

    def _api_key(self) -> str:
        path = self.home / "api-key"
        if not _read(path):
            _replace(path, secrets.token_urlsafe(32))
        return _read(path)

    # Waiting

    def _ready_address(self, patience_s: float | None) -> Address | None:
        """Wait while the process lives, without a cap of our own: after a crash it may have much to recover.

        Returns:
            None if it died.
        """
        base = int(_read(self._ports))
        address = Address(host="127.0.0.1", port=base, grpc_port=base + 1, api_key=self._api_key())
        began = told = time.monotonic()
        while not _answers(address):
            if not self.alive:
                return None
            waited = time.monotonic() - began
            if patience_s is not None and waited > patience_s:
                raise StoreError("Weaviate is still starting; ask again in a moment.", retry=True)
            if time.monotonic() - told > NEWS_EVERY_S:
                told = time.monotonic()
                self._say(f"Weaviate is starting: {waited:.0f} s. {self._last_words()}".rstrip())
            time.sleep(0.05)
        if not _is_ours(address):
            raise StoreError(
                f"What answers on port {base} is not the Weaviate of {self.home}: "
                f"end the process {_read(self._pid)}, and start again."
            )
        return address

    def _death(self) -> str:
        words = self._last_words() or "it wrote nothing to its log"
        return f"Weaviate ended while starting ({words}): see {self.log}, mend what it names, and start again."

    def _last_words(self) -> str:
        """The log's last error, else its last line, without the JSON around it."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as log:
            log.seek(max(self._log_from, self.log.stat().st_size - 64 * 1024))
            lines = [_plain(line) for line in log.read().decode(errors="replace").splitlines() if line.strip()]
        grave = [text for level, text in lines if level in ("error", "fatal", "panic")]
        return (grave or [text for _, text in lines] or [""])[-1][:300]

    # The process

    def _process(self) -> psutil.Process | None:
        """The server process, if it lives; another process that got its number later is not taken for it."""
        if self._child is not None:
            self._child.poll()  # else a dead child stays a zombie
        pid = _read(self._pid)
        try:
            process = psutil.Process(int(pid)) if pid else None
            if process is None or process.status() == psutil.STATUS_ZOMBIE:
                return None
            return process if _read(self._ports) in process.cmdline() else None
        except psutil.Error:
            return None

    def _stop(self) -> None:
        """End the server in order; only then is the mark `running` taken away."""
        process = self._process()
        if process is None:
            return
        process.terminate()
        given_up = time.monotonic() + STOP_WITHIN_S
        while _lives(process):
            if time.monotonic() > given_up:
                self._say(f"Weaviate did not stop within {STOP_WITHIN_S} s and is killed; it is checked next time")
                process.kill()
                return
            time.sleep(0.02)
        if self._child is not None:
            self._child.wait()
        self._pid.unlink(missing_ok=True)
        self._running.unlink(missing_ok=True)


def _lives(process: psutil.Process) -> bool:
    """Whether it still holds its ports and files: one that is ending has no command line any more, and has them still.

    Who started it may be another process, which leaves a zombie for a while.
    """
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def next_free(base: int) -> int:
    """Give the first base port after `base` whose whole set is free.

    Raises:
        StoreError: There is none.
    """
    start = (base - FIRST_PORT) // 10
    for step in range(1, PORT_SETS):
        candidate = FIRST_PORT + 10 * ((start + step) % PORT_SETS)
        if _free(candidate):
            return candidate
    raise StoreError(f"No free ports for Weaviate between {FIRST_PORT} and {FIRST_PORT + 10 * PORT_SETS}: free some.")


def _free(base: int) -> bool:
    """Whether all ports of a set can be had, on every interface, and the gossip port by UDP too."""
    wanted = [(base + offset, socket.SOCK_STREAM) for offset in range(6)] + [(base + 2, socket.SOCK_DGRAM)]
    try:
        for port, kind in wanted:
            with socket.socket(socket.AF_INET, kind) as probe:
                if kind == socket.SOCK_STREAM:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("", port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    return True


def _free_soon(base: int) -> bool:
    """As `_free`, but a server that was just killed is given a moment to let go of its ports."""
    for _ in range(20):
        if _free(base):
            return True
        time.sleep(0.05)
    return False


def _answers(address: Address) -> bool:
    try:
        if not httpx.get(f"{address.url}/v1/.well-known/ready", timeout=2, trust_env=False).is_success:
            return False
        with socket.create_connection((address.host, address.grpc_port), timeout=2):
            return True
    except (httpx.HTTPError, OSError):
        return False


def _is_ours(address: Address) -> bool:
    """Only our server knows our key; one that lets everybody in is not ours either."""
    url = f"{address.url}/v1/schema"
    known = httpx.get(url, headers=address.headers, timeout=10, trust_env=False).is_success
    return known and httpx.get(url, timeout=10, trust_env=False).status_code == httpx.codes.UNAUTHORIZED


def _plain(line: str) -> tuple[str, str]:
    """A log line's level and text; the server writes JSON, Go's runtime plain text."""
    try:
        entry = json.loads(line)
        said = [str(entry[name]) for name in ("msg", "error") if entry.get(name)]
        return str(entry.get("level", "")), ": ".join(said)
    except (ValueError, AttributeError):
        panicked = re.match(r"(panic|fatal error):", line)
        return ("panic" if panicked else ""), line.strip()


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""


def _replace(path: Path, text: str) -> None:
    """Write a small file of which nobody may see a half, readable for its owner alone."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
