"""RAPTOR: a tree of summaries over the chunks, for questions that no single passage answers.

    settings     how trees are made and searched
    nodes        what a tree is
    clustering   soft clusters by Gaussian mixtures, their number by BIC
    summarising  a summary of some passages, by a model or by their own central sentences
    growing      cluster, summarise, again: offline, over a document and then over documents (`indexing/tree.py`)
    retrieving   all levels at once or from the top; the chunks under what was found become evidence

The leaves are the stored chunks: they have some 100 tokens on average (93 to 141 in the demo's documents), as the
paper's, their vectors are there already, and a citation ends at them. Costs a summary for every four chunks
while indexing, and no call for a question.

Source: Sarthi et al. 2024, "RAPTOR: Recursive Abstractive Processing for Tree-Organized Retrieval",
https://arxiv.org/abs/2401.18059
"""

from rag_core.techniques.base import Technique
from rag_core.techniques.raptor.retrieving import Raptor
from rag_core.techniques.raptor.settings import RaptorSettings
from rag_core.techniques.raptor.summarising import SUMMARISE

RAPTOR = Technique(
    name="raptor",
    label="summary tree",
    group="retrieve",
    summary="Finds summaries of what many passages say together, and takes the passages under them as evidence.",
    settings=RaptorSettings,
    verb=Raptor.retrieve,
    signatures=(SUMMARISE,),
)
