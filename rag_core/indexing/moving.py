"""A document goes to another collection: its chunks are copied with their vectors, nothing is read or embedded again.

Each step can be done twice: copy, flip the ledger in one transaction, delete what is left behind. After a crash the
move goes on where the ledger says it stopped. The document keeps its id, and so do its chunks: citations still open.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from rag_core.errors import UnknownCollection
from rag_core.indexing.ledger import Ledger
from rag_core.stores.weaviate.chunks import ChunkStore

_AT_ONCE = 1_000


def move_on(ledger: Ledger, store: ChunkStore, document_id: str) -> None:
    """Bring the move of a document to its end, if it is on one.

    Raises:
        StoreError: The store is out; the move goes on when it is tried again.
    """
    move = ledger.move(document_id)
    if move is None:
        return
    left = move.source
    if not move.flipped:
        _copy(store, document_id, move.source, move.target)
        if not ledger.flip_move(document_id):
            left = move.target
    with suppress(UnknownCollection):  # a collection that was deleted has taken its chunks along
        store.delete_document(left, document_id)
    ledger.end_move(document_id)


def _copy(store: ChunkStore, document_id: str, source: str, target: str) -> None:
    store.ensure_tenant(source)  # nothing of that collection may have been written yet
    store.ensure_tenant(target)
    last = None
    while chunks := store.chunks(source, document_id, after=last, limit=_AT_ONCE):
        vectors = store.vectors(source, [chunk.id for chunk in chunks])
        images = store.image_vectors(source, [chunk.id for chunk in chunks if chunk.image])
        both = [chunk for chunk in chunks if chunk.id in vectors]
        words_only = [chunk for chunk in chunks if chunk.id not in vectors]
        if both:
            store.put(target, both, np.stack([vectors[chunk.id] for chunk in both]), images=images)
        if words_only:
            store.put(target, words_only, images=images)
        last = chunks[-1].id
