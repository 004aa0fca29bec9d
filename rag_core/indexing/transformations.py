"""The offline flow as LlamaIndex transformations: element nodes in, chunk nodes out, then vectors.

A user's own `TransformComponent` can stand between them. The vendor's `IngestionPipeline` is not used: it loses or
repeats nodes when a document changes or an embedding fails, so the ledger does that part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode, TransformComponent

from rag_core.parsing.chunking import ChunkSettings, chunk
from rag_core.types import Chunk, Element

_OURS = ["element", "chunk"]


def element_nodes(elements: Sequence[Element], document: str) -> list[BaseNode]:
    """One node an element, in reading order, each pointing to its document."""
    return [_node(element.id, element.text, document, element=element.model_dump(mode="json")) for element in elements]


def chunk_node(chunk: Chunk) -> TextNode:
    """A chunk as a node: its text is what is embedded."""
    return _node(chunk.id, chunk.searchable_text, chunk.document, chunk=chunk.model_dump(mode="json"))


def chunk_of(node: BaseNode) -> Chunk:
    """The chunk that a node stands for; the text is the node's own, which a transformation may have changed."""
    return Chunk.model_validate(node.metadata["chunk"])


class ChunkByTitle(TransformComponent):
    """Cuts the elements of one document into chunks that keep to its sections."""

    document: str
    name: str
    settings: ChunkSettings

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        elements = [Element.model_validate(node.metadata["element"]) for node in nodes]
        return [
            chunk_node(made) for made in chunk(elements, document=self.document, name=self.name, settings=self.settings)
        ]


class InBatches(TransformComponent):
    """Hands nodes to another transformation some at a time, and tells how far it is."""

    component: TransformComponent
    size: int = 64
    told: Callable[[int, int], None]

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        out: list[BaseNode] = []
        for start in range(0, len(nodes), self.size):
            out.extend(self.component(nodes[start : start + self.size], **kwargs))
            self.told(len(out), len(nodes))
        return out


def _node(node_id: str, text: str, document: str, **metadata: Any) -> TextNode:
    return TextNode(
        id_=node_id,
        text=text,
        metadata=metadata,
        excluded_embed_metadata_keys=_OURS,
        excluded_llm_metadata_keys=_OURS,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)},
    )
