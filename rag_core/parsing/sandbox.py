"""What a process that reads other people's files may not do: take all the memory, or use the network."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

MEMORY_BYTES = 4 * 1024**3
PATIENCE = 3
"""Times its clock that a page may take on a machine that has other things to do."""

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_REFUSED = ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo")


def shut_in(niceness: int) -> None:
    """Bind this process, for good. To be called first: what a thread or a library has begun is not undone."""
    os.nice(niceness)
    with suppress(ValueError, OSError):  # a machine with a lower limit keeps its own
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    _leave_network()
    sys.addaudithook(_refuse_sockets)


def _leave_network() -> None:
    """Go into a network of one's own, without a single interface up, where the kernel lets an ordinary user do so.

    The processes that this one starts are in it too.
    """
    user, group = os.getuid(), os.getgid()
    with suppress(OSError, AttributeError):  # not Linux, or forbidden there: the hook is left
        unshare = ctypes.CDLL(None).unshare
        # What only root may do for itself, others may inside a user namespace, where they are still themselves.
        if unshare(_NEW_NET) != 0 and unshare(_NEW_USER | _NEW_NET) == 0:
            process = Path("/proc/self")
            (process / "setgroups").write_text("deny")
            (process / "uid_map").write_text(f"{user} {user} 1")
            (process / "gid_map").write_text(f"{group} {group} 1")


def _refuse_sockets(event: str, _: object) -> None:
    if event in _REFUSED:
        raise PermissionError("A process that reads documents may not use the network.")
