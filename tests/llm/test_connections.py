import pytest

from rag_core.llm import connections
from rag_core.llm.connections import ModelConnection, from_settings, local_models, try_out
from rag_core.settings import Settings
from tests.model_server import model_server


def at(base_url: str, **fields: str) -> ModelConnection:
    return ModelConnection.model_validate({"kind": "openai", "base_url": base_url, "model": "scripted", **fields})


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"OPENAI_API_KEY": "k"}, None),
        ({"OPENAI_API_KEY": "k", "OPENAI_MODEL": "m"}, ("openai", "https://api.openai.com/v1", "m")),
        ({"OPENAI_BASE_URL": "http://h/v1", "OPENAI_MODEL": "m"}, ("openai", "http://h/v1", "m")),
        ({"OLLAMA_HOST": "h:1", "RAGSCOPE_OLLAMA_MODEL": "m"}, ("ollama", "http://h:1", "m")),
        ({"OLLAMA_HOST": "h:1"}, None),
    ],
)
def test_the_environment_names_a_connection_or_none(environment: dict[str, str], expected: tuple | None) -> None:
    found = from_settings(Settings.from_env(environment))
    assert (found and (found.kind, found.base_url, found.model)) == expected


def test_a_test_says_that_it_works_or_what_to_do() -> None:
    with model_server(models=["scripted", "other"]) as server:
        assert try_out(at(server.base_url)).ok
        missing = try_out(at(server.base_url, model="gone"))
        assert (missing.ok, "there are: other, scripted" in missing.message) == (False, True)
        assert missing.models == ("other", "scripted")
        server.key = "right"
        assert "refused the key" in try_out(at(server.base_url, api_key="wrong")).message
        elsewhere = at(server.base_url, kind="ollama", api_key="right")
        assert "does not speak" in try_out(elsewhere).message
    assert "Nothing answers" in try_out(at("http://127.0.0.1:9/v1")).message
    assert "Nothing answers" in try_out(at("not an address")).message


def test_ollama_is_asked_in_its_own_way_and_latest_may_be_left_out() -> None:
    with model_server(models=["scripted:latest"]) as server:
        assert try_out(at(server.base_url.removesuffix("/v1"), kind="ollama")).ok


def test_servers_of_this_machine_are_found_at_once_and_absent_ones_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with model_server(models=["a", "b"]) as server:
        places = (("openai", "LM Studio", server.base_url), ("ollama", "Ollama", "http://127.0.0.1:9"))
        monkeypatch.setattr(connections, "LOCAL_SERVERS", places)
        assert [(found.label, found.model) for found in local_models()] == [("LM Studio", "a"), ("LM Studio", "b")]


def test_a_key_is_not_shown_when_a_connection_is_printed() -> None:
    assert "secret" not in repr(at("http://h/v1", api_key="secret"))
