"""What a browser waits for reaches it, though a script starts at the same moment."""

from __future__ import annotations

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from pages._server.deliveries import keep_deliveries


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> ForwardMsgQueue:
    monkeypatch.setattr(ForwardMsgQueue, "clear", ForwardMsgQueue.clear)  # put back afterwards
    keep_deliveries()
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


def drawn(fragment: str) -> ForwardMsg:
    message = ForwardMsg()
    message.metadata.delta_path[:] = [0, 1]
    message.delta.fragment_id = fragment
    message.delta.new_element.markdown.body = "the list"
    return message


def over() -> ForwardMsg:
    message = ForwardMsg()
    message.script_finished = ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY
    return message


def test_a_part_that_runs_alone_leaves_what_the_whole_page_drew_of_it(queue: ForwardMsgQueue) -> None:
    queue.enqueue(drawn("a part"))
    queue.enqueue(over())
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["a part"])
    queue.enqueue(drawn("a part"))
    assert [each.WhichOneof("type") for each in queue.flush()] == ["delta", "script_finished", "delta"]


def test_the_whole_page_that_starts_anew_drops_what_was_drawn_before(queue: ForwardMsgQueue) -> None:
    queue.enqueue(drawn("a part"))
    queue.clear(retain_lifecycle_msgs=True)
    assert queue.flush() == []
