"""What the server answers under /v1, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages._look.files import LOOK_STAMP
from pages._server.routes import routes
from pages._server.safety import safety
from pages._server.state import use_workbench
from rag_core.workbench import Workbench
from tests.pages.visits import COLLECTION


@pytest.fixture
def client(shown: Workbench) -> Iterator[TestClient]:
    with TestClient(Starlette(routes=routes(), middleware=safety()), base_url="http://127.0.0.1") as opened:
        yield opened


@pytest.fixture
def document(shown: Workbench) -> str:
    return shown.documents(COLLECTION)[0].id


def events(text: str) -> list[dict]:
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


def test_a_run_is_followed_from_its_first_event_to_its_record(client: TestClient, shown: Workbench) -> None:
    run = shown.start("How often was the tide measured?", collection=COLLECTION, chat="routes")
    told = events(client.get(f"/v1/runs/{run}/events").text)
    assert told[-1]["kind"] == "done"
    assert told[-1]["data"]["record"]["id"] == run
    assert [event["n"] for event in told] == list(range(told[0]["n"], told[0]["n"] + len(told)))


def test_a_finished_run_is_one_event_with_its_record_as_it_is_now(client: TestClient, shown: Workbench) -> None:
    run = shown.ask("How often was the tide measured?", collection=COLLECTION).id
    shown.feedback(run, "good")
    told = events(client.get(f"/v1/runs/{run}/events", headers={"last-event-id": "7"}).text)
    assert [event["kind"] for event in told] == ["done"]
    assert told[0]["data"]["record"]["feedback"] == "good"
    assert client.get(f"/v1/runs/{run}").json()["feedback"] == "good"


@pytest.mark.parametrize(
    "address",
    ["/v1/runs/none", "/v1/runs/none/events", "/v1/runs/none/hints", "/v1/nothing", "/v1/documents/none/pages/1.png",
     "/v1/documents/none/figures/a.png", "/v1/documents/none/figures/..%2F..%2Fledger.sqlite",
     f"/v1/look/{LOOK_STAMP}/files.py", "/v1/look/other/dom.js"],
)  # fmt: skip
def test_what_is_not_there_is_a_404_with_one_sentence(client: TestClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404
    assert answer.json()["error"].endswith(".")


def test_a_page_comes_as_a_picture_that_may_be_kept(client: TestClient, document: str) -> None:
    answer = client.get(f"/v1/documents/{document}/pages/1.png?dpi=36")
    assert answer.headers["content-type"] == "image/png"
    assert answer.content.startswith(b"\x89PNG")
    assert "private" in answer.headers["cache-control"]
    assert client.get(f"/v1/documents/{document}/pages/99.png").status_code == 404


@pytest.mark.parametrize("dpi", ["0", "19", "301", "-40", "x", "99999999999"])
def test_a_resolution_out_of_range_is_refused(client: TestClient, document: str, dpi: str) -> None:
    assert client.get(f"/v1/documents/{document}/pages/1.png", params={"dpi": dpi}).status_code == 400


def test_the_elements_of_a_page_come_with_its_size(client: TestClient, document: str) -> None:
    answer = client.get(f"/v1/documents/{document}/pages/1").json()
    assert (round(answer["width"]), round(answer["height"])) == (595, 842)
    assert "harbour" in " ".join(element["text"] for element in answer["elements"])


def test_health_names_every_part(client: TestClient) -> None:
    assert {"Weaviate", "Embedder", "Model"} <= {part["part"] for part in client.get("/v1/health").json()["parts"]}


def test_every_answer_carries_the_safety_headers(client: TestClient) -> None:
    headers = client.get("/v1/nothing").headers
    assert "script-src 'self' blob:" in headers["content-security-policy"]
    assert "unsafe-inline" not in headers["content-security-policy"].split("script-src")[1]
    assert headers["x-content-type-options"] == "nosniff"


def test_another_host_name_and_another_sites_post_are_refused(client: TestClient) -> None:
    assert client.get("/v1/health", headers={"host": "evil.example"}).status_code == 400
    assert client.post("/v1/health", headers={"origin": "http://evil.example"}).status_code == 403
    assert client.post("/v1/health", headers={"origin": "null"}).status_code == 403
    assert client.post("/v1/health", headers={"origin": "http://127.0.0.1"}).status_code == 405


def test_without_a_workbench_every_route_says_what_is_wrong(client: TestClient) -> None:
    use_workbench(None)
    answer = client.get("/v1/health")
    assert answer.status_code == 503
    assert answer.json()["error"]
