"""Trains the critic that comes with the app, and says how well it does on what it was not trained on.

    python -m rag_core.llm.train_critic DATA [--seed N] [--out FILE]

DATA is a folder with SciFact's training claims as BEIR lays them out: `queries_train.jsonl`, `corpus.jsonl[.gz]`. To
these come the demo documents and their questions, and sentences of both that were changed to say something else.
Nothing else is looked at. The same data and seed give the same weights.

Source of SciFact: Wadden et al. 2020, "Fact or Fiction: Verifying Scientific Claims", https://arxiv.org/abs/2004.14974
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from rag_core.embedding.minilm import TextEmbedder
from rag_core.embedding.weights import find_weights
from rag_core.llm.critic.changed import miscounted, negated, shortened, turned
from rag_core.llm.critic.comparing import Comparing
from rag_core.llm.critic.fitting import auc, calibration, calibration_error, cross_validated, fitted, macro_f1
from rag_core.llm.critic.heads import RELEVANCE, SUPPORT, WEIGHTS, Head, Trained
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.words import stem
from rag_core.settings import ROOT, Settings

SUPPORT_PENALTY = 100.0
"""L2, on features of spread 1: a thousand labelled claims and two dozen features would fit too well without."""
RELEVANT_BY = ("cosine", "cosine_pair", "met")
RELEVANCE_PENALTY = 300.0
"""Relevance is learnt from whole abstracts and used on any text: it goes by closeness alone, no part of it by much."""
_CHANGED_COUNT = 0.1
"""How much a changed sentence counts beside a labelled claim: there are many of them, and they are worded like their
passage, as claims seldom are."""
_NEAREST = 5
"""Passages of the demo a question: those that a search would bring."""
_COMMON = 4_000
_DEMO = ROOT / "data"
_SENTENCE_WORDS = range(6, 46)


@dataclass(frozen=True)
class Example:
    """A claim or question beside a passage, with the label of one head."""

    claim: str
    passage: str
    label: int
    kind: str
    group: str
    """Its document: what is learnt from one is never tried on it."""
    weight: float = 1.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=WEIGHTS, metavar="FILE")
    parsed = parser.parse_args(arguments)
    settings = Settings.from_env()
    weights = find_weights(settings)
    reading = Reading(TextEmbedder(weights, settings.precision, cache_dir=settings.cache_dir), kept_vectors=100_000)
    made = train(parsed.data, reading, common_stems(weights), parsed.seed)
    parsed.out.write_text(as_json(made), encoding="utf-8")
    for name, figure in made.figures.items():
        print(f"{name}: {figure:.3f}")
    for head, curve in made.calibration.items():
        print(f"{head}: " + "; ".join(f"said {said:.2f}, was {was:.2f} ({n})" for said, was, n in curve))
    return 0


def train(data: Path, reading: Reading, common: str, seed: int) -> Trained:
    """Learn both heads, and try them on folds that they did not see."""
    claims, abstracts = _claims(data), _abstracts(data)
    comparing = Comparing(reading, common)
    relevance = [*_related(claims, abstracts, reading), *_demo_related(reading)]
    support = [*_labelled(claims, abstracts), *_changed(claims, abstracts, reading, seed)]
    learnt = {
        "relevance": _learnt(relevance, RELEVANCE, comparing, RELEVANCE_PENALTY, RELEVANT_BY),
        "support": _learnt(support, SUPPORT, comparing, SUPPORT_PENALTY),
    }
    return Trained(
        data=dict(sorted(Counter(example.kind for example in (*relevance, *support)).items())),
        seed=seed,
        figures={f"{name}.{figure}": value for name, one in learnt.items() for figure, value in one.figures.items()},
        calibration={name: one.curve for name, one in learnt.items()},
        relevance=learnt["relevance"].head,
        support=learnt["support"].head,
        common=common,
    )


@dataclass(frozen=True)
class Learnt:
    """A head, and how it does on what it was not trained on."""

    head: Head
    figures: dict[str, float]
    curve: tuple[tuple[float, float, int], ...]


def _learnt(
    examples: Sequence[Example],
    classes: Sequence[str],
    comparing: Comparing,
    penalty: float,
    features: Sequence[str] = (),
) -> Learnt:
    """Learn a head from the features named, all of them unless some are."""
    described = comparing.features([(example.claim, (example.passage,)) for example in examples])
    seen = [(example, row) for example, row in zip(examples, described, strict=True) if row]
    rows = [{name: row[name] for name in features or row} for _, row in seen]
    labels = np.array([example.label for example, _ in seen])
    counts = np.array([example.weight for example, _ in seen])
    groups = [example.group for example, _ in seen]
    chances = cross_validated(rows, labels, counts, groups, classes, penalty=penalty)
    by_people = counts == 1
    labelled, said = labels[by_people], chances[by_people]
    return Learnt(
        head=fitted(rows, labels, counts, classes, penalty=penalty),
        figures={
            "auc": round(auc(said[:, 1], labelled == 1), 4),
            "macro_f1": round(macro_f1(said.argmax(axis=1), labelled, len(classes)), 4),
            "calibration_error": round(calibration_error(said[:, 1], labelled == 1), 4),
        },
        curve=tuple((round(mean, 3), round(was, 3), n) for mean, was, n in calibration(said[:, 1], labelled == 1)),
    )


def common_stems(weights: Path) -> str:
    """Stems of general English, the commonest first: the encoder's vocabulary stands in that order."""
    vocabulary = json.loads((weights / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    words = [word for word in sorted(vocabulary, key=vocabulary.__getitem__) if word.isascii() and word.isalpha()]
    found = dict.fromkeys(stem(word) for word in words if len(word) > 1)
    return " ".join([*found][:_COMMON])


def as_json(made: Trained) -> str:
    """The weights as a file that can be read: a line a feature."""
    text = json.dumps(made.model_dump(mode="json"), indent=1, ensure_ascii=False)
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda match: f"[{' '.join(match[1].split())}]", text) + "\n"


# what is learnt from


def _claims(data: Path) -> list[dict[str, Any]]:
    lines = (data / "queries_train.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def _abstracts(data: Path) -> dict[str, dict[str, Any]]:
    path = next(data.glob("corpus.jsonl*"))
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return {row["id"]: row for row in map(json.loads, file)}


def _labelled(claims: Sequence[Mapping[str, Any]], abstracts: Mapping[str, Mapping[str, Any]]) -> Iterator[Example]:
    """Claims beside the abstracts that they cite, as people labelled them."""
    for claim in claims:
        labels = {evidence["doc"]: evidence["label"] for evidence in claim["meta"]["evidence"]}
        for doc in claim["evidence_ids"]:
            label = {"SUPPORT": 1, "CONTRADICT": 2}.get(labels.get(doc, ""), 0)
            yield Example(claim["question"], abstracts[doc]["text"], label, f"claims {SUPPORT[label]}", doc)


def _changed(
    claims: Sequence[Mapping[str, Any]], abstracts: Mapping[str, Mapping[str, Any]], reading: Reading, seed: int
) -> Iterator[Example]:
    """Sentences of the abstracts and of the demo, as they are and changed; titles; sentences of the nearest other."""
    cited = sorted({doc for claim in claims for doc in claim["evidence_ids"]})
    passages = {doc: abstracts[doc]["text"] for doc in cited} | _demo_passages()
    others = _nearest(reading, passages)
    for doc, passage in passages.items():
        draw = Random(f"{seed} {doc}")
        whole = [part for part in sentences(passage) if len(part.split()) in _SENTENCE_WORDS]
        foreign = [part for part in sentences(passages[others[doc]]) if len(part.split()) in _SENTENCE_WORDS]
        if doc in abstracts:
            yield Example(abstracts[doc]["title"], passage, 1, "titles", doc, _CHANGED_COUNT)
            yield Example(abstracts[doc]["title"], passages[others[doc]], 0, "titles of others", doc, _CHANGED_COUNT)
        for sentence in draw.sample(whole, min(2, len(whole))):
            short = shortened(sentence)
            made = {
                "sentences": (short, 1),
                "numbers changed": (miscounted(short, draw), 2),
                "negated": (negated(short), 2),
                "turned": (turned(short, draw), 2),
                "sentences of others": (shortened(draw.choice(foreign)) if foreign else None, 0),
            }
            for kind, (text, label) in made.items():
                if text:
                    yield Example(text, passage, label, kind, doc.partition("#")[0], _CHANGED_COUNT)


def _related(
    claims: Sequence[Mapping[str, Any]], abstracts: Mapping[str, Mapping[str, Any]], reading: Reading
) -> Iterator[Example]:
    """The abstracts that a claim cites, and beside each the nearest of those that it does not."""
    cited = {doc: abstracts[doc]["text"] for claim in claims for doc in claim["evidence_ids"]}
    for claim in claims:
        question, own = claim["question"], claim["evidence_ids"]
        others = [text for doc, text in cited.items() if doc not in own]
        near = np.argsort(-reading.closeness(question, others), kind="stable")
        for doc, row in zip(own, near, strict=False):
            yield Example(question, cited[doc], 1, "abstracts relevant", doc)
            yield Example(question, others[row], 0, "abstracts irrelevant", doc)


def _demo_related(reading: Reading) -> Iterator[Example]:
    """The passages of the demo nearest to one of its questions: with the answer in them, and without."""
    passages = _demo_passages()
    texts = list(passages.values())
    for line in (_DEMO / "demo" / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        asked = json.loads(line)
        if not asked["evidence"] or not asked["answers"]:
            continue
        for row in np.argsort(-reading.closeness(asked["question"], texts), kind="stable")[:_NEAREST]:
            label = int(any(answer.lower() in texts[row].lower() for answer in asked["answers"]))
            yield Example(asked["question"], texts[row], label, f"demo {RELEVANCE[label]}", f"demo {asked['id']}")


def _demo_passages() -> dict[str, str]:
    """The paragraphs of the demo documents, by file and number."""
    found = {}
    for path in sorted((_DEMO / "demo_world" / "text").iterdir()):
        for number, block in enumerate(path.read_text(encoding="utf-8").split("\n\n")):
            plain = re.sub(r"\*\*|\^\d+\^|\\$", "", block, flags=re.MULTILINE).strip()
            if not plain.startswith(("@", "|", "#")) and len(plain.split()) >= 20:
                found[f"{path.name}#{number}"] = plain
    return found


def _nearest(reading: Reading, passages: Mapping[str, str]) -> dict[str, str]:
    """For each passage the one most like it."""
    names = list(passages)
    vectors = reading.vectors(list(passages.values()))
    close = vectors @ vectors.T
    np.fill_diagonal(close, -1)
    return {name: names[int(row.argmax())] for name, row in zip(names, close, strict=True)}


if __name__ == "__main__":
    sys.exit(main())
