"""Which parts of the studies are meant, in which order they are computed, and which runs they have."""

from collections.abc import Iterable, Sequence

from spaql.ground.errors import SpaqlError, echoed
from spaql.runs.spec import Spec
from spaql.studies import all_parts, experiments
from spaql.studies.parts import TITLES, Effort, Part, part_of
from spaql.studies.study import Finished


def chosen_parts(names: Sequence[str], tuned: bool = False) -> list[Part]:
    """The parts meant by `--only` and `--tuned`; without names those that are computed by default."""
    found: dict[Part, None] = {}
    for name in names or [experiment.name for experiment in experiments().values() if experiment.by_default]:
        words = (name, *experiments()[name].along) if name in experiments() else ()
        meant = [part for part in all_parts() if part.experiment in words or part == part_of(name)]
        if not meant:
            known = ", ".join(experiments())
            raise SpaqlError(
                f"unknown experiment {echoed(name)}: choose from {known} or one part of them, such as {all_parts()[0]}"
            )
        for part in meant:
            instead = experiments()[part.experiment].tuned if tuned else ""
            found[Part(instead or part.experiment, part.problem)] = None
    return in_order(found)


def in_order(some: Iterable[Part]) -> list[Part]:
    """Parts in the order of computing, which is that of the page."""
    return sorted(some, key=all_parts().index)


def needed_parts(some: Iterable[Part]) -> list[Part]:
    """The parts that must be finished before the runs of these parts are known."""
    return in_order({needed for part in some for needed in experiments()[part.experiment].needs(part.problem)})


def stages_of(some: Sequence[Part]) -> list[list[Part]]:
    """The parts in the order in which they can be computed: what others need comes first, with all of its
    experiment."""
    needed = needed_parts(some)
    if not needed:
        return [list(some)]
    early = {part.experiment for part in needed}
    first = list(dict.fromkeys([*needed, *(part for part in some if part.experiment in early)]))
    return [first, [part for part in some if part not in first]]


def specs_of(part: Part, effort: Effort, finished: Finished | None = None) -> list[Spec]:
    """All runs of a part; `finished`: the runs of the parts it needs."""
    return experiments()[part.experiment].specs(part.problem, effort, finished or {})


def title_of(part: Part) -> str:
    """A part as people read it."""
    experiment = experiments()[part.experiment]
    return experiment.other_parts.get(part.problem) or f"{TITLES[part.problem]}: {experiment.title}"
