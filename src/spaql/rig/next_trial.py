"""The next trial of a rig: what it runs, what it promises, and whether it is allowed; and what came of it."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spaql.gp.learned_problem import FEWEST
from spaql.ground.arrays import Array
from spaql.ground.errors import SpaqlError
from spaql.plants.problem import Problem
from spaql.plants.references import Reference
from spaql.policy.digits import counted, number, percent, with_unit
from spaql.policy.policy import Policy
from spaql.rig.description import Description
from spaql.rig.folder import CONTROLLER, EXPECTED, PLAN, RigTrial, json_text, write
from spaql.rig.log_check import Checked, LogPiece
from spaql.rig.machine_model import RigModel, learn_model
from spaql.rig.promise import EPISODES, TOWARDS, Promise, between, laws_of, on, promise_of
from spaql.version import __version__

EXCITED_FOR = (1, 5)  # steps, at least and at most, until the excitation jumps
WORTH = 0.1  # of the deviation between episodes: a law that promises less beside the fallback is not worth a trial
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
    model = RigModel(problem, _more(described, problem), model.missed, model.steps, model.noise, model.edges)
    candidates = [("new laws", laws)]
    for trial in reversed(trials[-3:]):
        earlier = on(problem, read_controller(trial)) if (trial.path / CONTROLLER).exists() else None
        candidates += [(f"the law of {trial.name}", earlier)] if earlier is not None else []
    plain = on(problem, fallback)
    assert plain is not None
    for way in TOWARDS:
        step = between(plain, laws, way)
        candidates += [(f"a step of {100 * way:.0f} % from the fallback to new laws", step)] if step is not None else []
    candidates.append(("the fallback", plain))
    judged = []
    for name, candidate in candidates:
        evaluation = candidate.evaluate(EPISODES, seed + 1)
        chance = float(np.asarray(evaluation.terminated, bool).mean()) if described.limits else 0.0
        judged.append((evaluation.mean, chance, name, candidate))
    allowed = [entry for entry in judged if entry[1] <= described.chance]
    if not allowed:
        least = min(judged, key=lambda entry: entry[1])
        raise SpaqlError(
            f"no trial: even {least[2]} touches a limit in {percent(least[1])} of the trials in the model, rig.toml "
            f"allows {percent(described.chance)}: use a safer fallback, add its logs, or allow more (chance)"
        )
    best = max(allowed, key=lambda entry: entry[0])
    wider = _wider(trials)
    promised = promise_of(described, model, plain, wider, seed + 2)
    worth = WORTH * float(np.std(plain.evaluate(EPISODES, seed + 1).returns))
    if best[3] is plain or best[0] < next(mean for mean, _, _, each in judged if each is plain) + worth:
        why = f"no law promises more than the fallback after {counted(steps, 'step')}: the fallback again, excited"
        return Proposal(excited(described), why, promised, promised, used, model)
    why = f"{best[2]} after {counted(steps, 'step')} in {counted(len(logs), 'log')}"
    if best is not max(judged, key=lambda entry: entry[0]):
        why += "; what promises more may touch a limit"
    elsewhere = described.stated(model.memory)
    policy = on(elsewhere, best[3])
    assert policy is not None
    return Proposal(policy, why, promise_of(described, model, best[3], wider, seed + 2), promised, used, model)


def _more(described: Description, problem: Problem) -> tuple[str, ...]:
    return tuple(axis.name for axis in problem.state if axis.name not in described.sees)


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
    lines = lines_of(described, proposal)
    said: dict[str, Any] = {
        "spaql": __version__, "rig": described.name, "seed": seed, "learned_from": list(proposal.used),
        "why": proposal.why,
        "law": law_text(policy), "steps": described.steps,
        "mean": None if promise is None else promise.mean, "low": None if promise is None else promise.low,
        "high": None if promise is None else promise.high, "chance": None if promise is None else promise.chance,
        "fallback": None if proposal.fallback is None else proposal.fallback.mean,
        "missed": None if proposal.model is None else proposal.model.missed, "lines": lines,
    }  # fmt: skip
    write(folder / EXPECTED, json_text(said))
    write(folder / CONTROLLER, policy.to_json())
    write(folder / "controller.c", policy.to_c())
    write(folder / "controller.st", policy.to_st())
    table = drawn(signals.references, described.steps, np.random.default_rng([seed, earlier]))
    text = io.StringIO()
    names = ["step", *(reference.name for reference in signals.references)]
    text.write(",".join(names) + "\n")
    for t, row in enumerate(table.tolist()):
        text.write(",".join([str(t), *map(repr, row)]) + "\n")
    write(folder / PLAN, text.getvalue())


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
    if promise is None:
        lines += ["expected  nothing is known yet", "goes      where the fallback goes, and a little around it"]
        lines += ["limits    the chance of touching one is not known: you answer for the fallback"]
        return [*lines, f"why       {proposal.why}"]
    earned = f"{number(promise.mean)} (95 %: {number(promise.low)} to {number(promise.high)})"
    beside = "" if fallback is None or fallback is promise else f"; the fallback {number(fallback.mean)}"
    lines.append(f"expected  return {earned} in {counted(described.steps, 'step')}{beside}")
    reach = [
        f"{name} {number(low, 3)} ... {with_unit(number(high, 3), units[name])}"
        for name, (low, high) in promise.reach.items()
    ]
    lines.append(f"goes      {', '.join(reach)}")
    if described.limits:
        texts = ", ".join(limit.text(units[limit.variable]) for limit in described.limits)
        share = f"{percent(promise.chance)} of the trials, allowed are {percent(described.chance)}"
        lines.append(f"limits    {texts}: touched in {share}")
    else:
        lines.append("limits    none are stated in rig.toml")
    return [*lines, f"why       {proposal.why}"]


# -- what came of it ---------------------------------------------------------------------------------------------------


def outcome(described: Description, trial: RigTrial | None, checked: Checked) -> dict[str, Any]:
    """The return of a log, beside what was promised, and the limits that it touched."""
    piece: LogPiece = max(checked.pieces, key=lambda piece: (piece.first == 0, len(piece.u)))
    n = min(len(piece.u), described.steps)
    earned = float(described.paid(piece.y[: n + 1], piece.r[:n], piece.u[:n]).sum())
    whole = piece.first == 0 and n == described.steps
    touched = []
    names = [axis.name for axis in described.state]
    for limit in described.limits:
        for part in checked.pieces:
            values = part.y[:, names.index(limit.variable)]
            beyond = np.flatnonzero((values < limit.low) | (values > limit.high))
            if len(beyond):
                touched.append(
                    {"variable": limit.variable, "step": int(part.first + beyond[0]), "value": float(values[beyond[0]])}
                )
                break
    expected = None if trial is None else trial.expected
    inside = None
    if whole and expected is not None and expected["low"] is not None and not touched:
        inside = bool(expected["low"] <= earned <= expected["high"])
    return {
        "return": earned,
        "steps": n,
        "whole": whole,
        "inside": inside,
        "touched": touched,
        "notes": list(checked.notes),
    }


def outcome_lines(trial: RigTrial, described: Description, result: dict[str, Any]) -> list[str]:
    """What happened, beside what was promised."""
    expected = trial.expected
    said = f"{trial.name}: return {number(result['return'])} in {counted(result['steps'], 'step')}"
    if expected is None:
        said += ", kept as data: no controller of ours ran"
    elif result["inside"] is not None:
        promised = f"{number(expected['mean'])} (95 %: {number(expected['low'])} to {number(expected['high'])})"
        said += f", promised {promised}: {'inside' if result['inside'] else 'OUTSIDE, promises get wider'}"
    elif not result["whole"]:
        said += f" of {described.steps}: too short to be held against the promise"
    lines = [said]
    for touch in result["touched"]:
        lines.append(f"LIMIT touched: {touch['variable']} {number(touch['value'])} at step {touch['step']}")
    return [*lines, *(f"note: {note}" for note in result["notes"])]
