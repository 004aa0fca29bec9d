from collections.abc import Iterator, Sequence

import pytest

from rag_core.llm.connections import ModelConnection
from rag_core.llm.engine import Engine, KeylessEngine
from rag_core.llm.model import ModelEngine
from rag_core.llm.reading.reading import Reading
from rag_core.techniques.base import Listed
from rag_core.techniques.scan import Scan, Scanned, ScanSettings, whole_question
from rag_core.types import Chunk, Hit
from tests.fakes import Watch, WordVectors, a_chunk
from tests.model_server import model_server, says

DOCUMENT = Listed(id="doc", name="report.pdf", pages=9)
CHUNKS = [
    a_chunk("Risks of the fox. The fox is a risk.", id_="a", page=1, section=("Foxes",)),
    a_chunk("", id_="f1", page=2, kind="figure", caption="Figure 1: A fox.", section=("Foxes",)),
    a_chunk("x | y", id_="t1", page=3, kind="table", section=("Owls",)),
    a_chunk("x | z", id_="t2", page=3, kind="table", section=("Owls",)),
    a_chunk("Figure 2: An owl.\nQuiz 1: what is a fox?", id_="b", page=4, section=("Owls",)),
]


class Shelf:
    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = chunks

    def document(self, document: str) -> Iterator[Chunk]:
        return iter(self.chunks)

    def hybrid(self, *_: object, **asked: object) -> list[Hit]:
        raise AssertionError("nothing is searched for")


def scanned(question: str, engine: Engine | None = None, **settings: int) -> Scanned | None:
    asked = whole_question(question)
    assert asked is not None
    scan = Scan(ScanSettings(**settings), Shelf(CHUNKS), engine or KeylessEngine(), Reading(WordVectors()))
    return scan.answer(question, asked, DOCUMENT, Watch())


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("How many figures are there in total in the article?", ("figure", "figures")),
        ("How many pages does the document have?", ("page", "pages")),
        ("How many tables are there in this paper?", ("table", "tables")),
        ("Which pages mention quality healing?", ("mention", "quality healing")),
        ("On which pages is the word “DataWeave” mentioned?", ("mention", "DataWeave")),
        ("How often is Dr. Okafor mentioned?", ("mention", "Dr. Okafor")),
        ("How many quizzes are there in the entire course?", ("other", "quizzes")),
        ("List all tables in the report.", ("table", "tables")),
        ("How many employees does Corvane have?", None),
        ("How many figures did they find?", None),
        ("What drove the growth?", None),
        ("By how many percentage points did guidance for the full year rise?", None),
    ],
)
def test_what_is_asked_of_the_whole_is_told_from_a_lookup(question: str, asked: tuple[str, str] | None) -> None:
    found = whole_question(question)
    assert ((found.counts, found.what) if found else None) == asked


@pytest.mark.parametrize(
    ("question", "answer", "cited"),
    [
        ("How many figures are there in the report?", "report.pdf has 2 figures: page 2; page 4.", ("f1", "b")),
        ("How many tables are there in the report?", "report.pdf has 1 table: page 3.", ("t1",)),
        ("How many pages does the report have?", "report.pdf has 9 pages.", ("a",)),
        ("How many sections are there in the report?", "report.pdf has 2 sections: page 1; page 3.", ("a", "t1")),
        (
            "Which pages mention the fox?",
            "“fox” stands 4 times in report.pdf, on 3 pages: page 1 (2); page 2; page 4.",
            ("a", "f1", "b"),
        ),
    ],
)
def test_what_rules_can_count_is_counted_over_all_chunks(question: str, answer: str, cited: tuple[str, ...]) -> None:
    found = scanned(question)
    assert found is not None
    assert found.sentences[0].text == answer
    assert found.sentences[0].citations == cited == tuple(hit.chunk.id for hit in found.hits)
    assert found.sentences[0].computed == "counted over 9 pages, 5 chunks"
    assert found.complete


def test_without_a_model_what_takes_reading_is_not_counted_but_where_it_stands_is_said() -> None:
    found = scanned("How many quiz questions are there in the entire report?")
    assert found is None, "the words do not stand there"
    found = scanned("How many risks of the fox are there in the entire report?")
    assert found is not None
    assert "a model has to read the pages" in found.sentences[0].text
    assert "page 1" in found.sentences[0].text
    assert not found.complete


def test_a_model_collects_batch_by_batch_and_the_code_counts() -> None:
    replies = [
        '{"items": [{"name": "fox", "passage": 1}]}',
        '{"items": [{"name": "Fox", "passage": 1}, {"name": "owl", "passage": 2}, {"name": "x", "passage": 9}]}',
    ]
    with model_server() as server:
        server.script = [says(reply) for reply in replies]
        model = ModelEngine(ModelConnection(kind="openai", base_url=server.base_url, model="scripted"))
        found = scanned("How many animals are there in the entire report?", model, batch=2, max_batches=2)
    assert found is not None
    assert found.sentences[0].text == ("2 animals: fox (page 1); owl (page 3). The scan ended after 4 of 5 chunks.")
    assert found.sentences[0].citations == ("a", "t2")
