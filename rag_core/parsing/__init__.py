"""PDF to elements to chunks. PyMuPDF and unstructured are used in this room alone."""

from rag_core.parsing.chunking import ChunkSettings, chunk, chunk_passage
from rag_core.parsing.parser import Parser
from rag_core.parsing.records import FailedPage, FileFacts, Parsed

__all__ = ["ChunkSettings", "FailedPage", "FileFacts", "Parsed", "Parser", "chunk", "chunk_passage"]
