"""Keeps what waits in the queue to a browser from being lost when a script starts (Streamlit 1.67 empties it then).

Two things must not go: the answer to a browser that asked where to send a file, for which it would wait for ever; and,
when a part of the page is run alone, what the run of the whole page before it drew of that part. The browser hears
that the whole run is over all the same, takes away what it did not get, and draws it anew a moment later, without
what was typed or chosen in it.
"""

from __future__ import annotations

from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

_empty = ForwardMsgQueue.clear


def keep_deliveries() -> None:
    """Have the browser get what it waits for, whatever starts meanwhile."""
    ForwardMsgQueue.clear = _clear


def _clear(
    self: ForwardMsgQueue, retain_lifecycle_msgs: bool = False, fragment_ids_this_run: list[str] | None = None
) -> None:
    if retain_lifecycle_msgs and fragment_ids_this_run is not None:
        self._delta_index_map = {}  # what comes is sent after what waits, not in its place
        return
    answers = [each for each in self._queue if each.WhichOneof("type") == "file_urls_response"]
    _empty(self, retain_lifecycle_msgs)
    if retain_lifecycle_msgs:  # else the queue was just sent
        self._queue += answers
