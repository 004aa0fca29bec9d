import re

import pytest

from rag_core.pipeline.forecast import PAST, Spent, forecast, most_calls
from rag_core.pipeline.plan import PRESETS
from rag_core.settings import ROOT
from rag_core.techniques.scan import ScanSettings

SIMPLE = PRESETS["simple"]


def took(*runs: tuple[float, int]) -> list[Spent]:
    return [Spent(run=str(at), plan="simple", seconds=seconds, calls=calls) for at, (seconds, calls) in enumerate(runs)]


@pytest.mark.parametrize("preset", ["simple", "fast", "balanced", "auto", "quality"])
def test_the_calls_counted_from_a_preset_are_those_that_the_page_of_plans_says(preset: str) -> None:
    page = (ROOT / "docs" / "plans.md").read_text()
    assert re.findall(rf"^\| `{preset}` .*\| (\d+) \|$", page, re.MULTILINE) == [str(most_calls(PRESETS[preset]))]


def test_the_page_of_plans_names_what_comes_on_top_of_the_calls_of_a_usual_question() -> None:
    (calls,) = re.findall(r"^Where the calls go: .+?\n\n", (ROOT / "docs" / "plans.md").read_text(), re.M | re.S)
    assert re.search(rf"`scan`, .*\({ScanSettings().max_batches} at most\)", calls, re.S)
    assert "`multimodal`" in calls


def test_the_calls_of_auto_are_those_of_the_dearest_kind_and_the_choice_of_it() -> None:
    plan = PRESETS["auto"].off("auto").on("rerank")
    kinds = [plan.on(kind) for kind in ("multi_hop", "sub_queries")]
    assert most_calls(PRESETS["auto"]) == 1 + max(most_calls(kind) or 0 for kind in kinds)


def test_settings_count_and_what_hangs_on_the_evidence_has_no_bound() -> None:
    assert most_calls(SIMPLE.off("validate")) == 1
    assert most_calls(SIMPLE.set("hyde", num_hypotheticals=5).set("multi_hop", max_hops=2)) == 2 + 7 + 2 * 5
    assert most_calls(SIMPLE.off("validate").on("heal")) == most_calls(SIMPLE.on("heal"))
    assert most_calls(SIMPLE.set("agent", max_steps=4).on("multi_hop")) == 2 + 1 + 4
    assert most_calls(SIMPLE.on("self_rag")) is None
    assert most_calls(PRESETS["auto"].set("graph", mode="global")) is None


def test_past_runs_tell_more_than_the_plan_and_the_latest_of_them_count() -> None:
    told = forecast(SIMPLE, took((1.0, 2), (3.0, 4), (2.0, 2)), model=True)
    assert (told.runs, told.seconds, told.calls) == (3, 2.0, 2)
    told = forecast(SIMPLE, took(*[(1.0, 1)] * PAST, *[(99.0, 99)] * 99), model=True)
    assert (told.runs, told.seconds, told.calls) == (PAST, 1.0, 1)


def test_without_past_runs_there_are_no_seconds_and_without_a_model_no_calls() -> None:
    told = forecast(PRESETS["fast"], (), model=True)
    assert (told.runs, told.seconds, told.calls) == (0, None, 14)
    assert forecast(PRESETS["fast"], (), model=False).calls == 0
