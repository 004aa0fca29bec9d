"""An upload begins though the page is drawn anew at the same moment."""

from __future__ import annotations

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from pages._server.uploads import keep_upload_addresses


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> ForwardMsgQueue:
    monkeypatch.setattr(ForwardMsgQueue, "clear", ForwardMsgQueue.clear)  # put back afterwards
    keep_upload_addresses()
    return ForwardMsgQueue()


def answer() -> ForwardMsg:
    message = ForwardMsg()
    message.file_urls_response.response_id = "asked"
    return message


@pytest.mark.parametrize("fragments", [None, ["a fragment"]])
def test_a_script_that_starts_leaves_the_answer_in_the_queue_once(
    queue: ForwardMsgQueue, fragments: list[str] | None
) -> None:
    queue.enqueue(answer())
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=fragments)
    assert [each.file_urls_response.response_id for each in queue.flush()] == ["asked"]


def test_what_was_sent_is_not_sent_again(queue: ForwardMsgQueue) -> None:
    queue.enqueue(answer())
    queue.flush()
    assert queue.flush() == []
