"""A policy as a Python function without imports."""

from spaql.export.heading import facts
from spaql.export.names import PYTHON_WORDS, checked_name, identifiers
from spaql.export.numbers import double, weighted_sum
from spaql.plants.problem import Finite
from spaql.policy.policy import Policy
from spaql.trees.regions import branches, deepest_level
from spaql.trees.tree import LEAF, Tree

DEEPEST = 60  # Python takes at most 100 levels of indentation


def to_python(policy: Policy, name: str = "controller") -> str:
    """Source of `controller(obs)`, which returns a number, or a tuple where the action has several axes.

    Nested ifs, or a table where they would be too deep for Python.
    """
    checked_name(name, PYTHON_WORDS)
    tree = policy.rules
    comment = [f"# {line}".rstrip() for line in facts(policy)]
    body = _ifs(policy, name) if deepest_level(tree) <= DEEPEST else _table(policy)
    return "\n".join([*comment, "", "", f"def {name}(obs):", *body]) + "\n"


def _ifs(policy: Policy, name: str) -> list[str]:
    tree, d = policy.rules, policy.rules.variables
    words = identifiers(policy.words.names, PYTHON_WORDS | {"obs", name})
    feature, cut = tree.nodes["feature"].tolist(), tree.nodes["cut"].tolist()
    # float(): numbers of NumPy in single precision would round the cut before they compare
    lines = [f"    {', '.join(words)}{',' if d == 1 else ''} = map(float, obs)"] if len(feature) > 1 else []
    for what, level, node in branches(tree):
        indent = "    " * (level + 1)
        if what == "leaf":
            lines.append(f"{indent}return {_action(policy, node)}")
        elif what == "else":
            lines.append(f"{indent}else:")
        elif what != "end":
            tested = words[feature[node]] if feature[node] < d else weighted_sum(tree, node, words, double)
            lines.append(f"{indent}{what} {tested} >= {double(cut[node])}:")
    return lines


def _table(policy: Policy) -> list[str]:
    tree = policy.rules
    lines = [
        "    # by node: (variable or weights, cut, next node below the cut, next node from the cut on), or (action,)",
        "    nodes = (",
    ]
    for node, (cut, feature, low, high) in enumerate(tree.nodes.tolist()):
        if feature == LEAF:
            lines.append(f"        ({_action(policy, node)},),")
        else:
            lines.append(f"        ({_tested(tree, node, feature)}, {double(cut)}, {low}, {high}),")
    return [
        *lines,
        "    )",
        "    obs = [float(value) for value in obs]",
        "    node = nodes[0]",
        "    while len(node) > 1:",
        "        tested, cut, below, above = node",
        "        if type(tested) is tuple:",
        "            value = 0.0",
        "            for weight, observed in zip(tested, obs):",
        "                value += weight * observed",
        "        else:",
        "            value = obs[tested]",
        "        node = nodes[above if value >= cut else below]",
        "    return node[0]",
    ]


def _tested(tree: Tree, node: int, feature: int) -> str:
    return str(feature) if feature < tree.variables else repr(tuple(tree.weights[node].tolist()))


def _action(policy: Policy, leaf: int) -> str:
    """An int where the plant takes whole numbers, as in `predict`."""
    actions, values = policy.problem.actions, policy.rules.actions[leaf].tolist()
    if isinstance(actions, Finite) and not actions.box and actions.number is int and values[0].is_integer():
        return str(int(values[0]))
    return double(values[0]) if len(values) == 1 else f"({', '.join(map(double, values))})"
