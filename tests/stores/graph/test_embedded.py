"""What only the graph in a file has to stand: kills, other processes, many threads, a broken file."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rag_core.errors import GraphError, QueryRefused
from rag_core.settings import ROOT
from rag_core.stores.graph.embedded import EmbeddedGraph
from tests.stores.graph.worlds import NEWS, facts

_WRITES = """\
import sys
from pathlib import Path
from rag_core.stores.graph.embedded import EmbeddedGraph
from tests.stores.graph.test_embedded import version

graph = EmbeddedGraph(Path(sys.argv[1]))
print("open", flush=True)
for number in range(1_000):
    graph.replace("d", version(number))
    print(number, flush=True)
"""


def version(number: int):
    """A document that says another thing of 200 entities, and that thing only in its own version."""
    return [facts(f"c{at}-{number}", "d", (f"v{number}", f"r{at}", f"e{at}")) for at in range(200)]


def writer(path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _WRITES, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout
    assert process.stdout.readline() == "open\n"
    return process


def test_a_writer_killed_at_any_moment_leaves_the_old_document_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    for wait_s in (0.05, 0.2, 0.4):
        process = writer(path)
        assert process.stdout
        acknowledged = int(process.stdout.readline())
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=wait_s)
        process.kill()
        acknowledged = int((process.communicate()[0].split() or [acknowledged])[-1])
        graph = EmbeddedGraph(path)
        (there,) = [int(one.name[1:]) for one in graph.entities() if one.name[0] == "v"]
        assert there in (acknowledged, acknowledged + 1)
        assert graph.chunks("d").keys() == {one.chunk for one in version(there)}
        assert (graph.size().entities, graph.size().mentions, graph.size().relations) == (201, 400, 200)
        graph.forget("d")
        graph.close()


def test_another_process_reads_beside_the_writer_and_is_told_that_it_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    process = writer(path)
    try:
        assert process.stdout
        process.stdout.readline()
        beside = EmbeddedGraph(path)
        assert beside.read_only
        assert beside.cypher("MATCH (c:Chunk) RETURN count(c)").rows in (((0,),), ((200,),))
        with pytest.raises(GraphError, match="Another process writes this graph"):
            beside.replace("x", NEWS)
        beside.close()
    finally:
        process.kill()
        process.communicate()


def test_threads_write_and_read_without_getting_in_each_others_way(tmp_path: Path) -> None:
    graph = EmbeddedGraph(tmp_path / "graph.lbug")

    def work(at: int) -> int:
        graph.replace(f"d{at}", [facts(f"c{at}", f"d{at}", ("hub", "has", f"spoke {at}"))])
        return len(graph.neighbours([graph.search("hub")[0].id]).entities)

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(work, range(24)))
    assert min(seen) >= 2
    assert graph.size().entities == 25
    graph.close()


def test_a_file_that_is_no_graph_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    path.write_bytes(b"no graph" * 1_000)
    with pytest.raises(GraphError, match="cannot be opened"):
        EmbeddedGraph(path)


def test_a_closed_graph_says_so(tmp_path: Path) -> None:
    graph = EmbeddedGraph(tmp_path / "graph.lbug")
    graph.close()
    graph.close()
    with pytest.raises(GraphError, match="was closed"):
        graph.size()


def test_texts_that_double_and_lists_that_explode_end_in_a_sentence(tmp_path: Path) -> None:
    graph = EmbeddedGraph(tmp_path / "graph.lbug")
    doubled = f"WITH '{'a' * 3_000}' AS s " + "WITH s + s AS s " * 12 + "RETURN size(s)"
    assert graph.cypher(doubled).rows == ((3_000 * 2**12,),)
    many = " ".join(f"UNWIND [{', '.join(map(str, range(99)))}] AS x{n}" for n in range(6))
    with pytest.raises(QueryRefused):
        graph.cypher(f"{many} RETURN size(collect([x0, x1, x2, x3, x4, x5]))", timeout_s=3)
    assert graph.cypher("RETURN 1").rows == ((1,),)
    graph.close()


def test_a_query_that_needs_more_memory_than_it_gets_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.stores.graph.embedded._BUFFER_BYTES", 16 * 2**20)
    graph = EmbeddedGraph(tmp_path / "graph.lbug")
    many = " ".join(f"UNWIND [{', '.join(map(str, range(99)))}] AS x{n}" for n in range(4))
    with pytest.raises(QueryRefused, match="more than 16 MB of memory: ask for less"):
        graph.cypher(f"{many} RETURN count(DISTINCT x0 * 1000000 + x1 * 10000 + x2 * 100 + x3)", timeout_s=60)
    graph.close()
