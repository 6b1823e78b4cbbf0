"""The rules of a policy as a LaTeX table."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from spaql.export.heading import labelled, shares, title
from spaql.policy.law_words import MOST_STEPS, LawWords, Term
from spaql.policy.policy import Policy
from spaql.policy.words import one_line
from spaql.trees.laws import CLIP, SCORES
from spaql.trees.regions import constant_of

# -- laws as displayed formulas: one per axis of the action, with a line for each part of the state --------------------

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

    def formula(self, axis: int) -> list[str]:
        """One axis of the action."""
        words, leaves = self.words, [leaf for leaf, region in self.words.regions.items() if not region.empty][::-1]
        head = f"  {self.text(labelled(words.action_names[axis], words.action_units[axis]))} &= "
        if len(leaves) == 1:
            return [head + self.law(leaves[0], axis)]
        lines = [head + r"\begin{cases}"]
        for leaf in leaves:
            condition = r"\text{otherwise}" if leaf == leaves[-1] else rf"\text{{if }} {self.condition(leaf)}"
            share = r"\quad " + self.text(f"({self.often[leaf]})") if self.often.get(leaf) else ""
            lines.append(rf"    {self.law(leaf, axis)} & {condition}{share} \\")
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


# -- the rules of a policy as a LaTeX table ----------------------------------------------------------------------------

MOST_FORMULAS = 12  # laws that are formulas; more are rows of a table
ONE_PAGE = 45  # rows; more go into a longtable, which breaks over pages
SIGNS = {
    "≤": r"$\leq$",
    "∞": r"$\infty$",
    "°": r"\textdegree{}",
    "·": r"$\cdot$",
    "²": r"$^2$",
    "³": r"$^3$",
    "…": r"\dots{}",
    "µ": r"$\mu$",
}
# Greek letters that LaTeX has no command for, because they look like Latin ones, and one with another name
LOOK_ALIKE = {
    "omicron": "o",
    "Alpha": "A",
    "Beta": "B",
    "Epsilon": "E",
    "Zeta": "Z",
    "Eta": "H",
    "Iota": "I",
    "Kappa": "K",
    "Mu": "M",
}
LOOK_ALIKE |= {"Nu": "N", "Omicron": "O", "Rho": "P", "Tau": "T", "Chi": "X"}


def to_latex(policy: Policy, share: bool = True) -> str:
    """One row per region: the range of every variable that is tested, the action, and the share of time.

    Needs \\usepackage{booktabs}, and longtable for more than 45 regions. Up to 12 laws are formulas, which need amsmath
    alone.
    """
    words, often = policy.words, shares(policy, share)
    if policy.has_laws and policy.n_leaves <= MOST_FORMULAS:
        return formulas(policy, often, lambda text: _typeset(escaped(text)))
    rows: list[dict[str, str]] = []
    for leaf, region in words.regions.items():
        if region.empty:
            continue
        row = {f"variable {j}": words.interval(j, region) for j in range(len(words.names))}
        row["tests"] = " and ".join(words.test(node, high) for node, high in region.oblique)
        row |= {
            f"action {axis}": words.law(leaf, axis) if policy.has_laws else words.applied_value(axis, value)
            for axis, value in enumerate(policy.rules.actions[leaf].tolist())
        }
        rows.append(row | {"share": often.get(leaf, "")})
    columns = [
        (f"variable {j}", labelled(name, unit))
        for j, (name, unit) in enumerate(zip(words.names, words.units, strict=True))
        if any(row[f"variable {j}"] for row in rows)
    ]
    columns += [("tests", "and")] if policy.rules.oblique else []
    actions = zip(words.action_names, words.action_units, strict=True)
    columns += [(f"action {axis}", labelled(name, unit)) for axis, (name, unit) in enumerate(actions)]
    columns += [("share", "share of time")] if often else []
    headings = [(heading, False) for _, heading in columns]
    text = _typeset(tabular(title(policy), headings, ([row[key] for key, _ in columns] for row in rows)))
    if len(rows) > ONE_PAGE:
        text = text.replace(r"\begin{tabular}", r"\begin{longtable}").replace(r"\end{tabular}", r"\end{longtable}")
        text = text.replace("\\midrule\n", "\\midrule\n\\endhead\n", 1)
    return text


def tabular(
    name: str, headings: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]], notes: Sequence[str] = ()
) -> str:
    """A `tabular` in booktabs style, to be \\input into a paper. A heading, and whether words stand below it."""
    shape = "".join("l" if words else "r" for _, words in headings)
    heads = " & ".join(escaped(heading) for heading, _ in headings) + r" \\"
    lines = [" & ".join(map(_in_cell, cells)) + r" \\" for cells in rows]
    begin = [f"% {name}", rf"\begin{{tabular}}{{@{{}}{shape}@{{}}}}"]
    ruled = [r"\toprule", heads, r"\midrule", *lines, r"\bottomrule"]
    return "\n".join([*begin, *ruled, r"\end{tabular}", *(f"% {note}" for note in notes)]) + "\n"


_SPECIAL = {"±": r"$\pm$", "≥": r"$\geq$", "−": "$-$", "–": "--", "×": r"$\times$", "ξ": r"$\xi$"}
_SPECIAL |= {"<": "$<$", ">": "$>$", "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\^{}"}
_SPECIAL |= {sign: "\\" + sign for sign in "&%$#_{}"}


def _in_cell(cell: str) -> str:
    """Lines of a program one below the other, indented as they are."""
    lines = [r"\ " * (len(line) - len(line.lstrip())) + escaped(line.lstrip()) for line in cell.split("\n")]
    return lines[0] if len(lines) == 1 else r"\shortstack[l]{" + r" \\ ".join(lines) + "}"


def escaped(text: str) -> str:
    """Escapes the signs that LaTeX reads as commands; minus signs of numbers become real minus signs."""
    text = re.sub(r"(?<![\w-])-(?=\d)", "−", text)
    return "".join(_SPECIAL.get(sign, sign) for sign in text)


def _typeset(text: str) -> str:
    """Letters and signs that only some LaTeX engines know, as commands."""
    return "".join(sign if sign.isascii() else SIGNS.get(sign) or _greek(sign) for sign in text)


def _greek(sign: str) -> str:
    name = unicodedata.name(sign, "").split()
    if len(name) == 4 and name[0] == "GREEK" and name[2] == "LETTER":
        word = name[3].lower().replace("lamda", "lambda")
        word = word if name[1] == "SMALL" else word.capitalize()
        return f"${LOOK_ALIKE[word]}$" if word in LOOK_ALIKE else f"$\\{word}$"
    return sign
