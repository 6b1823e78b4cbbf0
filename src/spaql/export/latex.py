"""The rules of a policy as a LaTeX table."""

import unicodedata
from functools import partial
from typing import Any

from spaql.analysis.tables import Column, Row, Table, escaped, latex
from spaql.export.heading import labelled, title
from spaql.export.latex_laws import formulas
from spaql.export.shares import shares
from spaql.policy.policy import Policy

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
    rows: list[Row] = []
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
    table = Table(
        "policy", title(policy), tuple(Column(heading, partial(_cell, key)) for key, heading in columns), rows
    )
    text = _typeset(latex(table))
    if len(rows) > ONE_PAGE:
        text = text.replace(r"\begin{tabular}", r"\begin{longtable}").replace(r"\end{tabular}", r"\end{longtable}")
        text = text.replace("\\midrule\n", "\\midrule\n\\endhead\n", 1)
    return text


def _cell(key: str, row: Row) -> Any:
    return row[key]


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
