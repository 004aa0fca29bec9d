import json
from pathlib import Path

import pytest

from rag_core.llm.critic.heads import Trained
from rag_core.llm.reading.reading import Reading
from rag_core.llm.train_critic import as_json, train
from tests.fakes import WordVectors

ANIMALS = ("fox", "owl", "pike", "newt", "wren", "hare")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A handful of claims, laid out as SciFact's are: every third one supported, contradicted, left open."""
    abstracts, claims = [], []
    for number, animal in enumerate(ANIMALS):
        text = f"The {animal} was seen in {number + 12} of the forests we walked. It eats less in the winter."
        abstracts.append({"id": animal, "title": f"Where the {animal} lives", "text": text, "meta": {"sentences": 2}})
        label = ("SUPPORT", "CONTRADICT", None)[number % 3]
        evidence = [{"doc": animal, "label": label, "sentences": [1]}] if label else []
        claim = f"The {animal} eats {'less' if label == 'SUPPORT' else 'more'} in the winter."
        claims.append({"id": animal, "question": claim, "evidence_ids": [animal], "meta": {"evidence": evidence}})
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, abstracts)), encoding="utf-8")
    (tmp_path / "queries_train.jsonl").write_text("\n".join(map(json.dumps, claims)), encoding="utf-8")
    return tmp_path


def test_the_same_data_and_seed_give_the_same_weights_and_what_was_used_is_written_beside_them(data: Path) -> None:
    once, again = (as_json(train(data, Reading(WordVectors()), "the eat see", seed=3)) for _ in range(2))
    assert once == again
    made = Trained.model_validate_json(once)
    assert made.seed == 3
    assert [made.data[f"claims {label}"] for label in ("supported", "contradicted", "neither")] == [2, 2, 2]
    assert made.data["abstracts relevant"] == made.data["abstracts irrelevant"] == 6
    assert {"support.auc", "support.macro_f1", "support.calibration_error"} <= set(made.figures)
    assert sum(n for *_, n in made.calibration["support"]) == 6, "figures are of labelled claims alone"
