"""The worst episode that a search has found, beside ordinary ones."""

import textwrap
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from spaql.plants.limits import limit_units
from spaql.plants.problem_text import HARD
from spaql.policy.digits import number, with_unit
from spaql.policy.evaluation import WIDTH, Evaluation, lines_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from spaql.plants.problem import Problem
    from spaql.training.episode import Episode

Changes = tuple[tuple[int, float], ...]  # (step, value from there on)
MOST_CHANGES = 12  # of a reference that are told one by one


@dataclass(frozen=True, eq=False)
class Worst:
    """The worst episode that `policy.falsify()` has found; print it, plot it.

    `episode` is its replay, step by step, and `typical` the median of ordinary episodes.
    """

    problem: "Problem"
    by: str  # what was searched for: the lowest "return", or the largest excess over "limits"
    total: float  # its return
    failed: bool
    rule: str  # what a failure is: an episode that ...; "" if nothing tells
    excess: dict[str, float]  # by limited variable: the worst excess, physical units; below zero: the limit was kept
    start: dict[str, float]  # the first values of the variables
    parameters: dict[str, float]  # that it has drawn, by name
    references: dict[str, Changes]  # by name, with the steps at which they change
    units: dict[str, str]  # of the variables and references
    episode: "Episode"
    typical: "Episode"
    evaluation: Evaluation  # of the ordinary episodes
    tried: int  # episodes of the search
    seed: int

    def plot(self, path: str | PathLike[str] | None = None) -> "Figure":
        """The episode over its steps, with the typical one behind it.

        `path`: where to write it, a name that ends with png, svg or pdf.
        """
        from spaql.analysis.episode_figure import worst_figure

        return worst_figure(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON: all but the episodes."""
        names = ("by", "total", "failed", "rule", "excess", "start", "parameters", "references", "tried", "seed")
        fresh = {"mean": self.evaluation.mean, "worst": float(self.evaluation.returns.min())}
        data = {name: getattr(self, name) for name in names}
        return data | {"fresh": fresh | {"episodes": len(self.evaluation.returns)}, "steps": len(self.episode)}

    # -- in words ------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        failed = "failed" if self.failed else "did not fail"
        return f"<Worst of {self.tried:,} episodes: return {number(self.total)}, {failed}>"

    def __str__(self) -> str:
        head = f"The worst of {self.tried:,} episodes that were searched on {self.problem.name}, seed {self.seed}"
        lines = [*textwrap.wrap(head, WIDTH, subsequent_indent="  "), *lines_of(self.rows(), 11, 14)]
        return "\n".join(lines).replace(HARD, " ")

    def rows(self) -> list[tuple[str, str]]:
        """What was found, a name and a text each."""
        rows = [("return", f"{number(self.total)}; {self._ordinary()}"), ("failure", self._failure())]
        units = limit_units(self.problem.limits, self.problem.state, self.problem.actions)
        for limit, unit in zip(self.problem.limits, units, strict=True):
            over = self.excess[limit.variable]
            size = with_unit(number(abs(over), 3), unit)
            kept = f"exceeded by {size}" if over > 0.0 else f"kept, with {size} to spare"
            rows.append(("limit", f"{limit.text(unit)}: {kept}; {self._usually(limit.variable, unit)}"))
        rows.append(("start", self._values(self.start)))
        rows += [("parameters", self._values(self.parameters))] if self.parameters else []
        return rows + [("reference", self._changes(name)) for name in self.references]

    def _ordinary(self) -> str:
        returns = self.evaluation.returns
        if self.problem.plant is None:  # the tried seeds are all there is
            return f"the mean of all is {number(self.evaluation.mean)}"
        mean, worst = number(self.evaluation.mean), number(float(returns.min()))
        return f"{len(returns):,} fresh episodes have {mean} on average, {worst} at worst"

    def _failure(self) -> str:
        if not self.rule:
            return "not defined: the problem has no limits, and does not say what its ends mean"
        failures, fresh = self.evaluation.failures, "fresh episodes" if self.problem.plant is not None else "seeds"
        usual = f"{failures.count:,} of {failures.episodes:,} {fresh} failed"
        return f"{'yes' if self.failed else 'no'}; {usual}. A failure is an episode that {self.rule}"

    def _usually(self, variable: str, unit: str) -> str:
        excess = self.evaluation.violations[variable].excess
        which = "fresh episodes" if self.problem.plant is not None else "all seeds"
        return f"{which}: never" if excess == 0.0 else f"{which}: by {with_unit(number(excess, 3), unit)}"

    def _values(self, values: dict[str, float]) -> str:
        parts = [f"{name} = {with_unit(number(value), self.units.get(name, ''))}" for name, value in values.items()]
        return ", ".join(part.replace(" ", HARD) for part in parts)

    def _changes(self, name: str) -> str:
        changes, unit = self.references[name], self.units.get(name, "")
        values = [value for _, value in changes]
        if len(changes) > MOST_CHANGES:
            low, high = number(min(values)), with_unit(number(max(values)), unit)
            return f"{name} moves from {number(values[0])} on, between {low} and {high}"
        texts = [with_unit(number(value), unit) for value in values]
        later = [f"{text} from step {step} on" for text, (step, _) in zip(texts[1:], changes[1:], strict=True)]
        return ", ".join(part.replace(" ", HARD) for part in [f"{name} = {texts[0]}", *later])
