"""A tab is told the run that it started, and only that tab."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from pages._server.routes import routes
from pages._server.safety import safety
from pages._server.tabs import tell_tab
from rag_core.pipeline.live import LiveRun
from rag_core.pipeline.run import RunEvent


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=routes(), middleware=safety()), base_url="http://127.0.0.1")


def begun(run: str) -> LiveRun:
    return LiveRun(run, "chat")


def test_each_tab_is_told_its_own_runs_in_order(client: TestClient) -> None:
    with (
        client,
        client.websocket_connect("ws://127.0.0.1/v1/tabs/mine") as mine,
        client.websocket_connect("ws://127.0.0.1/v1/tabs/yours") as yours,
    ):
        tell_tab("mine", begun("run-1"), "How often?")
        tell_tab("mine", begun("run-2"), "By whom?")
        tell_tab("yours", begun("run-3"), "When?")
        assert [mine.receive_json() for _ in range(2)] == [
            {"run": "run-1", "question": "How often?"},
            {"run": "run-2", "question": "By whom?"},
        ]
        assert yours.receive_json()["run"] == "run-3"


def test_what_happens_in_its_runs_comes_through_the_same_socket(client: TestClient) -> None:
    one, other = begun("run-1"), begun("run-2")
    one.emit("text", {"delta": "before it was told"})
    with client, client.websocket_connect("ws://127.0.0.1/v1/tabs/mine") as mine:
        tell_tab("mine", one, "How often?")
        assert mine.receive_json()["question"] == "How often?"
        assert mine.receive_json()["events"][0]["data"] == {"delta": "before it was told"}
        tell_tab("mine", other, "By whom?")
        assert mine.receive_json()["question"] == "By whom?"
        for live in (other, one):
            live.emit("text", {"delta": live.id})
            told = mine.receive_json()
            assert (told["run"], told["events"][0]["data"]) == (live.id, {"delta": live.id})


def test_telling_a_tab_that_left_does_nothing(client: TestClient) -> None:
    with client:
        with client.websocket_connect("ws://127.0.0.1/v1/tabs/gone"):
            pass
        tell_tab("gone", begun("run-1"), "How often?")
        with client.websocket_connect("ws://127.0.0.1/v1/tabs/gone") as back:
            tell_tab("gone", begun("run-2"), "By whom?")
            assert back.receive_json()["run"] == "run-2"


def test_a_tab_that_leaves_in_mid_run_leaves_the_run_alone(client: TestClient) -> None:
    live = begun("run-1")
    with client:
        with client.websocket_connect("ws://127.0.0.1/v1/tabs/mine") as mine:
            tell_tab("mine", live, "How often?")
            mine.receive_json()
        live.emit("text", {"delta": "to nobody"})
        with client.websocket_connect("ws://127.0.0.1/v1/tabs/mine") as back:
            tell_tab("mine", begun("run-2"), "By whom?")
            assert back.receive_json()["run"] == "run-2"


def test_a_socket_that_cannot_pass_an_event_on_is_closed(client: TestClient) -> None:
    live = begun("run-1")
    live.events.append(RunEvent.model_construct(n=1, kind="text", data={"delta": object()}))

    def listen() -> None:
        with client, client.websocket_connect("ws://127.0.0.1/v1/tabs/mine") as mine:
            tell_tab("mine", live, "How often?")
            while mine.receive_json():
                pass

    with pytest.raises(ExceptionGroup):
        listen()


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:9", "null"])
def test_another_sites_page_does_not_hear_of_a_tabs_runs(client: TestClient, origin: str) -> None:
    with client, pytest.raises(WebSocketDisconnect) as refused:
        client.websocket_connect("ws://127.0.0.1/v1/tabs/mine", headers={"origin": origin}).__enter__()
    assert refused.value.code == 1008


@pytest.mark.parametrize("headers", [{}, {"origin": "http://127.0.0.1"}])
def test_a_page_of_this_host_and_what_is_no_browser_hear_of_a_tabs_runs(
    client: TestClient, headers: dict[str, str]
) -> None:
    with client, client.websocket_connect("ws://127.0.0.1/v1/tabs/mine", headers=headers) as mine:
        tell_tab("mine", begun("run-1"), "How often?")
        assert mine.receive_json()["run"] == "run-1"
