"""What the explanation page needs where leaves are laws: coefficients, words, and the colours a law can apply."""

import re
from typing import Any

import numpy as np

from spaql.export.drawing import ENDS, NAMED, colour_of, has_named
from spaql.export.json_form import KINDS
from spaql.ground.arrays import Array
from spaql.policy.digits import counted
from spaql.policy.policy import Policy
from spaql.policy.words import Words
from spaql.report.shell import minus
from spaql.trees.laws import CLIP, ORDERED, THRESHOLD, LeafLaws
from spaql.trees.regions import constant_of
from spaql.trees.tree import LEAF, Tree


def laws_of(tree: Tree) -> dict[str, Any] | None:
    """The laws to the last bit, by leaf. None: leaves are constant actions."""
    laws = tree.laws
    if laws is None:
        return None
    leaves, held = tree.leaves().tolist(), laws.kind in (CLIP, ORDERED)  # other scores are held nowhere
    return {
        "kind": KINDS[laws.kind],
        "gains": {str(leaf): laws.gains[leaf].tolist() for leaf in leaves},
        "offsets": {str(leaf): laws.offsets[leaf].tolist() for leaf in leaves},
        "low": laws.low.tolist() if held else None,
        "high": laws.high.tolist() if held else None,
        "values": laws.values.tolist(),
    }


def said_of_laws(words: Words) -> dict[str, Any]:
    """By leaf its laws, one line for each axis of the action, and broken for boxes; values of actions."""
    if words.law_words is None:
        return {}
    leaves = words.tree.leaves().tolist()
    return {
        "law": {str(leaf): [signed(line) for line in words.laws(leaf)] for leaf in leaves},
        "lines": {str(leaf): law_lines(words, leaf) for leaf in leaves},
        "rules": [f"Rule {i}: {signed(' and '.join(words.rule(leaf)))}" for i, leaf in enumerate(leaves, 1)],
        "values": [[value, minus(text)] for value, text in words.law_words.values.items()],
    }


def law_lines(words: Words, leaf: int) -> list[str]:
    """What a leaf does, broken where one would pause."""
    return [signed(line) for line in words.leaf_lines(leaf)]


def signed(text: str) -> str:
    """Real minus signs in a sum, also between its parts and before a variable alone."""
    return re.sub(r"(?<![^\s(])-(?=[\s\w])", "−", minus(text))


def spoken(words: Words, text: str) -> str:
    """A test beside laws has their signs."""
    return text if words.law_words is None else signed(text)


def law_verdict(shown: Policy, made_from: Policy | None) -> str:
    """What the controller is. `made_from`: the larger one that it may differ from."""
    text = f"The controller is {'one law' if shown.n_leaves == 1 else f'{shown.n_leaves:,} laws'}"
    text += f" with {counted(shown.numbers, 'number')} to read{', tests included' if shown.n_leaves > 1 else ''}."
    if made_from is not None:
        size = counted(made_from.n_leaves, "law" if made_from.has_laws else "region")
        text += f" It was found by compressing a controller of {size}, and may differ from it."
    return text + " A law computes the action from the state. Nothing in it is random."


# -- colours -----------------------------------------------------------------------------------------------------------


def swatches(policy: Policy) -> dict[int, str]:
    """By leaf, as a background: the colours its law can apply along the first axis; of a constant, its own."""
    laws, actions = policy.rules.laws, policy.problem.actions
    assert laws is not None
    several = "linear-gradient(to right, " + ", ".join(f"rgb({r} {g} {b})" for r, g, b in ENDS) + ")"
    if has_named(actions):
        values = laws.values[[0, -1]] if laws.kind == THRESHOLD else laws.values
        several = _stripes([colour_of(actions, value) for value in values.tolist()])
    fixed = {leaf: constant_of(laws, leaf) for leaf in policy.rules.leaves().tolist()}
    return {leaf: several if value is None else colour_of(actions, value) for leaf, value in fixed.items()}


def _stripes(colours: list[str]) -> str:
    n = len(colours)
    stops = [f"{colour} {100 * i / n:.4g}% {100 * (i + 1) / n:.4g}%" for i, colour in enumerate(colours)]
    return f"linear-gradient(to right, {', '.join(stops)})"


def rule_colours(tree: Tree) -> list[str]:
    """By leaf, from left to right, to tell laws from their neighbours; nothing to tell where there are none."""
    return [] if tree.laws is None else [NAMED[i % len(NAMED)] for i in range(tree.n_leaves)]


# -- variables ---------------------------------------------------------------------------------------------------------


def law_weights(tree: Tree, sizes: Array) -> Array:
    """How much each variable moves the scores within its range, from 0 to 1. `sizes`: of the ranges."""
    if tree.laws is None:
        return np.zeros(tree.variables)
    moved: Array = (np.abs(tree.laws.gains[tree.nodes["feature"] == LEAF]) * sizes).mean(axis=(0, 1))
    return moved / (moved.max() or 1.0)


def difference(laws: LeafLaws | None, one: Array, other: Array) -> float:
    """How much actions differ: of continuous ones the mean of the distance, of others how often they do."""
    if laws is None or laws.kind != CLIP:
        return float(np.any(one != other, axis=1).mean())
    return float((np.abs(one - other) / np.maximum(laws.high - laws.low, 1e-300)).mean())
