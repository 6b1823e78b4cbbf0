"""A policy as a Python function without imports."""

from spaql.export.heading import PYTHON_WORDS, affine, checked_name, double, facts, identifiers, weighted_sum
from spaql.export.loop_lines import UNUSABLE, Syntax, step_of
from spaql.ground.checks import FAR
from spaql.plants.problem import Finite
from spaql.plants.signals import Signals
from spaql.policy.policy import Policy
from spaql.policy.words import one_line
from spaql.trees.laws import CLIP, ORDERED, SCORES, THRESHOLD, LeafLaws
from spaql.trees.regions import branches, constant_of, deepest_level, neutral_of, steps_of
from spaql.trees.tree import LEAF, Tree

# -- the loop around a law in Python: a dict that holds the memory, with init and step ---------------------------------

def loop_lines(signals: Signals, name: str) -> list[str]:
    """Functions that follow the law `name`."""
    syntax = Syntax(
        let=lambda left, right: f"{left} = {right}",
        put=lambda left, right: f"{left} = {right}",
        limited=lambda text, low, high: f"min(max({text}, {low}), {high})",
        chosen=lambda condition, yes, no: f"{yes} if {condition} else {no}",
        usable=lambda words: " and ".join(f"-{FAR!r} <= {word} <= {FAR!r}" for word in words) or "True",
        unless=lambda condition, usable: f"{condition} or not ({usable})",
        literal=double,
        register='memory["{}"]',
        read="inputs[{}]",
    )
    own = {"memory", "inputs", "action", "started", "usable", "min", "max", "tuple", "type", name}
    step = step_of(signals, syntax, PYTHON_WORDS | own)
    several = "action = decided" if len(step.outputs) > 1 else "action = (decided,)"
    order = ", ".join(one_line(axis.name) for axis in signals.inputs)
    out = ", ".join(step.outputs)
    begin = ", ".join(f'"{key}": {value}' for key, value in [("started", "False"), *step.registers.items()])
    return [
        "", "", f"def {name}_init():", '    """The memory before the first step."""', f"    return {{{begin}}}", "", "",
        f"def {name}_step(memory, inputs):",
        f"    # given, in this order: {order}",
        *(f"    # {line.format(FAR)}" for line in UNUSABLE),
        '    """One step: changes the memory, returns what is applied."""',
        "    inputs = [float(value) for value in inputs]",
        *(f"    {line}" for line in step.inputs),
        f"    usable = {step.usable}",
        *(f"    {line}" for line in step.errors),
        '    if usable and not memory["started"]:',
        *(f"        {line}" for line in step.first),
        '        memory["started"] = True',
        *(f"    {line}" for line in step.seen),
        f"    decided = {name}([{', '.join(step.observation)}])",
        f"    {several}",
        *(f"    {line}" for line in step.applied),
        *(["    if usable:", *(f"        {line}" for line in step.after)] if step.after else []),
        *(f"    {line}" for line in step.kept),
        f"    return {out}",
    ]  # fmt: skip


# -- a policy as a Python function without imports ---------------------------------------------------------------------

DEEPEST = 60  # Python takes at most 100 levels of indentation


def to_python(policy: Policy, name: str = "controller") -> str:
    """Source of `controller(obs)`, which returns a number, or a tuple where the action has several axes.

    Nested ifs, or a table where they would be too deep for Python.
    """
    checked_name(name, PYTHON_WORDS)
    tree = policy.rules
    comment = [f"# {line}".rstrip() for line in facts(policy)]
    body = _ifs(policy, name) if deepest_level(tree) <= DEEPEST else _table(policy)
    signals = policy.problem.signals
    around = [] if signals is None else loop_lines(signals, name)
    return "\n".join([*comment, "", "", f"def {name}(obs):", *body, *around]) + "\n"


def _ifs(policy: Policy, name: str) -> list[str]:
    tree, d = policy.rules, policy.rules.variables
    scores = {"score", "scores", *(f"score{axis}" for axis in range(policy.problem.actions.axes))}
    own = {"min", "max", "int", *scores} if tree.laws is not None else set()
    words = identifiers(policy.words.names, PYTHON_WORDS | {"obs", name} | own)
    feature, cut = tree.nodes["feature"].tolist(), tree.nodes["cut"].tolist()
    # float(): numbers of NumPy in single precision would round the cut before they compare
    lines = [f"    {', '.join(words)}{',' if d == 1 else ''} = map(float, obs)"] if len(feature) > 1 or own else []
    for what, level, node in branches(tree):
        indent = "    " * (level + 1)
        if what == "leaf" and tree.laws is not None:
            lines += [indent + line for line in _law(policy, tree.laws, node, words)]
        elif what == "leaf":
            lines.append(f"{indent}return {_action(policy, node)}")
        elif what == "else":
            lines.append(f"{indent}else:")
        elif what != "end":
            tested = words[feature[node]] if feature[node] < d else weighted_sum(tree, node, words, double)
            lines.append(f"{indent}{what} {tested} >= {double(cut[node])}:")
    return lines


def _table(policy: Policy) -> list[str]:
    tree = policy.rules
    leaf = "(action,)" if tree.laws is None else "(law,): gains and offset of every score"
    lines = [
        f"    # by node: (variable or weights, cut, next node below the cut, next node from the cut on), or {leaf}",
        "    nodes = (",
    ]
    for node, (cut, feature, low, high) in enumerate(tree.nodes.tolist()):
        if feature == LEAF and tree.laws is not None:
            scores = zip(tree.laws.gains[node].tolist(), tree.laws.offsets[node].tolist(), strict=True)
            lines.append(f"        ({tuple((tuple(gains), offset) for gains, offset in scores)!r},),")
        elif feature == LEAF:
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
        "                if weight != 0.0:",
        "                    value += weight * observed",
        "        else:",
        "            value = obs[tested]",
        "        node = nodes[above if value >= cut else below]",
        *(["    return node[0]"] if tree.laws is None else _law_of_node(policy, tree.laws)),
    ]


def _tested(tree: Tree, node: int, feature: int) -> str:
    return str(feature) if feature < tree.variables else repr(tuple(tree.weights[node].tolist()))


def _action(policy: Policy, leaf: int) -> str:
    values = policy.rules.actions[leaf].tolist()
    return _value(policy, values[0]) if len(values) == 1 else f"({', '.join(map(double, values))})"


def _value(policy: Policy, value: float) -> str:
    """An int where the plant takes whole numbers, as in `predict`."""
    actions = policy.problem.actions
    if isinstance(actions, Finite) and not actions.box and actions.number is int and value.is_integer():
        return str(int(value))
    return double(value)


# -- laws --------------------------------------------------------------------------------------------------------------


def _law(policy: Policy, laws: LeafLaws, leaf: int, words: list[str]) -> list[str]:
    """The statements of a leaf."""

    def total(output: int, offset: bool = True) -> str:
        constant = float(laws.offsets[leaf, output]) if offset else 0.0
        return affine(laws.gains[leaf, output].tolist(), constant, words, double)

    if laws.kind == CLIP:
        lines, parts = [], []
        for axis in range(laws.outputs):
            fixed, score = constant_of(laws, leaf, axis), "score" if laws.outputs == 1 else f"score{axis}"
            lines += [f"{score} = {total(axis)}"] if fixed is None else []
            parts.append(_clipped(laws, axis, score) if fixed is None else double(fixed))
        return [*lines, f"return {parts[0]}" if len(parts) == 1 else f"return ({', '.join(parts)})"]
    fixed = constant_of(laws, leaf)
    if fixed is not None:
        return [f"return {_value(policy, fixed)}"]
    if laws.kind == THRESHOLD:
        (cut, last), first = steps_of(laws, leaf)[0], float(laws.values[0])
        return [f"return {_value(policy, last)} if {total(0, False)} >= {double(cut)} else {_value(policy, first)}"]
    if laws.kind == ORDERED:
        return [f"score = {total(0)}", f"return {_values(policy, laws)}[int(({_clipped(laws, 0, 'score')}) + 0.5)]"]
    scores = ", ".join(total(output) for output in range(laws.outputs))
    return [f"scores = ({scores})", f"return {_values(policy, laws)}[scores.index(max(scores))]"]


def _clipped(laws: LeafLaws, axis: int, score: str) -> str:
    """A score within its range; NaN is not equal to itself."""
    within = f"min(max({score}, {double(laws.low[axis])}), {double(laws.high[axis])})"
    return f"{within} if {score} == {score} else {double(neutral_of(laws, axis))}"


def _values(policy: Policy, laws: LeafLaws) -> str:
    return f"({', '.join(_value(policy, value) for value in laws.values.tolist())})"


def _law_of_node(policy: Policy, laws: LeafLaws) -> list[str]:
    """The action by the law of the leaf that a table came to."""
    first, last = (_value(policy, float(laws.values[end])) if len(laws.values) else "" for end in (0, -1))
    parts = [_clipped(laws, axis, f"scores[{axis}]") for axis in range(laws.outputs)] if laws.kind == CLIP else []
    applied = {
        CLIP: parts[0] if len(parts) == 1 else f"({', '.join(parts)})",
        THRESHOLD: f"{last} if scores[0] >= 0.0 else {first}",
        ORDERED: f"{_values(policy, laws)}[int(({_clipped(laws, 0, 'scores[0]')}) + 0.5)]",
        SCORES: f"{_values(policy, laws)}[scores.index(max(scores))]",
    }[laws.kind]
    return [
        "    scores = []",
        "    for gains, offset in node[0]:",
        "        score = 0.0",
        "        for gain, observed in zip(gains, obs):",
        "            if gain != 0.0:",
        "                score += gain * observed",
        "        scores.append(score + offset)",
        f"    return {applied}",
    ]
