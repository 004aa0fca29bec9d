"""A connection that outlives its server: a call that meets a dead one waits for the restart and is made again."""

from __future__ import annotations

import atexit
import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import grpc
import httpx
import weaviate
from weaviate import WeaviateClient
from weaviate import exceptions as vendor
from weaviate.classes.init import AdditionalConfig, Auth, Timeout
from weaviate.config import GrpcConfig

from rag_core.errors import StoreError
from rag_core.settings import Settings
from rag_core.stores.weaviate.binary import Say
from rag_core.stores.weaviate.journal import Journal
from rag_core.stores.weaviate.repair import Repair, repair
from rag_core.stores.weaviate.server import Address, Server, remote_address

RETRY_WITHIN_S = 60
REMOTE_RETRY_WITHIN_S = 10
_REASON_CHARS = 300

# At a failed batch the client logs every object with its whole vector; the failure is raised here anyway.
logging.getLogger("weaviate-client").setLevel(logging.CRITICAL)

_Found = TypeVar("_Found")


class _Unreachable(Exception):
    """No server answered a gRPC call."""


_LOST = (
    _Unreachable,
    httpx.TransportError,
    vendor.WeaviateConnectionError,
    vendor.WeaviateStartUpError,
    vendor.WeaviateGRPCUnavailableError,
    vendor.WeaviateClosedClientError,
)


class Connection:
    """Weaviate as one process uses it: attached to or started here, or the one at `WEAVIATE_URL`."""

    def __init__(self, settings: Settings, say: Say) -> None:
        """Connect, starting the server if need be, and verify what an unclean stop may have cost.

        Raises:
            ArtefactError: There is no server binary, and none could be had.
            StoreError: The server does not start, does not answer, or refuses the key.
        """
        self._settings, self._say = settings, say
        self.server = None if settings.weaviate_url else Server(settings, say)
        self.journal = Journal(self.server.home / "journal.sqlite") if self.server else None
        self.last_repair = Repair()
        self._lock = threading.Lock()
        self._turn = 0
        self._address: Address | None = None
        self._clients: list[WeaviateClient] = []
        self._closed = self._restart_due = False
        try:
            self._connect(None)
        except _LOST as error:
            self.close()
            raise StoreError(f"Weaviate at {self.url} went away while it was connected to.", retry=True) from error
        except BaseException:
            self.close()
            raise
        atexit.register(self.close)

    def call(self, work: Callable[[WeaviateClient], _Found]) -> _Found:
        """Do `work`, again if the server was lost meanwhile: it must be safe to do twice.

        Raises:
            StoreError: The server did not come back in time (`retry`), or it refused.
        """
        deadline: float | None = None
        while True:
            if self._closed:
                raise StoreError("This store was closed: open it again.")
            turn, client = self._turn, self._clients[-1]
            try:
                return work(client)
            except _LOST as error:
                lost = error
            except vendor.WeaviateTimeoutError as error:
                raise StoreError(f"Weaviate at {self.url} took too long; ask again.", retry=True) from error
            except vendor.WeaviateBaseError as error:
                if self.server is None or self.server.alive:
                    raise
                lost = error
            deadline = deadline or time.monotonic() + (RETRY_WITHIN_S if self.server else REMOTE_RETRY_WITHIN_S)
            self._reconnect(turn, deadline, lost)

    def meet_full_disk(self) -> None:
        """Note that a write found the disk full: from then on the server's logs refuse writes until a new start."""
        if self.server:
            self._restart_due = True
            self.server.distrust()

    def restart_if_due(self) -> None:
        """Start the server anew after a full disk, and verify what was being written. To be called when there is room.

        Raises:
            StoreError: It does not start.
        """
        with self._lock:
            if self._restart_due and self.server and not self._closed:
                self.server.stop()
                self._connect(None)
                self._restart_due = False

    def close(self) -> None:
        """Close, and stop the server if nobody else uses it. Closing twice is fine."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for client in self._clients:
                client.close()
            if self.journal:
                self.journal.close()
            if self.server:
                self.server.leave()
        atexit.unregister(self.close)

    def _reconnect(self, turn: int, deadline: float, lost: Exception) -> None:
        """Bring the server back: one thread does it, the others wait for that one."""
        left = deadline - time.monotonic()
        if left <= 0 or not self._lock.acquire(timeout=left):
            raise StoreError(f"Weaviate at {self.url} does not answer; ask again later.", retry=True) from lost
        try:
            if self._turn == turn and not self._closed:
                self._say("Weaviate is gone; connecting again")
                self._connect(left)
        except _LOST:
            time.sleep(0.2)
        except StoreError as error:
            if self.server or not error.retry:
                raise
            time.sleep(0.5)
        finally:
            self._lock.release()

    def _connect(self, patience_s: float | None) -> None:
        if self.server is None or self.journal is None:
            address = self._address = remote_address(self._settings)
            self._clients.append(_dial_remote(address))
        else:
            with self.server.attached(patience_s) as address:
                self._address = address
                client = _dial(address)
                # Kept open until the end: another thread may be in the middle of a call on the one before.
                self._clients.append(client)
                if self.server.unchecked:
                    self.last_repair = repair(client, address, self.journal, self._say)
                    self.server.checked()
        self._turn += 1

    @property
    def url(self) -> str:
        return self._address.url if self._address else str(self._settings.weaviate_url)


def reason_of(error: object) -> str:
    """The vendor's words, cut: they hold whole vectors at times."""
    text = " ".join(str(getattr(error, "message", None) or error).split())
    return text if len(text) <= _REASON_CHARS else f"{text[:_REASON_CHARS]} ..."


def _dial(address: Address) -> WeaviateClient:
    # A pool of its own: gRPC would else share the old connection's pause before the next try.
    channel: Any = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_reconnect_backoff_ms", 500)]
    client = weaviate.connect_to_custom(
        http_host=address.host,
        http_port=address.port,
        http_secure=address.secure,
        grpc_host=address.host,
        grpc_port=address.grpc_port,
        grpc_secure=address.secure,
        auth_credentials=Auth.api_key(address.api_key) if address.api_key else None,
        additional_config=AdditionalConfig(
            timeout=Timeout(init=10, query=60, insert=120), grpc_config=GrpcConfig(channel_options=channel)
        ),
        skip_init_checks=True,
    )
    stub = client._connection.grpc_stub
    for name, method in vars(stub).items():
        setattr(stub, name, _fails_at_once(method))
    return client


def _fails_at_once(method: Callable[..., Any]) -> Callable[..., Any]:
    """Make a gRPC method tell at once that nobody answers.

    The client retries such calls for 63 s, whether or not anybody brings the server back (weaviate/retry.py).
    """

    def call(*args: Any, **options: Any) -> Any:
        try:
            return method(*args, **options)
        except grpc.RpcError as error:
            if isinstance(error, grpc.Call) and error.code() == grpc.StatusCode.UNAVAILABLE:
                raise _Unreachable(error.details()) from error
            raise

    return call


def _dial_remote(address: Address) -> WeaviateClient:
    try:
        client = _dial(address)
    except vendor.UnexpectedStatusCodeError as error:
        if error.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise StoreError(f"Weaviate at {address.url} refuses the key: set WEAVIATE_API_KEY.") from error
        raise StoreError(f"Weaviate at {address.url} does not answer as one: {reason_of(error)}") from error
    except _LOST as error:
        raise StoreError(
            f"Weaviate at {address.url} does not answer: start it, or correct WEAVIATE_URL.", retry=True
        ) from error
    try:
        with socket.create_connection((address.host, address.grpc_port), timeout=5):
            return client
    except OSError as error:
        client.close()
        raise StoreError(
            f"Weaviate at {address.url} has no gRPC port {address.grpc_port}: set RAGSCOPE_WEAVIATE_GRPC_PORT to it.",
            retry=True,
        ) from error
