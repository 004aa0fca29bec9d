"""The plans that have names: the presets as the environment wants them, and those that the user saved."""

from __future__ import annotations

import json
import threading
from typing import Any

from rag_core.errors import PlanError
from rag_core.pipeline.plan import PRESETS, Plan, plan_from_json, with_toggles
from rag_core.settings import Settings
from rag_core.workbench.engines import write_private

_LONGEST_NAME = 60


class Plans:
    """The named plans of one data directory."""

    def __init__(self, settings: Settings) -> None:
        self._path = settings.data_dir / "plans.json"
        self._lock = threading.Lock()
        toggles = settings.toggles()
        self.presets = {name: with_toggles(plan, toggles) for name, plan in PRESETS.items()}

    def saved(self) -> dict[str, Plan]:
        """The user's own, by name.

        Raises:
            PlanError: The file was changed to what cannot be used; the message says where.
        """
        try:
            return {name: plan_from_json({**given, "name": name}) for name, given in self._read().items()}
        except (OSError, RecursionError, ValueError, TypeError, AttributeError, PlanError) as error:
            reason = str(error).splitlines()[0]
            raise PlanError(f"{self._path} cannot be used ({reason}): mend it, or delete it.") from error

    def named(self) -> dict[str, Plan]:
        """All of them, the presets first."""
        return self.presets | self.saved()

    def save(self, name: str, plan: Plan) -> Plan:
        """Keep a plan under a name, in place of one that had it.

        Raises:
            PlanError: A preset has that name, or it is empty or too long.
        """
        clean = " ".join(name.split())
        if not 0 < len(clean) <= _LONGEST_NAME:
            raise PlanError(f"A plan's name has 1 to {_LONGEST_NAME} characters.")
        if clean.lower() in (*self.presets, "custom") or clean.endswith(".json"):
            raise PlanError(f"{clean!r} means something else already: choose another name.")
        saved = plan.model_copy(update={"name": clean})
        with self._lock:
            self._write({**self._read(), clean: saved.as_json()})
        return saved

    def delete(self, name: str) -> None:
        """Forget a saved plan; one that is not there is no error."""
        with self._lock:
            self._write({kept: plan for kept, plan in self._read().items() if kept != name})

    def _read(self) -> dict[str, Any]:
        try:
            return json.loads(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return {}

    def _write(self, plans: dict[str, Any]) -> None:
        try:
            write_private(self._path, json.dumps(plans, ensure_ascii=False, indent=2))
        except OSError as error:
            raise PlanError(f"The plan could not be saved: {error}. Make room on the disk.") from error
