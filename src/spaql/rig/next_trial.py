"""The next trial of a rig: what it runs, what it promises, and whether it is allowed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spaql.export.monitor import Monitor
from spaql.gp.learned_problem import FEWEST
from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.plants.references import Reference
from spaql.policy.digits import counted, number, percent, with_unit
from spaql.policy.policy import Policy
from spaql.rig.description import Description
from spaql.rig.folder import CONTROLLER, EXPECTED, PLAN, RigTrial, json_text, write
from spaql.rig.log_check import Checked
from spaql.rig.machine_model import RigModel, learn_model
from spaql.rig.promise import EPISODES, TOWARDS, Promise, between, laws_of, on, promise_of
from spaql.version import __version__

EXCITED_FOR = (1, 5)  # steps, at least and at most, until the excitation jumps
WORTH = 0.1  # of the deviation between episodes: a law that promises less beside the fallback is not worth a trial
AROUND = 0.5  # of the width of what the law sees in the model: so much further it may act
PROMISED = ("mean", "low", "high", "chance")  # in the file of a trial
MARGIN = 1.1  # by so much wider than the worst of the promises before


@dataclass(frozen=True)
class Proposal:
    """What a trial runs, and what is said about it."""

    policy: Policy
    why: str
    promise: Promise | None
    fallback: Promise | None
    used: tuple[int, ...]  # trials it was learned from
    model: RigModel | None
    region: dict[str, tuple[float, float]] | None = None  # in which the law acts; None: everywhere


def excitation_of(described: Description) -> tuple[Reference, ...]:
    """A signal for every action, to be added to what the controller says."""
    low, high = described.actions.bounds
    sizes = zip(described.actions.axis_names, (described.excite * (high - low) / 2).tolist(), strict=True)
    units = dict(zip(described.actions.axis_names, described.actions.axis_units, strict=True))
    return tuple(
        Reference(f"excite {name}", -size, size, hold=EXCITED_FOR, unit=units[name])
        for name, size in sizes
        if size > 0.0
    )


def excited(described: Description) -> Policy:
    """The fallback with an excitation, which its law adds to what it says."""
    signals = excitation_of(described)
    problem = described.stated((), signals)
    gains = {name: dict(laws) for name, laws in described.gains.items()}
    for signal in signals:
        gains[signal.name.removeprefix("excite ")][signal.name] = 1.0
    return described.law(problem, gains)


def propose(
    described: Description, logs: Sequence[tuple[RigTrial, Checked]], trials: Sequence[RigTrial], seed: int
) -> Proposal:
    """The trial that comes next; SpaqlError if none is allowed."""
    used = tuple(trial.number for trial, _ in logs)
    steps = sum(checked.steps for _, checked in logs)
    if len(logs) < described.excited or steps < FEWEST:
        why = f"nothing is known of the machine yet ({counted(steps, 'step')}): the fallback, excited"
        return Proposal(excited(described), why, None, None, used, None)
    pieces = [piece for _, checked in logs for piece in checked.pieces]
    model = learn_model(described, pieces, seed)
    fallback = described.fallback(model.problem)
    laws = laws_of(described, model, seed)
    problem = laws.problem  # laws may also see what was applied before, where actions have rates
    more = tuple(axis.name for axis in problem.state if axis.name not in described.sees)
    model = RigModel(problem, more, model.missed, model.steps, model.noise, model.edges)
    plain = on(problem, fallback)
    assert plain is not None
    candidates = [("new laws", laws)]
    for trial in reversed(trials[-3:]):
        earlier = on(problem, read_controller(trial)) if (trial.path / CONTROLLER).exists() else None
        candidates += [(f"the law of {trial.name}", earlier)] if earlier is not None else []
    for way in TOWARDS:
        step = between(plain, laws, way)
        candidates += [(f"a step of {100 * way:.0f} % from the fallback to new laws", step)] if step is not None else []
    judged = [_weighed(described, name, policy, seed + 1) for name, policy in candidates]
    own = _weighed(described, "the fallback", plain, seed + 1)
    allowed = [each for each in judged if each.chance <= described.chance and each.mean > own.mean + WORTH * own.spread]
    wider, known = _wider(trials), counted(steps, "step")
    promised = promise_of(described, model, plain, wider, seed + 2)
    if not allowed:
        _check_fallback(described, trials, own, judged)
        why = f"no law is worth a trial after {known}: the fallback, excited"
        return Proposal(excited(described), why, None, promised, used, model)
    best = max(allowed, key=lambda each: each.mean)
    why = f"{best.name} after {known} in {counted(len(logs), 'log')}"
    if best is not max(judged, key=lambda each: each.mean):
        why += "; what promises more may touch a limit"
    policy = on(described.stated((*model.memory, *(limit.variable for limit in described.limits))), best.policy)
    assert policy is not None
    promise = promise_of(described, model, best.policy, wider, seed + 2)
    return Proposal(policy, why, promise, promised, used, model, _region(best.policy))


def _region(policy: Policy) -> dict[str, tuple[float, float]]:
    """What the law sees in the model, and half as much more: beyond it the model is wrong, and the fallback acts."""
    acting = Monitor(fallback=policy, margin=AROUND).region_of(policy)
    ends = zip(acting.low, acting.high, strict=True)
    return dict(zip((axis.name for axis in policy.problem.state), ends, strict=True))


class Weighed(NamedTuple):
    """What the model says of a law."""

    name: str
    policy: Policy
    mean: float  # of the episodes that touch no limit
    spread: float
    chance: float  # of touching one


def _weighed(described: Description, name: str, policy: Policy, seed: int) -> Weighed:
    evaluation = policy.evaluate(EPISODES, seed)
    ended = np.asarray(evaluation.terminated, bool) & bool(described.limits)
    kept = evaluation.returns[~ended] if not ended.all() else evaluation.returns
    return Weighed(name, policy, float(kept.mean()), float(kept.std()), float(ended.mean()))


def _check_fallback(
    described: Description, trials: Sequence[RigTrial], own: Weighed, judged: Sequence[Weighed]
) -> None:
    """The fallback may act again if it has touched no limit on the machine, which is worth more than what a model of
    few steps says; or if the model says that it does not."""
    if own.chance <= described.chance:
        return
    mine = [trial for trial in trials if trial.expected is not None and "excite " in str(trial.expected["law"])]
    touched = [trial for trial in mine if trial.result is not None and trial.result["touched"]]
    if touched or not mine:
        least = min([own, *judged], key=lambda each: each.chance)
        raise SpaqlError(
            f"no trial: even {least.name} touches a limit in {percent(least.chance)} of the trials in the model, "
            f"rig.toml allows {percent(described.chance)}: use a safer fallback, add its logs, or allow more (chance)"
        )


def _wider(trials: Sequence[RigTrial]) -> float:
    """How much wider promises have to be, by what came of those before."""
    off = []
    for trial in trials:
        expected, result = trial.expected, trial.result
        if expected and result and expected["low"] is not None and result["inside"] is not None:
            miss = result["return"] - expected["mean"]
            half = (expected["high"] if miss > 0 else expected["low"]) - expected["mean"]
            off.append(miss / half if half else 1.0)
    return max([1.0, *(MARGIN * value for value in off if value > 1.0)])


def read_controller(trial: RigTrial) -> Policy:
    """What the trial runs."""
    try:
        return Policy.from_json((trial.path / CONTROLLER).read_text("utf-8"))
    except OSError as error:
        raise SpaqlError(f"cannot read {trial.path / CONTROLLER}: {error.strerror}") from error


def drawn(references: Sequence[Reference], steps: int, rng: np.random.Generator) -> Array:
    """(steps, references) as a trial has them: a plan for whoever runs it."""
    table = np.zeros((steps, len(references)))
    for k, reference in enumerate(references):
        values: list[float] = []
        stretch = 0
        while len(values) < steps:
            fixed = reference.values[min(stretch, len(reference.values) - 1)] if reference.values else None
            value = float(rng.uniform(reference.low, reference.high)) if fixed is None else fixed
            least, most = reference.hold if isinstance(reference.hold, tuple) else (steps, steps)
            values += [value] * int(rng.integers(least, most + 1))
            stretch += 1
        table[:, k] = values[:steps]
        for t in range(1, steps) if reference.rate is not None else ():
            before, rate = table[t - 1, k], float(reference.rate or 0.0)
            table[t, k] = before + np.clip(table[t, k] - before, -rate, rate)
    return table


def write_trial(described: Description, proposal: Proposal, earlier: int, seed: int, folder: Path) -> None:
    """The files of a trial."""
    policy, promise = proposal.policy, proposal.promise
    signals = policy.problem.signals
    assert signals is not None
    said: dict[str, Any] = {
        "spaql": __version__, "rig": described.name, "seed": seed, "learned_from": list(proposal.used),
        "why": proposal.why,
        "law": law_text(policy), "steps": described.steps,
        **{name: getattr(promise, name, None) for name in PROMISED},
        "fallback": None if proposal.fallback is None else proposal.fallback.mean,
        "missed": None if proposal.model is None else proposal.model.missed, "region": proposal.region,
        "lines": lines_of(described, proposal),
    }  # fmt: skip
    write(folder / EXPECTED, json_text(said))
    write(folder / CONTROLLER, policy.to_json())
    fallback = described.fallback(policy.problem)
    monitor = None if proposal.region is None else Monitor(proposal.region, fallback)
    write(folder / "controller.c", policy.to_c(monitor=monitor))
    write(folder / "controller.st", policy.to_st(monitor=monitor))
    table = drawn(signals.references, described.steps, np.random.default_rng([seed, earlier]))
    rows = [["step", *(reference.name for reference in signals.references)]]
    rows += [[str(t), *map(repr, row)] for t, row in enumerate(table.tolist())]
    write(folder / PLAN, "".join(",".join(row) + "\n" for row in rows))


def read_plan(trial: RigTrial) -> Array:
    """(steps, references and excitation)"""
    try:
        rows = np.loadtxt(trial.path / PLAN, delimiter=",", skiprows=1, ndmin=2)
    except (OSError, ValueError) as error:
        raise SpaqlError(f"cannot read {trial.path / PLAN}: get it back from version control") from error
    return rows[:, 1:]


def law_text(policy: Policy) -> str:
    """The law in one line."""
    return " ".join(policy.to_text(share=False).split("\n\n", 1)[-1].split())


def lines_of(described: Description, proposal: Proposal) -> list[str]:
    """Five lines: the law, what it earns, how far it goes, what it may touch, and why it is tried."""
    promise, fallback = proposal.promise, proposal.fallback
    units = dict(
        zip(described.names, [*(axis.unit for axis in described.state), *described.actions.axis_units], strict=True)
    )
    lines = [f"law       {law_text(proposal.policy)}"]
    if promise is None and fallback is not None:
        lines += [f"expected  return about {number(fallback.mean)}, without the excitation"]
        lines += [f"goes      {_reach(fallback, units)}", f"limits    {_limits(described, fallback, units)}"]
        return [*lines, f"why       {proposal.why}"]
    if promise is None:
        lines += ["expected  nothing is known yet", "goes      where the fallback goes, and a little around it"]
        lines += ["limits    the chance of touching one is not known: you answer for the fallback"]
        return [*lines, f"why       {proposal.why}"]
    earned = f"{number(promise.mean)} (95 %: {number(promise.low)} to {number(promise.high)})"
    beside = "" if fallback is None or fallback is promise else f"; the fallback {number(fallback.mean)}"
    lines.append(f"expected  return {earned} in {counted(described.steps, 'step')}{beside}")
    lines += [f"goes      {_reach(promise, units)}", f"limits    {_limits(described, promise, units)}"]
    return [*lines, f"why       {proposal.why}"]


def _reach(promise: Promise, units: Mapping[str, str]) -> str:
    spans = [
        f"{name} {number(low, 3)} ... {with_unit(number(high, 3), units[name])}"
        for name, (low, high) in promise.reach.items()
    ]
    return ", ".join(spans)


def _limits(described: Description, promise: Promise, units: Mapping[str, str]) -> str:
    if not described.limits:
        return "none are stated in rig.toml"
    texts = ", ".join(limit.text(units[limit.variable]) for limit in described.limits)
    return f"{texts}: touched in {percent(promise.chance)} of the trials, allowed are {percent(described.chance)}"
