import json
from pathlib import Path

import pytest

from rag_core.errors import PlanError
from rag_core.pipeline.plan import PRESETS, plan_from, plan_from_json, with_assignments, with_toggles
from rag_core.settings import Settings
from rag_core.techniques import TECHNIQUES
from rag_core.techniques.hybrid import HybridSettings

SIMPLE = PRESETS["simple"]


def test_a_plan_survives_json() -> None:
    plan = SIMPLE.set("hybrid", alpha=0.3).off("validate")
    assert plan_from_json(json.loads(json.dumps(plan.as_json()))) == plan


def test_what_is_off_is_absent_and_what_is_on_has_its_defaults() -> None:
    off = SIMPLE.off("validate")
    assert not off.has("validate")
    assert off.on("validate").techniques["validate"] == TECHNIQUES["validate"].settings()
    assert off.name == "custom"


def test_what_every_question_needs_cannot_be_switched_off() -> None:
    with pytest.raises(PlanError, match="cannot be switched off"):
        SIMPLE.off("hybrid")


def test_assignments_are_read_as_the_setting_s_own_type() -> None:
    plan = with_assignments(SIMPLE, ["hybrid.alpha=0.25", "hybrid.fusion=ranked", "hybrid.limit=20"])
    assert plan.settings(HybridSettings) == HybridSettings(alpha=0.25, fusion="ranked", limit=20)


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("hybrid.alpha=2", "less than or equal to 1"),
        ("hybrid.beta=1", "it has: alpha"),
        ("magic.x=1", "There is no technique 'magic'"),
        ("hybrid=1", "technique.field=value"),
        ("hybrid.alpha", "technique.field=value"),
    ],
)
def test_a_wrong_assignment_says_what_is_right(assignment: str, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        with_assignments(SIMPLE, [assignment])


def test_a_plan_is_found_by_name_or_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(SIMPLE.set("hybrid", limit=7).as_json()))
    assert plan_from(str(file)).settings(HybridSettings).limit == 7
    assert plan_from("simple") == SIMPLE
    with pytest.raises(PlanError, match="there are: simple"):
        plan_from("magic")
    with pytest.raises(PlanError, match="cannot be read"):
        plan_from(str(tmp_path / "none.json"))
    file.write_text("[" * 100_000)
    with pytest.raises(PlanError, match="cannot be read"):
        plan_from(str(file))


@pytest.mark.parametrize("data", [None, [], {"techniques": 3}, {"techniques": {"hybrid": {"alpha": "x"}}}])
def test_what_is_no_plan_is_refused(data: object) -> None:
    with pytest.raises(PlanError):
        plan_from_json(data)


def test_every_technique_can_be_shown() -> None:
    for technique in TECHNIQUES.values():
        assert technique.summary
        assert all(field.description for field in technique.settings.model_fields.values())


def test_what_the_environment_says_is_a_technique_s_default_in_every_preset() -> None:
    environment = {
        "ENABLE_SELF_RAG": "true", "SELF_RAG_ISREL_THRESHOLD": "0.6", "SELF_RAG_ISSUP_MIN": "fully_supported",
        "ENABLE_CRAG": "true", "CRAG_CONFIDENCE_THRESHOLD": "0.8", "CRAG_WEB_FALLBACK_ENABLED": "true",
        "CRAG_REFINEMENT_ENABLED": "false", "ENABLE_HYDE": "true", "HYDE_NUM_HYPOTHETICALS": "5",
        "ENABLE_MULTIMODAL": "false",
    }  # fmt: skip
    toggles = Settings.from_env(environment).toggles()
    for preset in PRESETS.values():
        plan = with_toggles(preset, toggles)
        assert plan.name == preset.name
        assert not plan.has("multimodal")
        told = {name: plan.techniques[name].model_dump() for name in ("self_rag", "crag", "hyde")}
        assert (told["self_rag"]["isrel_threshold"], told["self_rag"]["issup_min"]) == (0.6, "fully_supported")
        assert (told["crag"]["relevance_threshold"], told["crag"]["web"], told["crag"]["refine"]) == (0.8, True, False)
        assert told["hyde"]["num_hypotheticals"] == 5
    assert not with_toggles(PRESETS["quality"], Settings.from_env({"ENABLE_HYDE": "false"}).toggles()).has("hyde")
