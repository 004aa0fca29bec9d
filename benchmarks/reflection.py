"""How well the trained critic judges: relevance (ISREL) and support (ISSUP), beside cosine and word overlap.

    python -m benchmarks.reflection [--limit N]

Nothing here was trained on. ISREL: each claim of climate_fever with its five sentences, and each of scifact with the
abstracts that it cites and the nearest that it does not. ISSUP: the claims of scifact with all that they cite, and the
responses of faithbench with their source; a response stands with its weakest sentence, at a threshold of 0.5 that was
fixed beforehand. Cosine and overlap take a passage by its best sentence. Beside each calibration error (ECE) stands
what probabilities that are exactly right would show on as many examples, by chance alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evaluation import evaluation_set
from benchmarks.table import machine, print_aim, print_table, timed_s
from rag_core.embedding.minilm import TextEmbedder
from rag_core.embedding.weights import find_weights
from rag_core.llm.critic import Critic, Judged, weakest
from rag_core.llm.critic.fitting import auc, calibration_error, macro_f1
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.words import stems
from rag_core.settings import Settings

THRESHOLD = 0.5
NEAREST = 5
LABELS = {"NOT_ENOUGH_INFO": 0, "SUPPORT": 1, "CONTRADICT": 2}
HALLUCINATED = ("unwanted", "questionable")
DETECTORS = ("gpt_4o", "gpt-4-turbo", "hhem-2.1", "hhemv1", "trueteacher")


@dataclass(frozen=True)
class Tools:
    """What judges: the critic, and the two simplest things."""

    critic: Critic
    reading: Reading

    def cosine(self, claim: str, passages: Sequence[str]) -> float:
        parts = [part for passage in passages for part in sentences(passage)]
        return float(self.reading.closeness(claim, parts).max(initial=0.0))

    def overlap(self, claim: str, passages: Sequence[str]) -> float:
        said = stems(claim)
        return max(
            (self.reading.coverage(said, stems(part)) for text in passages for part in sentences(text)), default=0
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N of each set")
    limit = parser.parse_args().limit
    print(machine())
    settings = Settings.from_env()
    embedder = TextEmbedder(find_weights(settings), settings.precision, cache_dir=settings.cache_dir)
    reading = Reading(embedder, kept_vectors=100_000)
    tools = Tools(Critic(reading), reading)
    for name, measure in (("climate_fever", climate), ("scifact", scifact), ("faithbench", faithbench)):
        place = evaluation_set(name)
        if place is None:
            print(f"\n{name} is not here: set RAGSCOPE_EVAL_DIR")
            continue
        print(f"\n{name}: {timed_s(lambda measure=measure, place=place: measure(place, tools, limit)):.0f} s")


def climate(place: Path, tools: Tools, limit: int | None) -> None:
    texts = {row["id"]: row["text"] for row in rows_of(place, "corpus")}
    claims = rows_of(place, "queries")[:limit]
    labelled = [
        (claim["question"], texts[id_], label) for claim in claims for id_, label in claim["meta"]["labels"].items()
    ]
    tools.critic.read([text for claim, passage, _ in labelled for text in (claim, passage)])
    right = np.array([label != "NOT_ENOUGH_INFO" for *_, label in labelled])
    scores = relevance_scores([(claim, passage) for claim, passage, _ in labelled], tools)
    reached = print_relevance(f"ISREL, climate_fever, {len(labelled)} sentences", scores, right)
    print_aim("climate_fever ISREL AUC", reached, "at least 0.76", met=reached >= 0.76)


def scifact(place: Path, tools: Tools, limit: int | None) -> None:
    texts = {row["id"]: row["text"] for row in rows_of(place, "corpus")}
    claims = rows_of(place, "queries")[:limit]
    cited = {id_: texts[id_] for claim in claims for id_ in claim["evidence_ids"]}
    tools.critic.read([*(claim["question"] for claim in claims), *cited.values()])
    pairs, right = [], []
    for claim in claims:
        closeness = tools.reading.closeness(claim["question"], list(cited.values()))
        near = [id_ for _, id_ in sorted(zip(-closeness, cited, strict=True)) if id_ not in claim["evidence_ids"]]
        for id_ in (*claim["evidence_ids"], *near[:NEAREST]):
            pairs.append((claim["question"], texts[id_]))
            right.append(id_ in claim["evidence_ids"])
    print_relevance(f"ISREL, scifact, {len(pairs)} abstracts", relevance_scores(pairs, tools), np.array(right))

    given = [(claim["question"], [texts[id_] for id_ in claim["evidence_ids"]]) for claim in claims]
    labels = np.array([LABELS[claim["answers"][0]] for claim in claims])
    judged = [tools.critic.answer_support(claim, passages) for claim, passages in given]
    scores = {
        "critic": np.array([one.supported for one in judged]),
        "cosine": np.array([tools.cosine(*one) for one in given]),
        "word overlap": np.array([tools.overlap(*one) for one in given]),
    }
    said = np.array([label_of(one) for one in judged])
    f1, error = macro_f1(said, labels, 3), calibration_error(scores["critic"], labels == 1)
    of_critic = [f"{f1:.3f}", *calibration_cells(scores["critic"], labels == 1)]
    print_table(
        f"ISSUP, scifact, {len(labels)} claims with all that they cite",
        ["", "AUC", "macro-F1", "ECE", "by chance"],
        [
            [name, f"{auc(of, labels == 1):.3f}", *(of_critic if name == "critic" else [""] * len(of_critic))]
            for name, of in scores.items()
        ],
    )
    reached = auc(scores["critic"], labels == 1)
    print_aim("scifact ISSUP AUC", reached, "at least 0.86", met=reached >= 0.86)
    print_aim("scifact ISSUP macro-F1", f1, "at least 0.60", met=f1 >= 0.60)
    print_aim("scifact ISSUP calibration error", error, "under 0.05", met=error < 0.05)


def faithbench(place: Path, tools: Tools, limit: int | None) -> None:
    responses = rows_of(place, "responses")[:limit]
    faithful = np.array([row["label"] not in HALLUCINATED for row in responses])
    tools.critic.read([text for row in responses for text in (row["response"], row["context"])])

    def weakest_by(score: Callable[[str, Sequence[str]], float]) -> np.ndarray:
        return np.array(
            [min(score(part, [row["context"]]) for part in sentences(row["response"])) for row in responses]
        )

    def held(claim: str, passages: Sequence[str]) -> Judged:
        return tools.critic.answer_support(claim, passages)

    scores = {
        "critic": np.array(
            [
                weakest([held(part, [row["context"]]) for part in sentences(row["response"])]).supported
                for row in responses
            ]
        ),
        "cosine": weakest_by(tools.cosine),
        "word overlap": weakest_by(tools.overlap),
        **{f"published: {name}": np.array([float(row["meta"][name]) for row in responses]) for name in DETECTORS},
    }
    print_table(
        f"ISSUP, faithbench, {len(responses)} responses",
        ["", "AUC", f"balanced accuracy at {THRESHOLD}"],
        [
            [name, f"{auc(of, faithful):.3f}", f"{balanced_accuracy(of >= THRESHOLD, faithful):.3f}"]
            for name, of in scores.items()
        ],
    )
    reached = balanced_accuracy(scores["critic"] >= THRESHOLD, faithful)
    print_aim("faithbench balanced accuracy", reached, "at least 0.58", met=reached >= 0.58)


def relevance_scores(pairs: Sequence[tuple[str, str]], tools: Tools) -> Mapping[str, np.ndarray]:
    return {
        "critic": np.array([tools.critic.relevance(claim, [passage])[0] for claim, passage in pairs]),
        "cosine": np.array([tools.cosine(claim, [passage]) for claim, passage in pairs]),
        "word overlap": np.array([tools.overlap(claim, [passage]) for claim, passage in pairs]),
    }


def print_relevance(title: str, scores: Mapping[str, np.ndarray], right: np.ndarray) -> float:
    """Print the table; give the critic's AUC."""
    cells = [
        [name, f"{auc(of, right):.3f}", *(calibration_cells(of, right) if name == "critic" else ["", ""])]
        for name, of in scores.items()
    ]
    print_table(f"{title}, {right.mean():.2f} of them relevant", ["", "AUC", "ECE", "by chance"], cells)
    return auc(scores["critic"], right)


def calibration_cells(chances: np.ndarray, right: np.ndarray) -> list[str]:
    middle, most = error_by_chance(chances)
    return [f"{calibration_error(chances, right):.3f}", f"{middle:.3f}, to {most:.3f}"]


def error_by_chance(chances: np.ndarray, rounds: int = 1_000) -> tuple[float, float]:
    """The calibration error of these probabilities where they are exactly right: on average, and in one of twenty."""
    draw = np.random.default_rng(0)
    errors = [calibration_error(chances, draw.random(len(chances)) < chances) for _ in range(rounds)]
    return float(np.mean(errors)), float(np.quantile(errors, 0.95))


def label_of(judged: Judged) -> int:
    """The likeliest of neither, supported and contradicted."""
    neither = 1 - judged.supported - judged.contradicted
    return int(np.argmax([neither, judged.supported, judged.contradicted]))


def balanced_accuracy(said: np.ndarray, right: np.ndarray) -> float:
    """The mean of the shares found of either kind."""
    return float((said[right].mean() + (~said[~right]).mean()) / 2)


def rows_of(place: Path, name: str) -> list[dict[str, Any]]:
    path = next(place.glob(f"{name}.jsonl*"))
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


if __name__ == "__main__":
    main()
