"""How a policy speaks: variables with units, tests, rules, actions."""

import math
from collections.abc import Sequence

from spaql.arrays import Array
from spaql.explain.policy import Policy
from spaql.explain.tree import path_to
from spaql.plants.problem import Problem


def number(value: float) -> str:
    """Four significant digits; no trailing zeros."""
    return f"{value:.4g}" if math.isfinite(value) else ("∞" if value > 0 else "-∞")


def column(values: Sequence[float]) -> list[str]:
    """Finite numbers to compare, one below the other: five significant digits of the largest, and more where they hardly differ."""
    largest, spread = max(map(abs, values)), max(values) - min(values)
    digits = min(max(5, 3 + math.ceil(math.log10(largest / spread))), 12) if spread > 0.0 else 5
    place = math.floor(math.log10(largest)) if largest > 0.0 else 0
    form = f".{max(0, digits - 1 - place)}f" if -4 <= place < 9 else f".{digits - 1}e"
    told = [format(value, form) for value in values]
    return [text.rjust(max(map(len, told))) for text in told]


def unit(text: str) -> str:
    return f" {text}" if text else ""


def action_words(problem: Problem, action: Array) -> str:
    """ "torque = 1.5 N m"."""
    actions = problem.actions
    names = actions.names or tuple("action" if len(action) == 1 else f"action {i + 1}" for i in range(len(action)))
    units = actions.units or ("",) * len(action)
    return ", ".join(f"{name} = {number(float(value))}{unit(of)}" for name, value, of in zip(names, action, units, strict=True))


def test_words(policy: Policy, node: int, high: bool) -> str:
    """A test as it came out: "angle ≥ 0.03 rad"."""
    rules, state = policy.rules, policy.problem.state
    feature, cut = int(rules.nodes["feature"][node]), float(rules.nodes["cut"][node])
    sign = "≥" if high else "<"
    if feature < len(state):
        return f"{state[feature].name} {sign} {number(cut)}{unit(state[feature].unit)}"
    terms = [f"{number(float(w))}·{axis.name}" for w, axis in zip(rules.weights[node], state, strict=True) if w != 0.0]
    return f"{' + '.join(terms) or '0'} {sign} {number(cut)}".replace("+ -", "- ")


def rule_words(policy: Policy, leaf: int) -> list[str]:
    """All that must hold in a leaf, merged per variable; what holds anyway is left out."""
    parts, d = [], len(policy.problem.state)
    low, high = [-math.inf] * d, [math.inf] * d
    for node, above in path_to(policy.rules, leaf):
        feature, cut = int(policy.rules.nodes["feature"][node]), float(policy.rules.nodes["cut"][node])
        if feature == d:
            parts.append(test_words(policy, node, above))
        elif above:
            low[feature] = max(low[feature], cut)
        else:
            high[feature] = min(high[feature], cut)
    for axis, a, b in zip(policy.problem.state, low, high, strict=True):
        if math.isfinite(a) and math.isfinite(b):
            parts.append(f"{number(a)} ≤ {axis.name} < {number(b)}{unit(axis.unit)}")
        elif math.isfinite(a):
            parts.append(f"{axis.name} ≥ {number(a)}{unit(axis.unit)}")
        elif math.isfinite(b):
            parts.append(f"{axis.name} < {number(b)}{unit(axis.unit)}")
    return parts
