"""Laws as displayed formulas: one per axis of the action, with a line for each part of the state."""

import re
from collections.abc import Callable, Sequence

from spaql.export.heading import labelled, title
from spaql.policy.law_words import MOST_STEPS, LawWords, Term
from spaql.policy.policy import Policy
from spaql.policy.words import one_line
from spaql.trees.law_parts import constant_of
from spaql.trees.laws import CLIP, SCORES

TERMS = 4  # of a sum in one line

Typeset = Callable[[str], str]


def formulas(policy: Policy, often: dict[int, str], typeset: Typeset) -> str:
    """The laws as an align* of amsmath. `typeset`: a text with the signs of LaTeX in place of all others."""
    writer = _Writer(policy, often, typeset)
    lines = [f"% {one_line(title(policy))}".encode("ascii", "replace").decode(), r"\begin{align*}"]
    axes = range(len(policy.words.action_names))
    for axis in axes:
        lines += writer.formula(axis)
        lines[-1] += r" \\" if axis < len(axes) - 1 else ""
    lines.append(r"\end{align*}")
    if often:
        lines.append("% in brackets: share of the time in which the law is in charge")
    return "\n".join(lines) + "\n"


class _Writer:
    def __init__(self, policy: Policy, often: dict[int, str], typeset: Typeset) -> None:
        assert policy.words.law_words is not None
        self.policy, self.words, self.often, self.typeset = policy, policy.words, often, typeset
        self.said: LawWords = policy.words.law_words
        self.laws = self.said.laws

    def text(self, text: str) -> str:
        return rf"\text{{{self.typeset(text)}}}"

    def number(self, text: str) -> str:
        """Digits in a formula; "1e-09" is a power of ten."""
        text = re.sub(r"e([+-]?)0*(\d+)$", lambda e: rf" \cdot 10^{{{e[1].replace('+', '')}{e[2]}}}", text)
        return text.replace("∞", r"\infty")

    def with_unit(self, text: str, unit: str) -> str:
        return rf"{self.number(text)}\,{self.text(unit)}" if unit else self.number(text)

    def formula(self, axis: int) -> list[str]:
        """One axis of the action."""
        words, leaves = self.words, [leaf for leaf, region in self.words.regions.items() if not region.empty][::-1]
        head = f"  {self.text(labelled(words.action_names[axis], words.action_units[axis]))} &= "
        if len(leaves) == 1:
            return [head + self.law(leaves[0], axis)]
        lines = [head + r"\begin{cases}"]
        for leaf in leaves:
            told = r"\text{otherwise}" if leaf == leaves[-1] else rf"\text{{if }} {self.condition(leaf)}"
            share = r"\quad " + self.text(f"({self.often[leaf]})") if self.often.get(leaf) else ""
            lines.append(rf"    {self.law(leaf, axis)} & {told}{share} \\")
        return [*lines, r"  \end{cases}"]

    def condition(self, leaf: int) -> str:
        """All that must hold in a leaf."""
        words, region = self.words, self.words.regions[leaf]
        parts = []
        for j, name in enumerate(words.names):
            low, high = (float(end[j]) for end in (region.low, region.high))
            ends = [self.number(words.bound(j, end)) if abs(end) < float("inf") else "" for end in (low, high)]
            unit = rf"\,{self.text(words.units[j])}" if words.units[j] else ""
            if all(ends):
                parts.append(rf"{ends[0]} \leq {self.text(name)} < {ends[1]}{unit}")
            elif any(ends):
                bound = rf"\geq {ends[0]}" if ends[0] else f"< {ends[1]}"
                parts.append(f"{self.text(name)} {bound}{unit}")
        for node, high_side in region.oblique:
            tested, cut = words.test_terms(node), self.number(words.cut(node))
            sign = r"\geq" if high_side else "<"
            parts.append(f"{self.total(tested)} {sign} {cut}")
        return r" \text{ and } ".join(parts)

    def law(self, leaf: int, axis: int) -> str:
        laws, said = self.laws, self.said
        fixed = constant_of(laws, leaf, axis)
        if fixed is not None:
            return self.number(said.value(fixed))
        if laws.kind == CLIP:
            ends = [self.number(said.value(float(end[axis]))) for end in (laws.low, laws.high)]
            total = self.total(said.terms(leaf, axis), rf",\ {ends[0]},\ {ends[1]}")
            return rf"\operatorname{{clip}}\bigl({total}\bigr)"
        values = [self.number(said.value(float(value))) for value in laws.values]
        if laws.kind == SCORES:
            body = r" \\ ".join(f"{value} &: {self.total(said.terms(leaf, k))}" for k, value in enumerate(values))
            return rf"\text{{highest of }} \left\{{\begin{{aligned}}{body}\end{{aligned}}\right."
        if len(values) > MOST_STEPS:
            index = self.total(said.terms(leaf, 0), rf",\ 0,\ {len(values) - 1}")
            number = rf"\bigl\lfloor \operatorname{{clip}}({index}) + 0.5 \bigr\rfloor"
            return rf"\text{{number }} {number} \text{{ of }} {self.text(said.listed())} \text{{, counted from 0}}"
        total = self.total(said.terms(leaf, 0, constant=False))
        steps = [
            rf"{self.number(said.value(action))} & \text{{if }} {total} \geq {self.number(cut)}"
            for cut, action in said.steps(leaf)
        ]
        body = r" \\ ".join([*steps, rf"{values[0]} & \text{{else}}"])
        return rf"\begin{{cases}} {body} \end{{cases}}"

    def total(self, terms: Sequence[Term], end: str = "") -> str:
        """A sum and what follows it, broken into lines where it is long."""
        parts: list[str] = []
        for negative, digits, name in terms:
            sign = ("- " if negative else "+ ") if parts else "{-}" if negative else ""  # the first one is no minus
            factor = self.number(digits) + r"\," if digits and name else self.number(digits)
            parts.append(f"{sign}{factor}{self.text(name) if name else ''}")
        if len(parts) <= TERMS + 1:
            return (" ".join(parts) or "0") + end
        rows = [" ".join(parts[i : i + TERMS]) for i in range(0, len(parts), TERMS)]
        body = r" \\ & {}".join(rows)
        return rf"\begin{{aligned}}[t] & {body}{end} \end{{aligned}}"
