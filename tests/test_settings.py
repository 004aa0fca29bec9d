from pathlib import Path

import pytest

from rag_core.errors import SettingsError
from rag_core.settings import Settings
from rag_core.techniques.hyde import HydeSettings


def test_what_the_environment_gives_is_taken_and_empty_counts_as_unset(tmp_path: Path) -> None:
    settings = Settings.from_env(
        {"RAGSCOPE_DATA_DIR": str(tmp_path), "OPENAI_API_KEY": "  ", "RAGSCOPE_MAX_PAGES": "7"}
    )
    assert (settings.data_dir, settings.openai_api_key, settings.max_pages) == (tmp_path, None, 7)


def test_an_unknown_variable_is_left_alone() -> None:
    assert Settings.from_env({"PATH": "/bin", "RAGSCOPE_UNKNOWN": "1"}).max_pages == 5_000


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("RAGSCOPE_MAX_PAGES", "0", "greater than or equal to 1"),
        ("RAGSCOPE_MAX_PAGES", "many", "integer"),
        ("ENABLE_HYDE", "maybe", "boolean"),
        ("HYDE_NUM_HYPOTHETICALS", "9", "less than or equal to 8"),
        ("HYDE_TEMPERATURE", "hot", "number"),
        ("RAGSCOPE_EMBED_PRECISION", "int4", "'int8' or 'float32'"),
        ("CRAG_CONFIDENCE_THRESHOLD", "7", "less than or equal to 1"),
        ("RAGSCOPE_SEARXNG_URL", "searx.example", "match pattern"),
        ("RAGSCOPE_WEB_PROVIDER", "bing", "'searxng', 'tavily', 'brave' or 'ddgs'"),
    ],
)
def test_a_wrong_value_is_one_line_with_name_value_and_what_is_allowed(name: str, value: str, allowed: str) -> None:
    with pytest.raises(SettingsError) as raised:
        Settings.from_env({name: value})
    text = str(raised.value)
    assert name in text
    assert repr(value) in text
    assert allowed in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("environment", "toggles"),
    [
        ({}, {}),
        ({"ENABLE_HYDE": "true"}, {"hyde": (True, {})}),
        ({"ENABLE_HYDE": "0", "HYDE_NUM_HYPOTHETICALS": "5"}, {"hyde": (False, {"num_hypotheticals": 5})}),
        ({"HYDE_TEMPERATURE": "0"}, {"hyde": (None, {"temperature": 0.0})}),
        ({"ENABLE_RAPTOR": "true", "RAPTOR_MAX_LEVELS": "4"}, {"raptor": (True, {})}),
        ({"ENABLE_CRAG": "yes", "CRAG_CONFIDENCE_THRESHOLD": "0.6"}, {"crag": (True, {"relevance_threshold": 0.6})}),
        (
            {"CRAG_WEB_FALLBACK_ENABLED": "true", "CRAG_REFINEMENT_ENABLED": "false"},
            {"crag": (None, {"refine": False, "web": True})},
        ),
    ],
)
def test_the_environment_gives_the_defaults_of_techniques(environment: dict[str, str], toggles: dict) -> None:
    assert Settings.from_env(environment).toggles() == toggles


@pytest.mark.parametrize(("number", "temperature"), [("1", "0"), ("8", "1.2")])
def test_what_the_environment_allows_for_a_technique_its_settings_allow_too(number: str, temperature: str) -> None:
    given = Settings.from_env({"HYDE_NUM_HYPOTHETICALS": number, "HYDE_TEMPERATURE": temperature})
    settings = HydeSettings.model_validate(given.toggles()["hyde"].settings)
    assert (settings.num_hypotheticals, settings.temperature) == (int(number), float(temperature))
