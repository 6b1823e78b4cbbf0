"""A policy as a Python function, without imports but of `math` where features need it. The loop around a law is a dict
that holds the memory, with init and step."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from spaql.export import programs
from spaql.export.heading import PYTHON_WORDS, double, identifiers
from spaql.export.monitor_parts import OUTSIDE, UNUSABLE_INPUT
from spaql.ground.checks import FAR
from spaql.plants.formulas import PYTHON
from spaql.plants.problem import Finite
from spaql.plants.signals import Signals
from spaql.policy.policy import Policy
from spaql.policy.words import one_line
from spaql.trees.laws import CLIP, ORDERED, THRESHOLD, LeafLaws
from spaql.trees.regions import constant_of, deepest_level, neutral_of, steps_of
from spaql.trees.tree import LEAF

DEEPEST = 60  # Python takes at most 100 levels of indentation
LANGUAGE = programs.Language(
    literal=double,
    put="{} = {}",
    let="{} = {}",
    heads={"if": "if {}:", "elif": "elif {}:", "else": "else:", "end": ""},
    limited="min(max({}, {}), {})",
    chosen="{1} if {0} else {2}",
    usable=f"-{FAR!r} <= {{}} <= {FAR!r}",
    both=" and ",
    true="True",
    unless="{} or not ({})",
    register='memory["{}"]',
    functions=PYTHON.functions,
)


def law_function(policy: Policy, name: str) -> list[str]:
    body = _ifs(policy, name) if deepest_level(policy.rules) <= DEEPEST else _table(policy)
    return [f"def {name}(obs):", *body]


def imports(lines: Sequence[str]) -> list[str]:
    return ["import math", ""] if any("math." in line for line in lines) else []


def _ifs(policy: Policy, name: str) -> list[str]:
    tree, laws = policy.rules, policy.rules.laws
    scores = {"score", "scores", *(f"score{axis}" for axis in range(policy.problem.actions.axes))}
    own = {"min", "max", "int", *scores} if laws is not None else set()
    own |= {"min", "max", "abs", "math"} if policy.problem.features is not None else set()
    words = identifiers(policy.words.names, PYTHON_WORDS | {"obs", name} | own)
    # float(): numbers of NumPy in single precision would round the cut before they compare
    given = words[: len(policy.problem.measured)]
    read = [f"    {', '.join(given)}{',' if len(given) == 1 else ''} = map(float, obs)"]
    read += [f"    {words[j]} = {text}" for j, text in programs.formulas_of(policy, LANGUAGE, words)]

    def leaf_lines(leaf: int) -> list[str]:
        return [f"return {_action(policy, leaf)}"] if laws is None else _law(policy, laws, leaf, words)

    body = programs.nested(tree, LANGUAGE.heads, 1, leaf_lines, programs.condition_of(tree, words, LANGUAGE))
    return [*(read if len(tree.nodes) > 1 or own else []), *body]


def _table(policy: Policy) -> list[str]:
    tree, seen = policy.rules, [f"obs[{j}]" for j in range(len(policy.problem.state))]
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
            tested = feature if feature < tree.variables else tuple(tree.weights[node].tolist())
            lines.append(f"        ({tested!r}, {double(cut)}, {low}, {high}),")
    return [
        *lines,
        "    )",
        "    obs = [float(value) for value in obs]",
        *(f"    obs.append({text})" for _, text in programs.formulas_of(policy, LANGUAGE, seen, every=True)),
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
    totals = [programs.score_text(laws, leaf, output, words, double) for output in range(laws.outputs)]
    fixed = constant_of(laws, leaf)
    if laws.kind == CLIP:
        lines, parts = [], []
        for axis, total in enumerate(totals):
            fixed, score = constant_of(laws, leaf, axis), "score" if laws.outputs == 1 else f"score{axis}"
            lines += [f"{score} = {total}"] if fixed is None else []
            parts.append(_clipped(laws, axis, score) if fixed is None else double(fixed))
        return [*lines, f"return {_several(parts)}"]
    if fixed is not None:
        return [f"return {_value(policy, fixed)}"]
    if laws.kind == THRESHOLD:
        (cut, last), first = steps_of(laws, leaf)[0], float(laws.values[0])
        test = f"{programs.score_text(laws, leaf, 0, words, double, False)} >= {double(cut)}"
        return [f"return {_value(policy, last)} if {test} else {_value(policy, first)}"]
    return [
        f"score = {totals[0]}" if laws.kind == ORDERED else f"scores = ({', '.join(totals)})",
        f"return {_chosen(policy, laws, 'score')}",
    ]


def _several(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _clipped(laws: LeafLaws, axis: int, score: str) -> str:
    """A score within its range; NaN is not equal to itself."""
    within = f"min(max({score}, {double(laws.low[axis])}), {double(laws.high[axis])})"
    return f"{within} if {score} == {score} else {double(neutral_of(laws, axis))}"


def _chosen(policy: Policy, laws: LeafLaws, score: str) -> str:
    """The value of an ordered action by its `score`, or the one with the highest of the scores."""
    values = f"({', '.join(_value(policy, value) for value in laws.values.tolist())})"
    index = f"int(({_clipped(laws, 0, score)}) + 0.5)" if laws.kind == ORDERED else "scores.index(max(scores))"
    return f"{values}[{index}]"


def _law_of_node(policy: Policy, laws: LeafLaws) -> list[str]:
    """The action by the law of the leaf that a table came to."""
    if laws.kind == CLIP:
        applied = _several([_clipped(laws, axis, f"scores[{axis}]") for axis in range(laws.outputs)])
    elif laws.kind == THRESHOLD:
        first, last = (_value(policy, float(laws.values[end])) for end in (0, -1))
        applied = f"{last} if scores[0] >= 0.0 else {first}"
    else:
        applied = _chosen(policy, laws, "scores[0]")
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


# -- the loop around a law ---------------------------------------------------------------------------------------------

def loop_lines(signals: Signals, name: str) -> list[str]:
    """Functions that follow the law `name`."""
    step = loop_step(signals, name)
    order = ", ".join(one_line(axis.name) for axis in signals.inputs)
    about = [
        f"# given, in this order: {order}",
        *(f"# {line.format(FAR)}" for line in programs.UNUSABLE),
        '"""One step: changes the memory, returns what is applied."""',
    ]
    init = ["", "", f"def {name}_init():", '    """The memory before the first step."""']
    init.append(f"    return {memory_text(step)}")
    head = ["", "", f"def {name}_step(memory, inputs):", *programs.indented(about)]
    return [*init, *head, *step_body(step, name)]


def loop_step(signals: Signals, name: str, given: Sequence[str] = ()) -> programs.Step:
    """`given`: how the inputs are read, where they are not the elements of `inputs`."""
    own = {"memory", "inputs", "action", "started", "usable", "min", "max", "tuple", "type", name}
    given = given or [f"inputs[{j}]" for j in range(len(signals.inputs))]
    decided = [f"action[{j}]" for j in range(len(signals.action_names))]
    return programs.step_of(signals, LANGUAGE, given, decided, PYTHON_WORDS | own)


def memory_text(step: programs.Step, carried: Mapping[str, str] = MappingProxyType({})) -> str:
    """A dictionary. `carried`: what some registers hold instead."""
    begin = {"started": "False"} | step.registers | dict(carried)
    return "{" + ", ".join(f'"{key}": {value}' for key, value in begin.items()) + "}"


def step_body(step: programs.Step, law: str, inside: str = "") -> list[str]:
    """What a step does. `inside`: a function of the observation; then why the law must not act, or 0, is returned too.
    """
    observation = f"[{', '.join(step.observation)}]"
    applied = ", ".join(step.outputs)
    body = [
        "inputs = [float(value) for value in inputs]",
        *step.inputs,
        f"usable = {step.usable}",
        *step.errors,
        *(["if not usable:", f"    return {UNUSABLE_INPUT}, None"] if inside else []),
        'if usable and not memory["started"]:',
        *programs.indented([*step.first, 'memory["started"] = True']),
        *step.seen,
        *([f"if not {inside}({observation}):", f"    return {OUTSIDE}, None"] if inside else []),
        f"decided = {law}({observation})",
        "action = decided" if len(step.outputs) > 1 else "action = (decided,)",
        *step.applied,
        *(["if usable:", *programs.indented(step.after)] if step.after else []),
        *step.kept,
        f"return {applied}" if not inside else f"return 0, {applied if len(step.outputs) == 1 else f'({applied})'}",
    ]
    return programs.indented(body)
