"""Keeps an upload from waiting for ever.

Before it sends a file, a browser asks where to. Streamlit puts its answer into the queue to the browser and empties
that queue when a script starts (1.67): where both meet, the browser waits for the answer for ever, and shows nothing.
"""

from __future__ import annotations

from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

_empty = ForwardMsgQueue.clear


def keep_upload_addresses() -> None:
    """Have every answer about an upload's address reach the browser, whatever starts meanwhile."""
    ForwardMsgQueue.clear = _clear


def _clear(
    self: ForwardMsgQueue, retain_lifecycle_msgs: bool = False, fragment_ids_this_run: list[str] | None = None
) -> None:
    answers = [each for each in self._queue if each.WhichOneof("type") == "file_urls_response"]
    _empty(self, retain_lifecycle_msgs, fragment_ids_this_run)
    if retain_lifecycle_msgs:  # else the queue was just sent
        kept = set(map(id, self._queue))
        self._queue += [each for each in answers if id(each) not in kept]
