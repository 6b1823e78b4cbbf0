"""Features in exported programs: which are needed, and how languages write their formulas."""

import re
from collections.abc import Callable, Sequence

import numpy as np

from spaql.plants.formulas import PYTHON, Grammar
from spaql.policy.policy import Policy

Literal = Callable[[float], str]
_PLAIN = ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "sqrt", "tanh")
OF_MATH_H = re.compile(r"\bINFINITY\b|\b(a?(sin|cos|tan)|atan2|tanh|exp|log|sqrt|fabs|fmin|fmax)f?\(")


def c_grammar(literal: Literal, real: str) -> Grammar:
    """Functions of floats end with an f."""
    f = "f" if real == "float" else ""
    functions = {name: f"{name}{f}({{}})" for name in _PLAIN} | {"abs": f"fabs{f}({{}})"}
    functions |= {"atan2": f"atan2{f}({{}}, {{}})", "min": f"fmin{f}({{}}, {{}})", "max": f"fmax{f}({{}}, {{}})"}
    return Grammar(functions, "{} ? {} : {}", literal)


def st_grammar(literal: Literal) -> Grammar:
    """IEC 61131-3 has no tanh; ATAN2 is of its third edition."""
    functions = {name: f"{name.upper()}({{}})" for name in _PLAIN} | {"log": "LN({})", "abs": "ABS({})"}
    functions |= {name: f"{name.upper()}({{}}, {{}})" for name in ("atan2", "min", "max")}
    unity, two = literal(1.0), literal(2.0)
    functions["tanh"] = f"({unity} - {two} / (EXP({two} * ({{}})) + {unity}))"
    return Grammar(functions, "SEL({}, {2}, {1})".replace("{}", "{0}"), literal)


def python_grammar(literal: Literal) -> Grammar:
    return PYTHON._replace(literal=literal)


def formulas_of(policy: Policy, grammar: Grammar, words: Sequence[str], every: bool = False) -> list[tuple[int, str]]:
    """Place and expression of the features that tests and laws look at, or of all.

    `words`: of all variables in the language.
    """
    features = policy.problem.features
    if features is None:
        return []
    wanted = needed(policy)
    written = enumerate(features.written(grammar, words), features.raw)
    return [(place, text) for place, text in written if every or place in wanted]


def needed(policy: Policy) -> set[int]:
    """The variables that tests and laws look at, with those of which features among them are made."""
    tree, features = policy.rules, policy.problem.features
    feature = tree.nodes["feature"]
    looked = tree.weights[feature == tree.variables].any(axis=0)
    if tree.laws is not None:
        looked = looked | tree.laws.gains.any(axis=(0, 1))
    plain = feature[(feature >= 0) & (feature < tree.variables)]
    used = {*plain.tolist(), *np.flatnonzero(looked).tolist()}
    return used if features is None else features.needed(used)


def seen_by_table(policy: Policy, real: str, literal: Literal, body: list[str]) -> list[str]:
    """A table in C reads its variables by their number: features stand behind what is observed."""
    if policy.problem.features is None:
        return body
    d, raw = len(policy.problem.state), len(policy.problem.measured)
    words = [f"seen[{j}]" for j in range(d)]
    filled = [f"    {words[j]} = obs[{j}];" for j in range(raw)]
    for j, text in formulas_of(policy, c_grammar(literal, real), words, every=True):
        filled.append(f"    {words[j]} = {text};")
    body = [re.sub(r"\bobs\[", "seen[", line) for line in body]
    first = next(k for k, line in enumerate(body) if "while (" in line)
    return [f"    {real} seen[{d}];", *body[:first], *filled, "", *body[first:]]
