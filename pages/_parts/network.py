"""The graph of a collection as a picture: which entities are in it, where they stand, how they are told apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from rag_core.stores.graph.facts import Community, Edges, Entity, GraphStore

MOST_NODES = 150
MOST_LINES = 600
_NAMED = 7
"""Communities with a colour and a shape of their own; more cannot be told apart."""
_SIGNS = (
    ("circle", "●"), ("rect", "■"), ("triangle", "▲"), ("diamond", "◆"),
    ("roundRect", "▢"), ("pin", "◉"), ("arrow", "➤"),
)  # fmt: skip
_OTHERS = ("circle", "○")
_LIGHT = ("#3566c4", "#0e6e6e", "#7a4fc0", "#8a5508", "#b5456e", "#23703f", "#b3372f", "#69727e")
_DARK = ("#7ea6f4", "#4fc0b8", "#b595f0", "#e0a94e", "#ec8fb0", "#6cc48d", "#ee8379", "#98a1ac")
_LABELS = 32
_STEPS = 160
_OF_KIND = "MATCH (e:Entity) WHERE e.kind = $kind RETURN e.id ORDER BY e.mentions DESC"
_MOST_OF_KIND = 2_000
_LONGEST_LABEL = 28


@dataclass(frozen=True)
class Drawn:
    """A part of the graph that is drawn, the most central entities first."""

    entities: tuple[Entity, ...]
    weights: Mapping[str, float]
    """How much each has to do with others, by its id."""
    links: tuple[tuple[int, int, float], ...]
    groups: Mapping[str, int]
    """The place in `legend` of each entity, by its id."""
    legend: tuple[Community, ...]
    left_out: int = 0

    @cached_property
    def at(self) -> np.ndarray:
        return places(self)

    def sign(self, entity: str) -> str:
        """The shape of the entity's community, as a character."""
        at = self.groups.get(entity)
        return _OTHERS[1] if at is None else _SIGNS[at][1]


@dataclass(frozen=True)
class Whole:
    """A graph as it is read for the screen, once for each of its versions."""

    version: int
    edges: Edges
    communities: tuple[Community, ...]
    parts: dict[tuple[object, ...], Drawn] = field(default_factory=dict)


_read: WeakKeyDictionary[GraphStore, Whole] = WeakKeyDictionary()
_MOST_PARTS = 32


def whole_of(store: GraphStore) -> Whole:
    """Read a graph, where it is another than the last time.

    Raises:
        GraphError: The store is out.
    """
    known = _read.get(store)
    if known is None or known.version != store.version:
        _read[store] = known = Whole(store.version, store.edges(), tuple(store.communities()))
    return known


def part_of(store: GraphStore, *, community: str = "", kind: str = "", entity: str = "", hops: int = 0) -> Drawn:
    """What is to be seen: all, a community, the entities of a kind; or what stands around an entity.

    Args:
        entity: It is in the picture, whatever else is.
        hops: 1 or 2 for its surroundings alone, 0 for all.
    """
    whole = whole_of(store)
    beside = () if hops else (community, kind)
    if not hops and (usual := whole.parts.get((*beside, "", 0))) and entity in usual.weights:
        return usual
    key = (*beside, entity, hops)
    if key not in whole.parts:
        if len(whole.parts) >= _MOST_PARTS:
            whole.parts.clear()
        whole.parts[key] = _part(store, whole, community, kind, entity, hops)
    return whole.parts[key]


def _part(store: GraphStore, whole: Whole, community: str, kind: str, entity: str, hops: int) -> Drawn:
    coarsest = [one for one in whole.communities if one.level == 0]
    if hops:
        around = store.neighbours([entity], hops=hops, limit=MOST_NODES).entities
        return drawn(store, whole.edges, coarsest, {one.id for one in around}, always=entity)
    wanted = next(({*one.entities} for one in whole.communities if one.id == community), None)
    if kind:
        rows = store.cypher(_OF_KIND, limit=_MOST_OF_KIND, parameters={"kind": kind}).rows
        wanted = {id_ for (id_,) in rows if wanted is None or id_ in wanted}
    # A community is told apart by those inside it, where there are some.
    inside = [one for one in whole.communities if community and one.parent == community]
    apart = inside or [one for one in coarsest if not community] or [
        one for one in whole.communities if one.id == community
    ]  # fmt: skip
    return drawn(store, whole.edges, apart, wanted, always=entity or None)


def degrees(edges: Edges) -> dict[str, float]:
    """How much each entity has to do with others: the weights of its relations, by its id."""
    sources, targets, weights = edges.related
    summed = np.zeros(len(edges.entities))
    np.add.at(summed, sources, weights)
    np.add.at(summed, targets, weights)
    return dict(zip(edges.entities, summed.tolist(), strict=True))


def drawn(
    store: GraphStore,
    edges: Edges,
    communities: Sequence[Community],
    wanted: Collection[str] | None = None,
    *,
    always: str | None = None,
) -> Drawn:
    """The part that stands between the most central of some entities; of all, where none are named.

    Args:
        wanted: Ids.
        always: The one that stays, however little it has to do with others.
    """
    weights = degrees(edges)
    candidates = {id_ for id_ in (weights if wanted is None else {*wanted, always}) if id_ in weights}
    ranked = sorted(candidates, key=lambda id_: (-weights[id_], id_))
    ranked, others = ranked[:MOST_NODES], ranked[MOST_NODES:]
    if always in others:
        ranked[-1] = always
    entities = tuple(store.entities(ranked))
    at = {entity.id: place for place, entity in enumerate(entities)}
    row = {place: at[id_] for place, id_ in enumerate(edges.entities) if id_ in at}
    links = sorted(
        (
            (row[i], row[j], weight)
            for i, j, weight in zip(*map(np.ndarray.tolist, edges.related), strict=True)
            if i in row and j in row
        ),
        key=lambda link: -link[2],
    )
    inside = {one.id: [id_ for id_ in one.entities if id_ in at] for one in communities}
    legend = sorted((one for one in communities if inside[one.id]), key=lambda one: -len(inside[one.id]))[:_NAMED]
    groups = {id_: place for place, one in enumerate(legend) for id_ in inside[one.id]}
    return Drawn(
        entities, {id_: weights[id_] for id_ in at}, tuple(links[:MOST_LINES]), groups, tuple(legend),
        len(candidates) - len(entities),
    )  # fmt: skip


def places(part: Drawn) -> np.ndarray:
    """Where each entity stands, (entities, 2), the same for the same part: what is related is near.

    Fruchterman and Reingold 1991, "Graph Drawing by Force-directed Placement"; those of a community begin together,
    and all are drawn a little to the middle, so that what has no relation does not fly away.
    """
    count = len(part.entities)
    if not count:
        return np.zeros((0, 2))
    group = np.array([part.groups.get(entity.id, len(part.legend)) for entity in part.entities])
    angle = 2 * np.pi * group / (len(part.legend) + 1)
    own = np.arange(count) * 2.399963  # the golden angle: no two begin at the same place
    spread = 0.25 * np.sqrt((np.arange(count) + 1) / count)
    at = np.stack([np.cos(angle), np.sin(angle)], 1) * 0.6 + np.stack([np.cos(own), np.sin(own)], 1) * spread[:, None]
    pull = np.zeros((count, count))
    for i, j, weight in part.links:
        pull[i, j] = pull[j, i] = 1 + np.log1p(weight)
    near = 1.1 / np.sqrt(count)
    for step in range(_STEPS):
        apart = at[:, None] - at[None]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-3)
        force = near**2 / distance**2 - pull * distance / near * 0.1
        moved = (apart * force[:, :, None]).sum(1) - at * 0.3
        length = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-9)
        at = at + moved / length * np.minimum(length, 0.12 * (1 - step / _STEPS))
    # The middle is the fullest: it gets more room than what stands around it.
    return at * np.maximum(np.linalg.norm(at, axis=1, keepdims=True), 1e-9) ** -0.35


def spec(part: Drawn, chosen: str | None, dark: bool) -> dict[str, Any]:
    """The picture for ECharts. What a document wrote is only ever a label, which is drawn and never read as markup."""
    colours = _DARK if dark else _LIGHT
    ink, faint, paper = ("#e9ecef", "#3d4650", "#14171a") if dark else ("#1d2126", "#d6d1c6", "#fbfaf7")
    at = part.at
    most = max(part.weights.values(), default=1.0) or 1.0
    around = {end for i, j, _ in part.links for end in (i, j) if chosen in (part.entities[i].id, part.entities[j].id)}
    nodes = []
    for place, entity in enumerate(part.entities):
        group = part.groups.get(entity.id)
        is_chosen = entity.id == chosen
        # Those beside the communities are hollow: a ring in their colour.
        fill, ring = (paper, colours[-1]) if group is None else (colours[group], paper)
        size = 8 + 18 * (part.weights[entity.id] / most) ** 0.5
        nodes.append({
            "id": str(place),
            "name": short(entity.name),
            "x": round(float(at[place, 0]) * 1000, 1),
            "y": round(float(at[place, 1]) * 700, 1),
            "symbol": _OTHERS[0] if group is None else _SIGNS[group][0],
            "symbolSize": round(size * (1.25 if is_chosen else 1), 1),
            "category": len(part.legend) if group is None else group,
            "itemStyle": {
                "color": fill, "borderColor": ink if is_chosen else ring, "borderWidth": 3 if is_chosen else 1,
            },
            "label": {
                "show": is_chosen or place in around or place < _LABELS, "color": ink,
                "fontWeight": "bold" if is_chosen else "normal",
            },
        })  # fmt: skip
    lines = [
        {
            "source": str(i), "target": str(j),
            "lineStyle": {
                "width": round(min(4.0, 0.7 + 0.5 * float(np.log1p(weight))), 2),
                "color": ink if chosen in (part.entities[i].id, part.entities[j].id) else faint,
            },
        }
        for i, j, weight in part.links
    ]  # fmt: skip
    return {
        "animation": False,
        "tooltip": {"show": False},
        "series": [{
            "type": "graph", "layout": "none", "roam": True, "scaleLimit": {"min": 0.5, "max": 8},
            "left": 24, "right": 84, "top": 20, "bottom": 20, "preserveAspect": "contain",
            "selectedMode": "single", "select": {"itemStyle": {"borderColor": ink, "borderWidth": 3}},
            "data": nodes, "links": lines,
            "label": {"position": "right", "fontSize": 12, "textBorderColor": paper, "textBorderWidth": 2},
            "labelLayout": {"hideOverlap": True},
            "emphasis": {"focus": "adjacency", "label": {"show": True}},
            "lineStyle": {"opacity": 0.8, "curveness": 0.06},
        }],
    }  # fmt: skip


def short(name: str) -> str:
    return name if len(name) <= _LONGEST_LABEL else f"{name[: _LONGEST_LABEL - 1]}…"


def legend_rows(part: Drawn, dark: bool) -> list[dict[str, str]]:
    """The communities in the picture: `{id, sign, colour, title}`, those beside them last."""
    colours = _DARK if dark else _LIGHT
    rows = [
        {"id": one.id, "sign": _SIGNS[at][1], "colour": colours[at], "title": titled(one)}
        for at, one in enumerate(part.legend)
    ]
    beside = any(entity.id not in part.groups for entity in part.entities)
    return [*rows, {"id": "", "sign": _OTHERS[1], "colour": colours[-1], "title": "others"}] if beside else rows


def titled(community: Community) -> str:
    return community.title or f"{len(community.entities):,} entities"
