"""Modules under the paths that docs and examples named before the folders were put in order.

The next release removes these paths. An old path is imported as before, warns once and names the new path, and gives
the same objects. The finder below comes after all other finders and only knows the names of the table, so that a
program which uses none of these names loses no time.
"""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.abc import Loader  # at run time it would cost 20 ms

MOVED = {
    "spaql.analysis.comparing": "spaql.analysis.comparison",
    "spaql.data.recording": "spaql.data.record",
    "spaql.errors": "spaql.ground.errors",
    "spaql.experiments.runner": "spaql_studies.runs.runner",
    "spaql.experiments.sweep": "spaql_studies.sweep",
    "spaql.explain.arena": "spaql.compress.arena",
    "spaql.explain.compress": "spaql.compress.compress",
    "spaql.explain.equality": "spaql.trees.equality",
    "spaql.explain.export": "spaql.export",
    "spaql.explain.policy": "spaql.policy.policy",
    "spaql.explain.rolling": "spaql.training.closed_loop",
    "spaql.explain.tree": "spaql.trees.tree",
    "spaql.files": "spaql.learners.files",
    "spaql.plants.checking": "spaql.plants.check",
    "spaql.plants.making": "spaql.plants.make",
    "spaql.runs.compute": "spaql_studies.runs.compute",
    "spaql.runs.rivals": "spaql_studies.runs.rivals",
    "spaql.runs.rows": "spaql_studies.runs.rows",
    "spaql.runs.store": "spaql_studies.runs.store",
    "spaql.studies.foreign.plants": "spaql_studies.foreign.plants",
    "spaql.studies.load": "spaql_studies.load",
    "spaql.studies.parts": "spaql_studies.parts",
    "spaql.studies.sweep": "spaql_studies.sweep",
    "spaql.training.history": "spaql.learners.history",
    "spaql.training.recording": "spaql.training.episode",
}
# Removed folders: only the modules above were known
FOLDERS = frozenset({
    "spaql.experiments", "spaql.explain", "spaql.runs", "spaql.studies", "spaql.studies.foreign",
})  # fmt: skip
# Names that are public now: the warning recommends them instead of a deep path.
PUBLIC = {
    "spaql.errors": "spaql.SpaqlError",
    "spaql.explain.equality": "spaql.differences",
    "spaql.explain.export": "spaql.Policy.from_json and policy.export",
    "spaql.explain.policy": "spaql.Policy",
    "spaql.files": "spaql.load",
    "spaql.plants.checking": "spaql.check",
    "spaql.plants.making": "spaql.make",
    "spaql.training.history": "spaql.History",
    "spaql.training.recording": "spaql.Episode",
    "spaql.data.recording": "spaql.record",
    "spaql.studies.sweep": "spaql.sweep",
}
# Single names that moved to another module than the rest of their old module.
ELSEWHERE = {
    ("spaql.explain.export", "policy_from_json"): "spaql.export.json_form",
    ("spaql.training.history", "Evaluation"): "spaql.policy.evaluation",
}
# Single names that are other words now.
RENAMED = {("spaql.explain.rolling", "play_episodes"): "run_episodes"}


class _OldModule(ModuleType):
    """Fetches every name from the module in which it is now."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self.__name__ not in MOVED:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        old = (self.__name__, name)
        return getattr(import_module(ELSEWHERE.get(old, MOVED[self.__name__])), RENAMED.get(old, name))


class OldPaths:
    """Finds and makes the modules of the table."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in MOVED and name not in FOLDERS:
            return None
        return ModuleSpec(name, cast("Loader", self), is_package=name in FOLDERS)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _OldModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Warns once: Python runs a module when it is first imported.

        The new module is loaded at once: old agent files have ids of Gymnasium that it registers.
        """
        name = module.__name__
        if name in MOVED:
            import_module(MOVED[name])
            also = f", or better {PUBLIC[name]}" if name in PUBLIC else ""
            warnings.warn(
                f"{name} is now {MOVED[name]}{also}; the old path will be removed in the next release",
                DeprecationWarning,
                stacklevel=2,
            )


def install() -> None:
    """Make the old paths known, once."""
    if not any(type(finder).__name__ == "OldPaths" for finder in sys.meta_path):
        sys.meta_path.append(OldPaths())
