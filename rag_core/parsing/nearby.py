"""What the text of a document says of its figures: the sentences that name "Figure 3", or what leads up to one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rag_core.llm.reading.sentences import sentences
from rag_core.parsing.captions import label_of, labels_in
from rag_core.types import Element

NEARBY_CHARS = 500
NEARBY_SENTENCES = 3


class Nearby:
    """Knows where a document speaks of its figures. Made of all its elements, in reading order."""

    def __init__(self, elements: Sequence[Element]) -> None:
        self._sayings: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        self._labels: dict[str, str | None] = {}
        self._before: dict[str, str] = {}
        before, caption = "", None
        for element in elements:
            if element.kind in ("text", "list"):
                self._note(element)
                before = element.text
            elif element.kind == "title":
                before = ""  # what stands under another heading does not lead up to it
            elif element.kind == "figure":
                self._before[element.id] = before
                self._labels[element.id] = label_of(caption.text) if caption else None
            caption = element if element.kind == "caption" else None

    def of(self, figure: Element) -> str:
        """The sentences that name a figure, those of the nearest pages; without a number, the last before it."""
        label = self._labels.get(figure.id)
        if label is None:
            return "".join(sentences(self._before[figure.id])[-1:])[-NEARBY_CHARS:]
        nearest = sorted(self._sayings[label], key=lambda saying: abs(saying[0] - figure.place.page))
        return " ".join(text for _, text in nearest[:NEARBY_SENTENCES])[:NEARBY_CHARS]

    def _note(self, element: Element) -> None:
        for sentence in sentences(element.text):
            for label in dict.fromkeys(labels_in(sentence)):
                self._sayings[label].append((element.place.page, sentence))
