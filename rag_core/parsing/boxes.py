"""Where boxes stand to each other. All in points."""

from __future__ import annotations

from collections.abc import Iterable

from rag_core.types import Box


def area(box: Box) -> float:
    return max(box.x1 - box.x0, 0) * max(box.y1 - box.y0, 0)


def overlap_x(one: Box, other: Box) -> float:
    """The width that two boxes have in common; below 0, how far they are apart."""
    return min(one.x1, other.x1) - max(one.x0, other.x0)


def overlap_y(one: Box, other: Box) -> float:
    """The height that two boxes have in common; below 0, how far they are apart."""
    return min(one.y1, other.y1) - max(one.y0, other.y0)


def gap(one: Box, other: Box) -> float:
    """Distance between two boxes; those beside each other are as far as those above."""
    return max(0.0, -overlap_y(one, other), -overlap_x(one, other))


def shared(one: Box, other: Box) -> float:
    """The area that two boxes have in common."""
    across, down = overlap_x(one, other), overlap_y(one, other)
    return across * down if across > 0 and down > 0 else 0.0


def inside(inner: Box, outer: Box, share: float = 0.5) -> bool:
    """Whether at least `share` of the inner box lies in the outer."""
    both = shared(inner, outer)
    return both > 0 and both >= share * area(inner)


def around(boxes: Iterable[Box]) -> Box:
    """The smallest box that holds all; there must be one."""
    found = list(boxes)
    return Box(
        x0=min(box.x0 for box in found),
        y0=min(box.y0 for box in found),
        x1=max(box.x1 for box in found),
        y1=max(box.y1 for box in found),
    )
