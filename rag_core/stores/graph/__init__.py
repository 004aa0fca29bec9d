"""The graph of a collection: a file of its own, or a part of a Neo4j of yours."""

from __future__ import annotations

import uuid

from filelock import FileLock

from rag_core.settings import Settings
from rag_core.stores.graph.facts import GraphStore

_LEFT = ".left"
"""What the file is called by which it is known that a graph is still to be dropped from Neo4j."""
_NAMED = "neo4j-id"
"""The file that says what tells the graphs of this data directory apart from those of others in the same Neo4j."""


def open_graph(settings: Settings, key: str) -> GraphStore:
    """The graph of a collection, made where there is none.

    Args:
        key: What the collection is kept under, its tenant: letters, digits, `-` and `_`.

    Raises:
        GraphError: The file cannot be opened, or Neo4j does not answer or refuses the password.
    """
    # Imported here: either takes a while, and who asks no graph needs neither.
    if settings.graph_uri:
        from rag_core.stores.graph.neo4j import Neo4jGraph

        return Neo4jGraph(*_in_neo4j(settings, key))
    from rag_core.stores.graph.embedded import EmbeddedGraph

    return EmbeddedGraph(settings.data_dir / "graphs" / f"{key}.lbug")


def has_graph(settings: Settings, key: str) -> bool:
    """Whether a graph may be there already; a Neo4j is not asked."""
    return bool(settings.graph_uri) or (settings.data_dir / "graphs" / f"{key}.lbug").exists()


def drop_graph(settings: Settings, key: str) -> None:
    """Remove a graph that nobody has open; one that is not there is no error.

    Raises:
        GraphError: Neo4j does not answer or refuses the password; `graphs_left` names the graph until that is mended.
    """
    folder = settings.data_dir / "graphs"
    if settings.graph_uri:
        from rag_core.stores.graph.neo4j import drop

        folder.mkdir(parents=True, exist_ok=True)
        (left := folder / f"{key}{_LEFT}").touch()
        drop(*_in_neo4j(settings, key))
        left.unlink()
    for file in folder.glob(f"{key}.lbug*"):  # with the log that ladybug keeps beside it
        file.unlink(missing_ok=True)


def graphs_left(settings: Settings) -> set[str]:
    """The keys of graphs that have a file here, and of those that Neo4j could not be told to drop."""
    files = (settings.data_dir / "graphs").glob("*")
    return {file.name.partition(".")[0] for file in files if ".lbug" in file.name or file.name.endswith(_LEFT)}


def _in_neo4j(settings: Settings, key: str) -> tuple[str, str, str, str]:
    """Where a graph is in Neo4j: address, name, password, and a key that no other data directory has.

    The tenant alone is made of the collection's name, and two directories may have a collection of the same one.
    """
    named = settings.data_dir / "graphs" / _NAMED
    named.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{named}.lock"):
        if not named.exists():
            made = named.with_suffix(".new")
            made.write_text(uuid.uuid4().hex[:12])
            made.replace(named)  # whole, or not at all
    own = f"{key}_{named.read_text().strip()}"
    return settings.graph_uri or "", settings.neo4j_username, settings.neo4j_password or "", own
