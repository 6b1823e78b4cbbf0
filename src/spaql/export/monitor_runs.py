"""A policy in Python, alone or behind a monitor (see c.py), and episodes of the latter: what is exported is what runs.
"""

from collections import Counter as Counts
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spaql.export.heading import PYTHON_WORDS, checked_name, facts
from spaql.export.monitor_parts import (
    ASKED,
    CAUSES,
    OUTSIDE,
    UNUSABLE_INPUT,
    Sides,
    measured_names,
    monitor_facts,
    sides_of,
    written,
)
from spaql.export.programs import Step
from spaql.export.python import LANGUAGE, imports, law_function, loop_lines, loop_step, memory_text, step_body
from spaql.ground.arrays import Array
from spaql.ground.checks import numbers
from spaql.ground.progress import EPISODES, working
from spaql.plants.environment import LoopInside, inside
from spaql.plants.signals import Signals
from spaql.policy.controller import Controller
from spaql.policy.digits import counted, percent
from spaql.policy.evaluation import Evaluation
from spaql.policy.policy import Policy
from spaql.training.closed_loop import Acts, played


def to_python(policy: Policy, name: str = "controller", monitor: Any = None) -> str:
    """Source of `controller(obs)`, which returns a number, or a tuple where the action has several axes.

    Nested ifs, or a table where they would be too deep for Python. Behind a `monitor`, source of `controller_init()`,
    `_step(memory, inputs)`, `_request(memory)` and `_reset(memory)`.
    """
    checked_name(name, PYTHON_WORDS)
    if monitor is not None:
        sides = sides_of(policy, monitor)
        written(sides.fallback)
        return python_of(sides, name)
    comment, signals = [f"# {line}".rstrip() for line in facts(policy)], policy.problem.signals
    law, around = law_function(policy, name), [] if signals is None else loop_lines(signals, name)
    return "\n".join([*comment, "", *imports(law), "", *law, *around]) + "\n"


def python_of(sides: Sides, name: str = "controller") -> str:
    """A fallback that is a Python function is left out: `controller_fallback(obs)` has to be given."""
    literal, parts = LANGUAGE.literal, {"law": sides.law, "fallback": sides.fallback}
    comment = [f"# {line}".rstrip() for line in monitor_facts(sides, "{}[{}]", f"{name}_reset")]
    lines, steps = list[str](), dict[str, Step]()
    words = sides.seen(PYTHON_WORDS | {"obs", name})
    sums, tests = sides.region.conditions(words, sides.sums(), literal)
    for part, side in parts.items():
        if isinstance(side.controller, Policy):
            lines += ["", "", *law_function(side.controller, f"{name}_{part}")]
        if side.signals is not None:
            steps[part] = loop_step(side.signals, f"{name}_{part}", side.inputs("inputs[{}]", literal))
    lines += ["", "", f"def {name}_inside(obs):", f"    {', '.join(words)}{',' if len(words) == 1 else ''} = obs"]
    lines += [f"    {word} = {total}" for word, total in zip(sides.sums(), sums, strict=True)]
    lines += [f"    return {' and '.join(tests)}"]
    lines += ["", "", f"def {name}_law_step(memory, inputs):"]
    lines += ['    """Why the law must not act, or 0, and its action."""']
    if "law" in steps:
        lines += step_body(steps["law"], f"{name}_law", f"{name}_inside")
    else:
        usable = LANGUAGE.usable.format("value")
        lines += [f"    if not all({usable} for value in inputs):", f"        return {UNUSABLE_INPUT}, None"]
        lines += [f"    if not {name}_inside(inputs):", f"        return {OUTSIDE}, None"]
        lines += [f"    return 0, {name}_law(inputs)"]
    if "fallback" in steps:
        head = ["", "", f"def {name}_fallback_step(memory, inputs):"]
        lines += [*head, *step_body(steps["fallback"], f"{name}_fallback")]
    comment += ["", *imports(lines)] if imports(lines) else []
    return "\n".join([*comment, *lines, *_python_switch(sides, steps, name)]) + "\n"


def _python_switch(sides: Sides, steps: dict[str, Step], name: str) -> list[str]:
    kept = "".join(f', "of_{part}": {memory_text(step)}' for part, step in steps.items())
    first = ", ".join(map(LANGUAGE.literal, sides.first))
    begun = f'"fallback": False, "cause": 0, "trips": 0, "fresh": True, "last": [{first}]{kept}'

    def anew(part: str) -> list[str]:
        if part not in steps:
            return []
        carried = {word: f'memory["last"][{j}]' for word, j in steps[part].carried.items()}
        fresh = memory_text(steps[part], carried)
        return ['        if memory["fresh"]:', f'            memory["of_{part}"], memory["fresh"] = {fresh}, False']

    stepped = f'{name}_fallback_step(memory["of_fallback"], inputs)'
    call = stepped if "fallback" in steps else f"{name}_fallback(inputs)"
    text = [
        "", "",
        f"def {name}_init():", '    """The memory before the first step: the law acts."""', f"    return {{{begun}}}",
        "", "",
        f"def {name}_trip(memory, cause):",
        '    memory["fallback"], memory["cause"], memory["fresh"] = True, cause, True',
        '    memory["trips"] += 1', "", "",
        f"def {name}_request(memory):", '    """The fallback acts from the next step on."""',
        '    if not memory["fallback"]:', f"        {name}_trip(memory, {ASKED})", "", "",
        f"def {name}_reset(memory):", '    """The law acts from the next step on, if it may."""',
        '    if memory["fallback"]:', '        memory["fallback"], memory["fresh"] = False, True', "", "",
        f"def {name}_step(memory, inputs):", '    """One step: changes the memory, returns what is applied."""',
        "    inputs = [float(value) for value in inputs]",
        '    if not memory["fallback"]:',
        *anew("law"),
        f'        cause, applied = {name}_law_step(memory.get("of_law"), inputs)',
        "        if cause:", f"            {name}_trip(memory, cause)",
        '    if memory["fallback"]:',
        *anew("fallback"),
        f"        applied = {call}",
        '    memory["last"] = list(applied) if type(applied) is tuple else [applied]',
        "    return applied",
    ]  # fmt: skip
    return text


# -- steps and episodes ------------------------------------------------------------------------------------------------


class MonitorRun:
    """The exported Python with its memory: `step(inputs)` at every sampling instant returns what is to be applied."""

    def __init__(self, sides: Sides) -> None:
        self.sides, scope = sides, dict[str, Any]()
        if isinstance(sides.fallback.controller, Controller):
            scope["controller_fallback"] = _called(sides.fallback.controller)
        exec(compile(python_of(sides), "monitor", "exec"), scope)
        self._functions = scope
        self.memory: dict[str, Any] = scope["controller_init"]()

    @property
    def fallback(self) -> bool:
        """Whether the fallback acts."""
        return bool(self.memory["fallback"])

    @property
    def trips(self) -> int:
        """How often the fallback has taken over."""
        return int(self.memory["trips"])

    @property
    def cause(self) -> str:
        """Why it has taken over last; "" if it never has."""
        return CAUSES.get(self.memory["cause"], "")

    def step(self, inputs: Any) -> Array:
        """`inputs`: the measured variables, then the references; NaN where a measurement is missing."""
        values = numbers("inputs", inputs, (len(self.sides.inputs),))
        return np.atleast_1d(np.asarray(self._functions["controller_step"](self.memory, values.tolist()), float))

    def request(self) -> None:
        """The fallback acts from the next step on."""
        self._functions["controller_request"](self.memory)

    def reset(self) -> None:
        """The law acts again from the next step on, if it may."""
        self._functions["controller_reset"](self.memory)


def _called(controller: Controller) -> Callable[[list[float]], Any]:
    """A Python function as a fallback, which must act on measurements that are no numbers, too."""
    neutral = tuple(controller.problem.actions.neutral)

    def act(obs: list[float]) -> Any:
        finite = np.isfinite(obs).all()
        action = tuple(controller.decide([obs])[0].tolist()) if finite else neutral
        return action if len(action) > 1 else action[0]

    return act


@dataclass(frozen=True, eq=False)
class MonitorEvaluation:
    """Fresh episodes of a law behind its monitor; print it. Arrays have one entry per episode."""

    evaluation: Evaluation  # of law and fallback together
    took_over: Array  # the step at which the fallback took over, -1: it never did
    left: tuple[str, ...]  # what was outside its bounds then, or the cause

    @property
    def share(self) -> float:
        """Of the episodes in which the fallback took over."""
        return float((self.took_over >= 0).mean())

    @property
    def steps(self) -> float:
        """Share of all steps in which the fallback acted."""
        lengths = self.evaluation.lengths
        return float(np.where(self.took_over >= 0, lengths - self.took_over, 0).sum() / lengths.sum())

    @property
    def line(self) -> str:
        """How often it acted, in one line."""
        count, episodes = int((self.took_over >= 0).sum()), counted(len(self.took_over), "episode")
        if not count:
            return f"the fallback never took over in {episodes}"
        first = ", ".join(f"{name} ({times})" for name, times in Counts(self.left).most_common() if name)
        return f"the fallback took over in {count} of {episodes}, {percent(self.steps)} of the steps: {first}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        first = {name: count for name, count in Counts(self.left).items() if name}
        return {"took_over": sum(first.values()), "episodes": len(self.left), "steps": self.steps, "first": first}

    def __str__(self) -> str:
        return f"{self.evaluation}\n  monitor     {self.line}"


@working(EPISODES)
def evaluate_monitor(sides: Sides, episodes: int, seed: int) -> MonitorEvaluation:
    """Episodes of `policy.evaluate(seed=seed)`, from the same start states, in Python."""
    policy, problem = sides.policy, sides.policy.problem
    took_over, left = np.full(episodes, -1), [""] * episodes

    def player(j: int, env: Any) -> Acts:
        run = MonitorRun(sides)

        def act(observation: Any, step: int) -> Array:
            now = inside(env)
            given = np.ravel(observation)[: len(sides.inputs)] if now is None else [*now.measured, *now.references]
            applied = run.step(given)
            if run.fallback and took_over[j] < 0:
                took_over[j], left[j] = step, _outside(sides, np.ravel(observation), run)
            if problem.signals is None or now is None:
                return applied
            decided: Array = policy.decide([np.ravel(observation)])[0]
            return _decided(problem.signals, now, applied) if run.fallback else decided

        return act

    return MonitorEvaluation(played(problem, player, episodes, seed), took_over, tuple(left))


def _decided(signals: Signals, now: LoopInside, applied: Array) -> Array:
    """What a law would have to decide, so that this is applied: of increments the change."""
    if not signals.increments:
        return applied
    before = [int(signals.previous(name)[1:]) for name in signals.action_names]
    change: Array = applied - np.array([now.registers[i] for i in before])
    return change


def _outside(sides: Sides, observation: Array, run: MonitorRun) -> str:
    """The first variable beyond its bounds, or the cause."""
    names, values = measured_names(sides.policy.problem), observation.tolist()
    for name, value, low, high in zip(names, values, sides.region.low, sides.region.high, strict=False):
        if not low <= value <= high:
            return name
    return "ellipsoid" if run.memory["cause"] == OUTSIDE else run.cause
