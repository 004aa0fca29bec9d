"""A tab is told the run that it started, and only that tab."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages._server.routes import routes
from pages._server.safety import safety
from pages._server.tabs import tell_tab


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=routes(), middleware=safety()), base_url="http://127.0.0.1")


def test_each_tab_is_told_its_own_runs_in_order(client: TestClient) -> None:
    with (
        client,
        client.websocket_connect("ws://127.0.0.1/v1/tabs/mine") as mine,
        client.websocket_connect("ws://127.0.0.1/v1/tabs/yours") as yours,
    ):
        tell_tab("mine", "run-1", "How often?")
        tell_tab("mine", "run-2", "By whom?")
        tell_tab("yours", "run-3", "When?")
        assert [mine.receive_json() for _ in range(2)] == [
            {"run": "run-1", "question": "How often?"},
            {"run": "run-2", "question": "By whom?"},
        ]
        assert yours.receive_json()["run"] == "run-3"


def test_telling_a_tab_that_left_does_nothing(client: TestClient) -> None:
    with client:
        with client.websocket_connect("ws://127.0.0.1/v1/tabs/gone"):
            pass
        tell_tab("gone", "run-1", "How often?")
        with client.websocket_connect("ws://127.0.0.1/v1/tabs/gone") as back:
            tell_tab("gone", "run-2", "By whom?")
            assert back.receive_json()["run"] == "run-2"
