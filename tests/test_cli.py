"""The command line as other programs use it: run as a program, fields and exit status as docs/cli.md has them."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from rag_core.cli import record_as_json
from rag_core.pipeline.run import Run
from rag_core.settings import ROOT
from tests.model_server import Turn, model_server, says
from tests.parsing import pdfs

PASSAGES = [
    {"id": f"p{number}", "title": animal, "text": f"The {animal} lives in the {place}. It eats {food}."}
    for number, (animal, place, food) in enumerate(
        [("red fox", "forest", "mice"), ("barn owl", "church tower", "voles"), ("pike", "lake", "perch")]
    )
]
ANSWER_FIELDS = set(
    "id question plan engine final_answer refused confidence quality_achieved total_hops iteration_count "
    "healing_attempts seconds searches model_calls tokens cost run sentences retrieved_contexts techniques".split()
)
CONTEXT_FIELDS = set("chunk document name source page kind text score scores isrel".split())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory into which the passages were indexed from the command line."""
    folder = tmp_path_factory.mktemp("cli")
    source = folder / "animals.jsonl"
    source.write_text("\n".join(json.dumps(passage) for passage in PASSAGES), encoding="utf-8")
    done = run(folder / "data", "ingest", str(source), "--json")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    told = json.loads(line)
    assert set(told) == set("document name state pages chunks failed_pages reason seconds".split())
    assert (told["name"], told["state"], told["chunks"]) == ("animals.jsonl", "indexed", 3)
    return folder / "data"


def run(data: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rag_core", *arguments],
        cwd=ROOT,
        env={**os.environ, "RAGSCOPE_DATA_DIR": str(data), **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def lines(path: Path) -> Sequence[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_tree_is_built_and_told_of(data: Path, tmp_path: Path) -> None:
    copy = tmp_path / "tree.json"
    done = run(data, "tree", "build", "--engine", "keyless", "--json", RAPTOR_TREE_PATH=str(copy))
    assert done.returncode == 0, done.stderr
    assert "1 documents, 3 chunks" in done.stderr
    told = json.loads(done.stdout)
    assert (told["state"], told["levels"], told["estimate"]["documents"]) == ("ready", [1], 0)
    (node,) = json.loads(copy.read_text(encoding="utf-8"))["nodes"]
    assert len(node["children"]) == 3


def test_a_graph_is_built_told_of_and_asked(data: Path) -> None:
    done = run(data, "graph", "build", "--engine", "keyless", "--json")
    assert done.returncode == 0, done.stderr
    assert "3 chunks" in done.stderr
    told = json.loads(done.stdout)
    assert (told["state"], told["chunks"]) == ("ready", 3)
    assert told["entities"] > 0
    asked = run(data, "graph", "cypher", "MATCH (e:Entity) RETURN count(e) AS n", "--json")
    assert json.loads(asked.stdout) == {"n": told["entities"]}


def test_one_question_is_answered_as_json_with_every_field(data: Path) -> None:
    done = run(data, "ask", "Where does the barn owl live?", "--json", "--set", "hybrid.alpha=0.3", "--off", "validate")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert set(told) >= ANSWER_FIELDS
    assert "church tower" in told["final_answer"]
    assert told["plan"] == "custom"
    assert (told["model_calls"], told["tokens"], told["cost"]) == (0, 0, 0.0)
    first = told["retrieved_contexts"][0]
    assert set(first) == CONTEXT_FIELDS
    assert first["source"] == "p1"
    assert first["chunk"] in told["sentences"][0]["citations"]
    assert not told["techniques"]["validate"]["ran"]


def test_a_file_of_questions_is_answered_in_order_and_gone_on_with_after_a_kill(data: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    asked = [{"id": f"q{n}", "question": f"Where does the {p['title']} live?"} for n, p in enumerate(PASSAGES)]
    questions.write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    out = tmp_path / "answers.jsonl"
    assert run(data, "ask", "--questions", str(questions), "--out", str(out)).returncode == 0
    whole = lines(out)
    assert [line["id"] for line in whole] == ["q0", "q1", "q2"]
    assert [line["retrieved_contexts"][0]["source"] for line in whole] == ["p0", "p1", "p2"]

    first, *rest = out.read_text(encoding="utf-8").splitlines(keepends=True)
    out.write_text(first + rest[0][:40], encoding="utf-8")
    assert run(data, "ask", "--questions", str(questions), "--out", str(out)).returncode == 0
    again = lines(out)
    assert [line["id"] for line in again] == ["q0", "q1", "q2"]
    assert again[0]["run"] == whole[0]["run"], "what was answered is not asked again"


def test_answers_to_other_questions_are_not_written_over(data: Path, tmp_path: Path) -> None:
    questions, out = tmp_path / "questions.jsonl", tmp_path / "answers.jsonl"
    questions.write_text(json.dumps({"id": 1, "question": "Where?"}), encoding="utf-8")
    out.write_text(json.dumps({"id": 2}) + "\n", encoding="utf-8")
    done = run(data, "ask", "--questions", str(questions), "--out", str(out))
    assert done.returncode == 2
    assert "other questions" in done.stderr
    assert out.read_text(encoding="utf-8") == json.dumps({"id": 2}) + "\n"


def test_a_question_that_fails_is_named_and_stops_none_of_the_others(data: Path, tmp_path: Path) -> None:
    questions, out = tmp_path / "questions.jsonl", tmp_path / "answers.jsonl"
    asked = [
        {"id": "bad", "question": "Where?", "document": "none.pdf"},
        {"id": "good", "question": "Where does the pike live?", "documents": ["animals.jsonl"]},
    ]
    questions.write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    done = run(data, "ask", "--questions", str(questions), "--out", str(out))
    assert done.returncode == 1
    assert "bad: There is no document 'none.pdf'" in done.stderr
    bad, good = lines(out)
    assert bad["error"]
    assert "lake" in good["final_answer"]


def test_a_document_is_known_without_its_ending_and_case_and_one_that_is_nearly_named_is_offered(data: Path) -> None:
    done = run(data, "ask", "Where does the pike live?", "--document", "ANIMALS", "--json")
    assert done.returncode == 0, done.stderr
    assert "lake" in json.loads(done.stdout)["final_answer"]
    done = run(data, "ask", "Where does the pike live?", "--document", "animal.jsonl")
    assert done.returncode == 2
    assert done.stderr.strip().endswith(
        "There is no document 'animal.jsonl' in 'Documents'; did you mean animals.jsonl?"
    )


def test_two_data_directories_never_see_each_other(data: Path, tmp_path: Path) -> None:
    done = run(tmp_path / "other", "ask", "Where does the pike live?")
    assert done.returncode == 1
    assert "no documents yet" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ask", "Where?", "--plan", "magic"], "There is no plan 'magic'"),
        (["ask", "Where?", "--set", "hybrid.alpha=7"], "hybrid.alpha='7'"),
        (["ask", "Where?", "--on", "magic"], "There is no technique 'magic'"),
        (["ask"], "Give a question"),
        (["graph", "cypher"], "needs a query"),
        (["ask", "--questions", "q.jsonl"], "--out"),
        (["ingest", "no-such-file.pdf"], "no file or folder"),
        (["ask", "Where?", "--contexts", "0"], "from 1 to 200"),
    ],
)
def test_wrong_use_is_one_sentence_and_status_2(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_environment_does_not_start(tmp_path: Path) -> None:
    done = run(tmp_path, "list", RAGSCOPE_MAX_PAGES="many")
    assert done.returncode == 2
    assert done.stderr.startswith("RAGSCOPE_MAX_PAGES='many' is not allowed")


def test_a_file_that_fails_gives_status_1_and_its_reason(data: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"not a PDF at all")
    done = run(data, "ingest", str(broken), "--collection", "Broken", "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["state"] == "failed"
    assert "not a PDF" in told["reason"]


def test_documents_are_listed_and_removed(data: Path, tmp_path: Path) -> None:
    source = tmp_path / "gone.jsonl"
    source.write_text(json.dumps({"id": "g", "text": "A gnu grazes."}), encoding="utf-8")
    run(data, "ingest", str(source), "--collection", "Gone")
    listed = run(data, "list", "--collection", "Gone", "--json")
    assert [json.loads(line)["name"] for line in listed.stdout.splitlines()] == ["gone.jsonl"]
    assert run(data, "delete", "gone.jsonl", "--collection", "Gone").returncode == 0
    assert run(data, "list", "--collection", "Gone", "--json").stdout == ""
    assert run(data, "delete", "gone.jsonl", "--collection", "Gone").returncode == 2


def test_the_contexts_asked_for_are_given_and_never_fewer_than_ten() -> None:
    known = {"question": "?", "engine": "keyless", "collection": "c", "created_at": "", "status": "done"}
    empty = Run.model_validate({"id": "r", "chat": "", "plan": {"name": "simple"}, **known})
    assert set(record_as_json(empty, None)) >= ANSWER_FIELDS
    assert record_as_json(empty, 7)["id"] == 7


ANSWERS = [
    {
        "id": "a",
        "question": "What was revenue in 2023?",
        "answer": "Revenue was $50 million in 2023. Penguins swim in cold water.",
        "contexts": ["The forecast is rain.", "Revenue was $50 million in 2023, more than ever."],
    },
    {"id": 2, "answer": "The fox\u2028runs \ud800 far.", "contexts": [], "note": "left alone"},
    {"id": "empty", "question": None, "answer": "", "contexts": ["", "Rain."]},
]


def test_answers_from_anywhere_are_verified_in_order_and_gone_on_with_after_a_kill(tmp_path: Path) -> None:
    given, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    given.write_text("\n".join(map(json.dumps, ANSWERS)) + "\n\n", encoding="utf-8")
    done = run(tmp_path / "data", "verify", str(given), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "data" / "weaviate").exists(), "no server is started for it"
    first, second, empty = whole = lines(out)
    assert set(first) >= {"id", "supported", "probability", "isuse", "contexts", "sentences"}
    assert [line["id"] for line in whole] == ["a", 2, "empty"]
    held, made_up = first["sentences"]
    assert (held["text"], held["context"]) == ("Revenue was $50 million in 2023.", 1)
    assert held["probability"] > 0.5 > made_up["probability"] == first["probability"]
    assert (held["support"], made_up["support"], first["supported"]) == ("fully_supported", "no_support", False)
    assert [context["isrel"] for context in first["contexts"]] == ["irrelevant", "relevant"]
    assert first["isuse"] in range(1, 6)
    assert (second["contexts"], second["sentences"][0]["context"], second["supported"]) == ([], None, False)
    assert (empty["sentences"], empty["probability"], len(empty["contexts"])) == ([], 0.0, 2)

    kept, half = out.read_text(encoding="utf-8").split("\n")[:2]
    out.write_text(f"{kept}\n{half[:30]}", encoding="utf-8")
    assert run(tmp_path / "data", "verify", str(given), "--out", str(out)).returncode == 0
    assert lines(out) == whole


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": 1, "answer": "a"}', "line 2: it is not an object with id, answer and contexts"),
        ('{"id": 1, "answer": "a", "contexts": "text"}', "line 2: it is not"),
        ("not JSON", "line 2: it is not"),
    ],
)
def test_a_line_that_is_no_answer_is_named_and_nothing_is_verified(tmp_path: Path, line: str, said: str) -> None:
    given, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    given.write_text(json.dumps(ANSWERS[0]) + f"\n{line}\n", encoding="utf-8")
    done = run(tmp_path / "data", "verify", str(given), "--out", str(out))
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not out.exists()


def test_a_model_verifies_where_it_is_asked_to_and_where_it_fails_the_critic_does(tmp_path: Path) -> None:
    given, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    asked = ["What does it say well?", "What does it say in braces?", "What does it not say?"]
    answers = [ANSWERS[0] | {"id": question, "question": question} for question in asked]
    given.write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")

    def judged(prompt: str) -> Turn:
        if asked[0] not in prompt:
            return says('{"isrel": 1' if asked[1] in prompt else "I am sorry, I cannot judge that.")
        if "How useful" in prompt:
            return says("[Utility:2]")
        # Other than the critic says: it finds the penguins nowhere.
        said = "[Relevant]\n1 [Partially supported]\n2 [Fully supported]"
        return says(said if "forecast" in prompt else "[Irrelevant]\n1 [No support]\n2 [No support]")

    with model_server() as server:
        server.then = judged
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "scripted", "OPENAI_API_KEY": "none"}
        done = run(tmp_path / "data", "verify", str(given), "--out", str(out), "--engine", "model", **environment)
    assert done.returncode == 0, done.stderr
    good, braces, refused = lines(out)
    assert [(one["support"], one["probability"], one["context"]) for one in good["sentences"]] == [
        ("partially_supported", 0.5, 0),
        ("fully_supported", 1.0, 0),
    ]
    assert [context["isrel"] for context in good["contexts"]] == ["relevant", "irrelevant"]
    assert (good["supported"], good["isuse"], good["note"]) == (True, 2, "")
    for failed in (braces, refused):
        assert [one["support"] for one in failed["sentences"]] == ["fully_supported", "no_support"]
        assert not failed["supported"]
        assert "gave no usable reply" in failed["note"]
    assert run(tmp_path, "verify", str(given), "--out", f"{out}.2", "--engine", "model").returncode != 0


def test_verdicts_are_not_written_over_what_they_are_of_or_over_others(tmp_path: Path) -> None:
    given, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    given.write_text(json.dumps(ANSWERS[0]) + "\n", encoding="utf-8")
    assert run(tmp_path, "verify", str(given), "--out", str(given)).returncode == 2
    out.write_text(json.dumps({"id": "other"}) + "\n", encoding="utf-8")
    done = run(tmp_path, "verify", str(given), "--out", str(out))
    assert done.returncode == 2
    assert "other answers" in done.stderr
    assert run(tmp_path, "verify", str(given), "--out", str(tmp_path / "no" / "out.jsonl")).returncode == 2
    assert run(tmp_path, "verify", str(tmp_path / "none.jsonl"), "--out", str(out)).returncode == 2


def test_figures_are_described_when_asked_after_what_it_takes_is_said(tmp_path: Path) -> None:
    path = pdfs.figures(tmp_path / "a.pdf")
    with model_server(models=["seeing"]) as server:
        server.then = says('{"description": "A zeppelin above a harbour."}')
        endpoint = {
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_MODEL": "text-only",
            "MULTIMODAL_VISION_MODEL": "seeing",
        }
        first, again = (run(tmp_path / "data", "ingest", str(path), "--describe", **endpoint) for _ in range(2))
        paid = len(server.asked)
    assert (first.returncode, again.returncode) == (0, 0), first.stderr
    assert paid == 2
    assert "Describing 2 figures takes about 3,010 tokens in" in first.stderr
    assert "Describing 0 figures" in again.stderr


def test_describing_without_a_model_that_sees_says_what_to_set(data: Path) -> None:
    told = run(data, "ingest", str(data.parent / "animals.jsonl"), "--describe")
    assert told.returncode == 1
    assert "MULTIMODAL_VISION_MODEL" in told.stderr


def test_a_ledger_says_of_each_technique_what_it_bought(data: Path) -> None:
    done = run(data, "ledger", "Where does the barn owl live?", "--on", "rerank", "--engine", "keyless", "--json")
    assert done.returncode == 0, done.stderr
    told = {entry["technique"]: entry for entry in json.loads(done.stdout)["entries"]}
    assert told["rerank"]["verdict"] in ("pays here", "no difference", "costs here")
    assert told["multimodal"]["state"] == "not_run"
    assert "times more" in done.stderr
