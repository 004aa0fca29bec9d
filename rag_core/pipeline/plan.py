"""A plan says which techniques are on, with which settings. The toggles make one; every run keeps its own.

"Is it on?" is asked here alone: a technique that is off is not in the plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, SerializeAsAny, ValidationError

from rag_core.errors import PlanError
from rag_core.settings import Toggle
from rag_core.techniques import TECHNIQUES
from rag_core.techniques.auto import AutoSettings
from rag_core.techniques.base import TechniqueSettings
from rag_core.techniques.crag import CragSettings
from rag_core.techniques.expand import ExpandSettings
from rag_core.techniques.gate import GateSettings
from rag_core.techniques.heal import HealSettings
from rag_core.techniques.hyde import HydeSettings
from rag_core.techniques.memory import MemorySettings
from rag_core.techniques.multi_hop import MultiHopSettings
from rag_core.techniques.rerank import RerankSettings
from rag_core.techniques.rewrite import RewriteSettings
from rag_core.techniques.self_correct import SelfCorrectSettings
from rag_core.techniques.sub_queries import SubQueriesSettings
from rag_core.types import Value

S = TypeVar("S", bound=TechniqueSettings)


class Plan(Value):
    """The techniques that are on, by name, in the order of the table."""

    name: str
    techniques: dict[str, SerializeAsAny[TechniqueSettings]]

    def has(self, name: str) -> bool:
        return name in self.techniques

    def settings(self, kind: type[S]) -> S:
        """The settings of the technique that `kind` belongs to; its defaults where it is off."""
        return cast(S, next((s for s in self.techniques.values() if isinstance(s, kind)), kind()))

    def on(self, name: str) -> Plan:
        """This plan with a technique switched on, with its defaults."""
        if self.has(name):
            return self
        return _made("custom", {**self.techniques, name: _technique(name).settings()})

    def off(self, name: str) -> Plan:
        """This plan with a technique switched off.

        Raises:
            PlanError: There is none of that name, or no question can be answered without it.
        """
        if _technique(name).always:
            raise PlanError(f"{name!r} cannot be switched off: no question can be answered without it.")
        return _made("custom", {key: value for key, value in self.techniques.items() if key != name})

    def set(self, name: str, **changes: Any) -> Plan:
        """This plan with some settings of a technique changed, switched on if it was off.

        Raises:
            PlanError: A setting is unknown or out of its range.
        """
        switched = self.on(name)
        changed = {**switched.techniques[name].model_dump(), **changes}
        return _made("custom", {**switched.techniques, name: _settings(name, changed)})

    def completed(self, techniques: Mapping[str, Mapping[str, Any]]) -> Plan:
        """This plan with these techniques on too; it keeps its name, and what is set in it stays as it is."""
        plan = self
        for name, given in techniques.items():
            own = plan.techniques[name].model_dump(exclude_defaults=True) if plan.has(name) else {}
            plan = plan.set(name, **{**given, **own})
        return plan.model_copy(update={"name": self.name})

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


def with_toggles(plan: Plan, toggles: Mapping[str, Toggle]) -> Plan:
    """The plan with what the environment says of techniques; it keeps its name.

    Raises:
        PlanError: A technique cannot be switched off.
    """
    name = plan.name
    for technique, toggle in toggles.items():
        if toggle.on is not None:
            plan = plan.on(technique) if toggle.on else plan.off(technique)
        if toggle.settings and plan.has(technique):
            plan = plan.set(technique, **toggle.settings)
    return plan.model_copy(update={"name": name})


def plan_from(name_or_file: str, named: Mapping[str, Plan] | None = None) -> Plan:
    """The plan of that name, or the one in that JSON file.

    Args:
        named: The plans that have names; the presets, when not given.

    Raises:
        PlanError: Neither, or the file names something that is not there.
    """
    named = PRESETS if named is None else named
    if name_or_file in named:
        return named[name_or_file]
    if not name_or_file.endswith(".json"):
        raise PlanError(f"There is no plan {name_or_file!r}; there are: {', '.join(named)}, or give a JSON file.")
    try:
        return plan_from_json(json.loads(Path(name_or_file).read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise PlanError(f"The plan {name_or_file} cannot be read: {error}.") from error


def plan_from_json(data: Any) -> Plan:
    """A plan out of what `Plan.as_json` gave.

    Raises:
        PlanError: It is not of that form.
    """
    if not isinstance(data, dict) or not isinstance(data.get("techniques"), dict):
        raise PlanError('A plan is {"name": ..., "techniques": {technique: {setting: value}}}.')
    given = {name: _settings(name, values or {}) for name, values in data["techniques"].items()}
    return _made(str(data.get("name", "custom")), given)


def with_assignments(plan: Plan, assignments: Iterable[str]) -> Plan:
    """The plan with `technique.field=value` applied, in order.

    Raises:
        PlanError: One is not of that form, or not allowed.
    """
    for assignment in assignments:
        left, sign, value = assignment.partition("=")
        name, dot, field = left.partition(".")
        if not (sign and dot):
            raise PlanError(f"{assignment!r} is not of the form technique.field=value.")
        plan = plan.set(name, **{field: value})
    return plan


def _technique(name: str) -> Any:
    if name not in TECHNIQUES:
        raise PlanError(f"There is no technique {name!r}; there are: {', '.join(TECHNIQUES)}.")
    return TECHNIQUES[name]


def _settings(name: str, values: dict[str, Any]) -> TechniqueSettings:
    kind = _technique(name).settings
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "it"
        if first["type"] == "extra_forbidden":
            known = ", ".join(cast(type[BaseModel], kind).model_fields)
            raise PlanError(f"{name} has no setting {field!r}; it has: {known}.") from error
        raise PlanError(f"{name}.{field}={first['input']!r} is not allowed: {first['msg'].lower()}.") from error


def _made(name: str, settings: dict[str, TechniqueSettings]) -> Plan:
    always = {key: technique.settings() for key, technique in TECHNIQUES.items() if technique.always}
    merged = {**always, **settings}
    return Plan(name=name, techniques={key: merged[key] for key in TECHNIQUES if key in merged})


def _preset(name: str, *settings: TechniqueSettings) -> Plan:
    """What every preset has, and techniques with these settings."""
    names = {technique.settings: key for key, technique in TECHNIQUES.items()}
    usual = {key: TECHNIQUES[key].settings() for key in ("scan", "references", "multimodal", "validate")}
    return _made(name, {**usual, **{names[type(one)]: one for one in settings}})


ASKING = (RewriteSettings(), GateSettings(), MemorySettings())

PRESETS: dict[str, Plan] = {
    plan.name: plan
    for plan in (
        _preset("simple"),
        _preset(
            "fast", *ASKING, MultiHopSettings(max_hops=2, quality_threshold=0.7), SubQueriesSettings(max_iterations=1)
        ),
        _preset("balanced", *ASKING, MultiHopSettings(), SubQueriesSettings(), HealSettings()),
        _preset("auto", *ASKING, AutoSettings(), HealSettings()),
        _preset(
            "quality",
            *ASKING,
            ExpandSettings(),
            HydeSettings(),
            RerankSettings(),
            MultiHopSettings(max_hops=5, quality_threshold=0.9),
            SubQueriesSettings(max_iterations=3),
            CragSettings(),
            SelfCorrectSettings(),
            HealSettings(quality_target=0.95),
        ),
    )
}
