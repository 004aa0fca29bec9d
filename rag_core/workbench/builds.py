"""Builds in the background: one at a time for each collection, stopped, and their failures told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from rag_core.errors import RagError, Stopped

_log = logging.getLogger(__name__)


class Builds:
    """What is built over the collections of one workbench, by tenant: names may change. Safe for threads."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._under_way: dict[str, threading.Thread] = {}
        self._failed: dict[str, str] = {}
        self._stopping: set[str] = set()
        self._ending: dict[str, threading.Thread] = {}
        self._closing = threading.Event()

    def start(self, tenant: str, build: Callable[[], object]) -> None:
        """Build in a thread of its own, unless that is under way."""
        with self._lock:
            if self.under_way(tenant):
                return
            self._failed.pop(tenant, None)
            self._stopping.discard(tenant)
            thread = threading.Thread(target=self._built, args=(tenant, build), daemon=True, name=self._what)
            self._under_way[tenant] = thread
            thread.start()

    def under_way(self, tenant: str) -> bool:
        """Whether a build that was started here goes on."""
        thread = self._under_way.get(tenant)
        return thread is not None and thread.is_alive()

    def stop(self, tenant: str) -> None:
        """Stop the build that was started here."""
        with self._lock:
            if self.under_way(tenant):
                self._stopping.add(tenant)

    def end(self, tenant: str, then: Callable[[], object]) -> None:
        """Stop what is built of a collection that goes, and do `then` once that has ended; nothing is told of it.

        Whoever deletes does not wait for it: a build ends after the model call that it is in, which can take minutes.
        """
        with self._lock:
            if self.under_way(tenant):
                self._stopping.add(tenant)
                building = self._under_way[tenant]
                thread = threading.Thread(
                    target=self._ended, args=(tenant, building, then), daemon=True, name=f"{self._what} ends"
                )
                self._ending[tenant] = thread
                thread.start()
                return
        self._failed.pop(tenant, None)
        then()

    def holds(self, tenant: str) -> bool:
        """Whether a build goes on, or what shall follow its end is still to be done: the tenant is in use."""
        with self._lock:
            return tenant in self._ending or self.under_way(tenant)

    def stopped(self, tenant: str) -> bool:
        """Whether a build of this collection shall end."""
        return self._closing.is_set() or tenant in self._stopping

    def failed(self, tenant: str) -> str | None:
        """Why the last build that was started here came to no end, in a sentence."""
        return self._failed.get(tenant)

    def close(self) -> None:
        """Stop all, and wait until each has ended."""
        self._closing.set()
        with self._lock:
            threads = [*self._under_way.values(), *self._ending.values()]
        for thread in threads:
            thread.join()

    def _ended(self, tenant: str, building: threading.Thread, then: Callable[[], object]) -> None:
        building.join()
        try:
            then()
        except Exception:  # nobody waits for it, and what is left goes at the next start
            _log.exception("what was left of a %s could not be removed", self._what)
        finally:
            with self._lock:
                self._failed.pop(tenant, None)
                del self._ending[tenant]

    def _built(self, tenant: str, build: Callable[[], object]) -> None:
        try:
            build()
        except Stopped:
            self._failed[tenant] = "It was stopped: build again to go on."
        except RagError as error:
            self._failed[tenant] = str(error)
        except Exception as error:  # whoever waits for it must see its end
            _log.exception("building a %s broke off", self._what)
            self._failed[tenant] = f"It broke off ({type(error).__name__}): build again, and report this."
        finally:
            self._stopping.discard(tenant)
