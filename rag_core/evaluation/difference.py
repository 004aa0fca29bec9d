"""What one run did otherwise than another of the same question: its evidence, its answer, what it took."""

from __future__ import annotations

from pydantic import Field

from rag_core.llm.reading.changes import Change, changes
from rag_core.pipeline.run import Run
from rag_core.types import Value


class Move(Value):
    """A chunk that both runs have, at different ranks; ranks count from 1."""

    chunk: str
    before: int
    after: int


class Cost(Value):
    """What a run took; of two runs, what one took more than the other."""

    seconds: float = 0
    searches: int = 0
    model_calls: int = 0
    tokens: int = 0
    money: float | None = Field(default=None, description="US dollars; None where no price is known.")

    def __sub__(self, other: Cost) -> Cost:
        known = self.money is not None and other.money is not None
        return Cost(
            seconds=self.seconds - other.seconds,
            searches=self.searches - other.searches,
            model_calls=self.model_calls - other.model_calls,
            tokens=self.tokens - other.tokens,
            money=(self.money or 0) - (other.money or 0) if known else None,
        )


class Difference(Value):
    """What `after` did otherwise than `before`. Chunks are ids, best first."""

    shared: tuple[str, ...]
    gained: tuple[str, ...] = Field(description="In the evidence after, and not before.")
    lost: tuple[str, ...] = Field(description="In the evidence before, and not after.")
    moves: tuple[Move, ...] = Field(description="Of the shared, those at another rank.")
    cited_lost: tuple[str, ...] = Field(description="Cited before, and not found any more after.")
    cited_gained: tuple[str, ...] = Field(description="Cited after, and not found at all before.")
    cited_moves: tuple[Move, ...] = Field(description="Of the moves, those of chunks that either answer cites.")
    same_answer: bool = Field(description="Word for word.")
    words: tuple[Change, ...] = Field(description="The answers word by word: what stayed, came and went.")
    more: Cost = Field(description="What `after` took more; below 0 where it took less.")


def difference(before: Run, after: Run) -> Difference:
    """Hold two runs against each other."""
    old, new = ranks(before), ranks(after)
    was_cited, is_cited = cited(before), cited(after)
    moves = tuple(
        Move(chunk=chunk, before=old[chunk], after=rank)
        for chunk, rank in new.items()
        if chunk in old and old[chunk] != rank
    )
    words = tuple(changes(before.final_answer, after.final_answer))
    return Difference(
        shared=tuple(chunk for chunk in old if chunk in new),
        gained=tuple(chunk for chunk in new if chunk not in old),
        lost=tuple(chunk for chunk in old if chunk not in new),
        moves=moves,
        cited_lost=tuple(chunk for chunk in was_cited if chunk not in new),
        cited_gained=tuple(chunk for chunk in is_cited if chunk not in old),
        cited_moves=tuple(move for move in moves if move.chunk in {*was_cited, *is_cited}),
        same_answer=all(word.kind == "equal" for word in words),
        words=words,
        more=cost(after) - cost(before),
    )


def cost(run: Run) -> Cost:
    """What a run took. Without a model call there is nothing to pay."""
    usage = run.usage
    return Cost(
        seconds=run.seconds,
        searches=run.searches,
        model_calls=usage.model_calls,
        tokens=usage.tokens,
        money=usage.cost if usage.model_calls else 0.0,
    )


def ranks(run: Run) -> dict[str, int]:
    """Chunk id -> its rank in the evidence, from 1."""
    return {hit.chunk.id: rank for rank, hit in enumerate(run.evidence, start=1)}


def cited(run: Run) -> list[str]:
    """The chunks that the answer cites, each once, in its order."""
    return list(dict.fromkeys(chunk for sentence in run.sentences for chunk in sentence.citations))
