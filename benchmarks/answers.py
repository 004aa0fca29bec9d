"""What answers without a model are worth: right, short, honest about what is not there and what is contradicted.

    python -m benchmarks.answers [--set NAME]... [--limit N] [--plan PLAN]... [--checks] [--data FOLDER]

Questions are asked as users ask them. An answer is right when a sentence of it that cites something holds a gold
answer; numbers are compared with a tolerance of half a percent, whatever their scale. 'other half' is the same over
the questions (by a hash of their ids) that no rule was tuned on. Beside each plan, from the same evidence: its one best
sentence by cosine and rare words, and the first sentence of its first chunk. `--checks` says instead what corrective
retrieval, Self-RAG and healing change in the answers of the plan balanced. Indexes are kept in the folder.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from pydantic import AliasChoices, BaseModel, Field

from benchmarks.evaluation import ROOT, evaluation_set
from benchmarks.table import machine, print_aim, print_table
from rag_core.llm.reading.reading import Reading
from rag_core.llm.reading.sentences import sentences
from rag_core.llm.reading.words import stems
from rag_core.pipeline.plan import PRESETS, Plan
from rag_core.pipeline.run import Run
from rag_core.settings import Settings
from rag_core.workbench import Workbench

SETS = ("xquad", "hotpotqa", "rgb_fact", "demo", "uda", "financebench", "mmlongbench")
PDFS = ("uda", "financebench", "mmlongbench")
FOREIGN = {"xquad": "hotpotqa", "hotpotqa": "xquad", "rgb_fact": "xquad"}
"""Corpora that do not hold the answers of a set: its questions are unanswerable there."""
CHECKS = ("crag", "self_rag", "heal")
RIGHT, WORDS, WRONGLY_REFUSED, SIMPLE_MS = 0.90, 60, 0.10, 100
_TOLERANCE = 0.005
_LONG, _MOST = 8, 0.6
"""Content words of an answer that is a summary, and the share of them that is enough."""
_SCALES = (1, 1_000, 1_000_000, 1_000_000_000)
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


class Question(BaseModel):
    """A question of a set with its gold answers."""

    id: str
    question: str
    answers: list[str]
    kind: str = Field(validation_alias=AliasChoices("kind", "type"))
    meta: dict = {}

    @property
    def answerable(self) -> bool:
        return self.kind != "unanswerable"

    @property
    def documents(self) -> list[str]:
        """The document that its reader has open."""
        name = self.meta.get("doc", "")
        return [name if name.endswith(".pdf") else f"{name}.pdf"] if name else []

    @property
    def tuned_on(self) -> bool:
        return hashlib.sha256(self.id.encode()).digest()[-1] % 2 == 0


@dataclass(frozen=True)
class Given:
    """What a way of answering gave: its text as far as it cites something."""

    text: str
    refused: bool = False
    ms: float = 0.0

    @property
    def words(self) -> int:
        return len(self.text.split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", choices=SETS, help="only this one; repeatable")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions of each set")
    parser.add_argument("--plan", action="append", choices=list(PRESETS), help="instead of simple and balanced")
    parser.add_argument("--checks", action="store_true", help="what each check changes, instead of the plans")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "ragscope-answers")
    parsed = parser.parse_args()
    print(machine())
    plans = parsed.plan or ["simple", "balanced"]
    with Workbench.open(Settings.from_env({"RAGSCOPE_DATA_DIR": str(parsed.data)})) as workbench:
        for name in parsed.set or SETS:
            if indexed(workbench, name):
                questions = questions_of(name)[: parsed.limit]
                if parsed.checks:
                    measure_checks(workbench, name, questions)
                else:
                    measure(workbench, name, questions, plans)


def indexed(workbench: Workbench, name: str) -> bool:
    """Have a set's documents in a collection of its name, and those of the corpus that is foreign to it."""
    for one in filter(None, (name, FOREIGN.get(name))):
        place = ROOT / "data" / "demo" if one == "demo" else evaluation_set(one)
        if place is None:
            print(f"\n{one} is not here: set RAGSCOPE_EVAL_DIR")
            return False
        pdfs = {"demo": place, **dict.fromkeys(PDFS, place / "pdfs")}
        workbench.ingest(pdfs.get(one) or next(place.glob("corpus.jsonl*")), collection=one)
    return True


def questions_of(name: str) -> list[Question]:
    place = ROOT / "data" / "demo" / "questions.jsonl" if name == "demo" else None
    place = place or (evaluation_set(name) or Path()) / "queries.jsonl"
    return [Question.model_validate_json(line) for line in place.read_text(encoding="utf-8").splitlines()]


def measure(workbench: Workbench, name: str, questions: Sequence[Question], plans: Sequence[str]) -> None:
    rows, given = [], {}
    for plan in plans:
        runs = [asked(workbench, question, name, PRESETS[plan]) for question in questions]
        given[plan] = [answer_of(run) for run in runs]
        rows.append(row_of(f"plan {plan}", questions, given[plan]))
        if plan == plans[0]:
            reading = workbench._reading.over(workbench._ledger.statistics(name))
            rows += [
                row_of(way, questions, [Given(pick(run, reading)) for run in runs]) for way, pick in BASELINES.items()
            ]
    header = [f"{name}, {len(questions)} questions", "right", "other half", "F1", "words", "refused", "median ms"]
    print_table("Answers", header, rows)
    for plan, of_plan in given.items():
        report(workbench, name, plan, questions, of_plan)


def measure_checks(workbench: Workbench, name: str, questions: Sequence[Question]) -> None:
    """Ask once without any check, with each of them alone, and with all."""
    ways = [*with_checks().items()]
    given: dict[str, list[Given]] = {way: [] for way, _ in ways}
    for number, question in enumerate(questions):
        first = number % len(ways)  # in turn: who asks first reads the passages for the others
        for way, plan in ways[first:] + ways[:first]:
            given[way].append(answer_of(asked(workbench, question, name, plan)))
    plain = given["none"]
    header = [f"{name}, {len(questions)} questions", "right", "other half", "F1", "words", "refused", "median ms"]
    rows = [
        [*row_of(way, questions, of), *changes(questions, plain, of), false_share(questions, of)]
        for way, of in given.items()
    ]
    print_table("Checks", [*header, "changed", "better", "worse", "false said"], rows)


def with_checks() -> dict[str, Plan]:
    """The plan balanced without any check, with each of them, and with all; corrective retrieval without the web."""
    plain = PRESETS["balanced"].off("heal")
    all_of_them = plain
    for check in CHECKS:
        all_of_them = all_of_them.on(check)
    return {"none": plain, **{check: plain.on(check) for check in CHECKS}, "all": all_of_them}


def changes(questions: Sequence[Question], plain: Sequence[Given], given: Sequence[Given]) -> list[str]:
    """How many answers are other than the plain ones, and how many are right (or rightly refused) that were not."""
    right = [[is_good(*pair) for pair in zip(questions, of, strict=True)] for of in (plain, given)]
    told = [one.text != other.text for one, other in zip(plain, given, strict=True)]
    better = sum(now and not was for was, now in zip(*right, strict=True))
    worse = sum(was and not now for was, now in zip(*right, strict=True))
    return [str(sum(told)), str(better), str(worse)]


def is_good(question: Question, given: Given) -> bool:
    return is_right(question, given) if question.answerable else given.refused


def false_share(questions: Sequence[Question], given: Sequence[Given]) -> str:
    """The share of answers that say what a false snippet says; nothing where there are none."""
    pairs = [pair for pair in zip(questions, given, strict=True) if "fake_answers" in pair[0].meta]
    return f"{share(pairs, says_false):.3f}" if pairs else ""


def asked(workbench: Workbench, question: Question, collection: str, plan: Plan) -> Run:
    documents = question.documents if collection in PDFS else []
    return workbench.ask(question.question, collection=collection, documents=documents, plan=plan, engine="keyless")


def answer_of(run: Run) -> Given:
    cited = " ".join(sentence.text for sentence in run.sentences if sentence.citations)
    return Given("" if run.refused else cited, refused=run.refused, ms=1_000 * run.seconds)


def row_of(way: str, questions: Sequence[Question], given: Sequence[Given]) -> list[str]:
    pairs = [pair for pair in zip(questions, given, strict=True) if pair[0].answerable]
    other = [pair for pair in pairs if not pair[0].tuned_on]
    return [
        way,
        f"{share(pairs, is_right):.3f}",
        f"{share(other, is_right):.3f}",
        f"{share(pairs, lambda question, one: token_f1(one.text, question.answers)):.3f}",
        f"{share(pairs, lambda question, one: one.words):.0f}",
        f"{share(pairs, lambda question, one: one.refused):.3f}",
        f"{median(one.ms for one in given):.0f}" if any(one.ms for one in given) else "",
    ]


def report(workbench: Workbench, name: str, plan: str, questions: Sequence[Question], given: Sequence[Given]) -> None:
    """What only some sets can tell: kinds, conflicts, what is not there."""
    pairs = [*zip(questions, given, strict=True)]
    answerable = [pair for pair in pairs if pair[0].answerable]
    if name == "demo":
        print_table(f"By kind, plan {plan}", ["", "questions", "right", "refused"], [*by_kind(pairs)])
    if name == "rgb_fact":
        print_table(f"False snippets, plan {plan}", ["share of questions", ""], [*false_snippets(pairs)])
    said = share(answerable, lambda _, one: "documents disagree" in one.text)
    print(f"\n{name}, plan {plan}: a conflict is said in {said:.3f} of the answers")
    if absent := [pair for pair in pairs if not pair[0].answerable]:
        print(f"{name}, plan {plan}: {share(absent, was_refused):.3f} of {len(absent)} unanswerable questions refused")
    if foreign := FOREIGN.get(name):
        strange = [(one, answer_of(asked(workbench, one, foreign, PRESETS[plan]))) for one in questions]
        print(f"{name}, plan {plan}: {share(strange, was_refused):.3f} refused when asked of {foreign}")
    wrongly = share(answerable, was_refused)
    print_aim(f"{name}, plan {plan}, wrongly refused", wrongly, f"at most {WRONGLY_REFUSED}", met=wrongly <= 0.10)
    if name == "xquad" and plan == "simple":
        right, words = share(answerable, is_right), mean(one.words for _, one in answerable)
        ms = median(one.ms for one in given)
        print_aim("xquad, right", right, f"at least {RIGHT}", met=right >= RIGHT)
        print_aim("xquad, words", words, f"at most {WORDS}", met=words <= WORDS)
        print_aim("xquad, median", ms, f"at most {SIMPLE_MS}", met=ms <= SIMPLE_MS, unit=" ms")


Pairs = Sequence[tuple[Question, Given]]


def share(pairs: Pairs, counts: Callable[[Question, Given], float]) -> float:
    return mean(counts(question, given) for question, given in pairs) if pairs else 0.0


def was_refused(_: Question, given: Given) -> bool:
    return given.refused


def by_kind(pairs: Pairs) -> Iterator[list[str]]:
    for kind in dict.fromkeys(question.kind for question, _ in pairs):
        of = [pair for pair in pairs if pair[0].kind == kind]
        right = f"{share(of, is_right):.3f}" if of[0][0].answerable else ""
        yield [kind, str(len(of)), right, f"{share(of, was_refused):.3f}"]


def says_false(question: Question, given: Given) -> bool:
    return holds(given.text, question.meta["fake_answers"])


def false_snippets(pairs: Pairs) -> Iterator[list[str]]:
    yield ["the true answer is said", f"{share(pairs, is_right):.3f}"]
    yield ["the false answer is said", f"{share(pairs, says_false):.3f}"]
    alone = share(pairs, lambda question, given: says_false(question, given) and not is_right(question, given))
    yield ["the false answer alone", f"{alone:.3f}"]
    unsaid = share(
        pairs, lambda question, given: says_false(question, given) and "documents disagree" not in given.text
    )
    yield ["the false answer, and no conflict said", f"{unsaid:.3f}"]


# the ways to compare with


def best_sentence(run: Run, reading: Reading) -> str:
    found = [sentence for hit in run.evidence for sentence in sentences(hit.chunk.text)]
    asked = stems(run.question)
    closeness = reading.closeness(run.question, found)
    scores = [float(close) + reading.coverage(asked, stems(one)) for close, one in zip(closeness, found, strict=True)]
    return found[scores.index(max(scores))] if found else ""


def first_sentence(run: Run, _: Reading) -> str:
    return next((sentence for hit in run.evidence[:1] for sentence in sentences(hit.chunk.text)), "")


BASELINES: dict[str, Callable[[Run, Reading], str]] = {
    "its best sentence": best_sentence,
    "its first chunk's first": first_sentence,
}


# what counts as right


def is_right(question: Question, given: Given) -> bool:
    return holds(given.text, question.answers)


def holds(text: str, answers: Sequence[str]) -> bool:
    """Whether a text has one of the answers: its words in a row, its number where it is one, most of it where long."""
    told = f" {' '.join(plain_words(text))} "
    for answer in answers:
        wanted, numbers = " ".join(plain_words(answer)), numbers_of(answer)
        if wanted and f" {wanted} " in told:
            return True
        gold = set(stems(answer))
        if len(gold) >= _LONG and len(gold & set(stems(text))) >= _MOST * len(gold):
            return True
        if len(numbers) == 1 and len(wanted.split()) <= 3 and any(alike(numbers[0], one) for one in numbers_of(text)):
            return True
    return False


def plain_words(text: str) -> list[str]:
    """Lower case, without punctuation and articles, as SQuAD compares them."""
    bare = re.sub(r"[^\w.%]|(?<!\d)\.|\.(?!\d)", " ", re.sub(r"(?<=\d),(?=\d{3})", "", text.lower()))
    return [word for word in bare.replace("%", " percent ").split() if word not in ("a", "an", "the")]


def numbers_of(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in _NUMBER.findall(text)]


def alike(gold: float, told: float) -> bool:
    """Whether two numbers are the same but for rounding and scale; counts up to ten must be exact."""
    if gold <= 10 and gold == int(gold):
        return told == gold
    scaled = [told * scale for scale in _SCALES] + [told / scale for scale in _SCALES]
    return any(abs(one - gold) <= _TOLERANCE * gold for one in scaled)


def token_f1(text: str, answers: Sequence[str]) -> float:
    """The best overlap of words with an answer: the harmonic mean of precision and recall."""
    told = Counter(plain_words(text))
    best = 0.0
    for answer in answers:
        gold = Counter(plain_words(answer))
        if shared := (told & gold).total():
            best = max(best, 2 * shared / (told.total() + gold.total()))
    return best


if __name__ == "__main__":
    main()
