"""What was made of chunks is named after what those were made of: it is known when to make it again."""

from __future__ import annotations

import hashlib
import json

from rag_core.indexing.records import DocumentRecord


def version_of(record: DocumentRecord, fingerprint: str) -> str:
    """Another one whenever its chunks were made anew: the seconds that took are hardly ever the same."""
    return hash_of(record.sha256, record.chunks, record.seconds, fingerprint)


def hash_of(*parts: object) -> str:
    """The same for the same parts, which are as JSON has them."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]
