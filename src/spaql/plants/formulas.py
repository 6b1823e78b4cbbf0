"""Formulas of named variables: arithmetic as text, from a text or a Python function, called and written in languages.

    0.5 * velocity**2 + 15 * cos - 15

What stands in files, in exports and on pages is what is computed.
"""

import ast
import functools
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.compile import function_of
from spaql.plants.compile import names as letters
from spaql.plants.formula_tracing import FUNCTIONS, OF_MATH, traced

SEVERAL = {"atan2": 2, "min": 2, "max": 2}  # arguments; of all others one
SIGNS: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
TESTS: dict[type[ast.AST], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
MOST_POWER = 8
LONGEST = 2000  # letters


class Grammar(NamedTuple):
    """How a language writes what formulas need."""

    functions: Mapping[str, str]  # "{}" are the places of the arguments
    chosen: str  # condition, value if it holds, value if not
    literal: Callable[[float], str]


PYTHON = Grammar(
    {name: f"math.{name}({', '.join(['{}'] * SEVERAL.get(name, 1))})" for name in OF_MATH}
    | {"abs": "abs({})", "min": "min({}, {})", "max": "max({}, {})"},
    "{1} if {0} else {2}", repr,
)  # fmt: skip


@dataclass(frozen=True)
class Formula:
    """Checked text; its words are names of variables, but for those that are called."""

    text: str

    @functools.cached_property
    def tree(self) -> ast.expr:
        return ast.parse(self.text, mode="eval").body

    @functools.cached_property
    def words(self) -> tuple[str, ...]:
        """The variables, in the order in which they stand."""
        called = {id(node.func) for node in ast.walk(self.tree) if isinstance(node, ast.Call)}
        named = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and id(node) not in called]
        return tuple(dict.fromkeys(node.id for node in sorted(named, key=lambda node: node.col_offset)))

    def __getstate__(self) -> dict[str, Any]:
        return {"text": self.text}  # functions made of text cannot be pickled

    @functools.cached_property
    def function(self) -> Callable[..., float]:
        """Plain Python of the variables, which compiles like the functions of a plant."""
        places = dict(zip(self.words, letters("x", len(self.words)), strict=True))
        lines = [f"return {self.written(PYTHON, places)}"]
        function: Callable[..., float] = function_of({"math": math}, f"formula({', '.join(places.values())})", lines)
        return function

    def written(self, grammar: Grammar, names: Mapping[str, str]) -> str:
        """In a language; `names`: of the variables there."""
        return _written(self.tree, grammar, names)[0]

    def listed(self, places: Mapping[str, int]) -> Any:
        """As nested lists, for the page: ["+", a, b], ["sin", a], ["if", ["<", a, b], c, d], ["x", place], numbers."""
        return _listed(self.tree, places)


# -- writing: text and how strongly it binds: 1 a sum, 2 a product, 3 what needs no brackets ---------------------------


def _written(node: Any, grammar: Grammar, names: Mapping[str, str]) -> tuple[str, int]:
    def inner(part: Any, least: int) -> str:
        text, binds = _written(part, grammar, names)
        return text if binds >= least else f"({text})"

    if isinstance(node, ast.Name):
        return names[node.id], 3
    if isinstance(node, ast.Constant):
        return grammar.literal(float(node.value)), 3  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp):
        return f"-{inner(node.operand, 3)}", 0
    if isinstance(node, ast.Call):
        arguments = [inner(argument, 0) for argument in node.args]
        return grammar.functions[node.func.id].format(*arguments), 3  # type: ignore[attr-defined]
    if isinstance(node, ast.IfExp):
        parts = [inner(node.body, 1), inner(node.orelse, 1)]
        test: Any = node.test
        condition = f"{inner(test.left, 1)} {TESTS[type(test.ops[0])]} {inner(test.comparators[0], 1)}"
        return f"({grammar.chosen.format(condition, *parts)})", 3
    if isinstance(node.op, ast.Pow):  # a product, so that all languages and compilers agree
        return " * ".join([inner(node.left, 3)] * node.right.value), 2
    binds = 1 if isinstance(node.op, ast.Add | ast.Sub) else 2
    return f"{inner(node.left, binds)} {SIGNS[type(node.op)]} {inner(node.right, binds + 1)}", binds


def _listed(node: Any, places: Mapping[str, int]) -> Any:
    if isinstance(node, ast.Name):
        return ["x", places[node.id]]
    if isinstance(node, ast.Constant):
        return float(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp):
        return ["-", 0.0, _listed(node.operand, places)]
    if isinstance(node, ast.Call):
        return [node.func.id, *(_listed(argument, places) for argument in node.args)]  # type: ignore[attr-defined]
    if isinstance(node, ast.IfExp):
        test: Any = node.test
        sides = [_listed(test.left, places), _listed(test.comparators[0], places)]
        return ["if", [TESTS[type(test.ops[0])], *sides], _listed(node.body, places), _listed(node.orelse, places)]
    if isinstance(node.op, ast.Pow):
        part = _listed(node.left, places)
        return functools.reduce(lambda product, factor: ["*", product, factor], [part] * node.right.value)
    return [SIGNS[type(node.op)], _listed(node.left, places), _listed(node.right, places)]


# -- reading -----------------------------------------------------------------------------------------------------------


def formula_of(what: str, given: Any, variables: Sequence[str]) -> Formula:
    """From text or a function. `what` it is, for messages; `variables`: the words it may name."""
    if isinstance(given, str):
        text = given
    elif isinstance(given, types.FunctionType):
        text = traced(what, given, variables)
    else:
        such = "a text such as '0.5 * velocity**2', or a function of numbers"
        raise SpaqlError(f"{what}: give {such}, not {echoed(given)}")
    if len(text) > LONGEST:
        raise SpaqlError(f"{what} is longer than {LONGEST} letters: take it apart, or compute it in the plant")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        said = error.msg if isinstance(error, SyntaxError) else error
        raise SpaqlError(f"{what}: {echoed(text)} is no formula ({said}); such as '0.5 * velocity**2'") from None
    formula = Formula(ast.unparse(_checked(what, tree, variables)).replace(" ** ", "**"))
    if not formula.words:
        raise SpaqlError(f"{what} depends on no variable: choose among {', '.join(variables)}")
    return formula


def _checked(what: str, node: ast.expr, variables: Sequence[str]) -> ast.expr:
    """The tree, which holds nothing but arithmetic; pi is a number unless it is a variable."""

    def inner(part: ast.expr) -> ast.expr:
        return _checked(what, part, variables)

    if isinstance(node, ast.Name) and node.id == "pi" and "pi" not in variables:
        return ast.Constant(math.pi)
    if isinstance(node, ast.Name):
        if node.id not in variables:
            raise SpaqlError(f"{what}: {node.id} is not observed: choose among {', '.join(variables)}")
        return node
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and abs(node.value) <= 1e300:
        return node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return ast.UnaryOp(node.op, inner(node.operand))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        power = node.right
        if not isinstance(power, ast.Constant) or power.value not in range(2, MOST_POWER + 1):
            raise SpaqlError(f"{what}: powers are whole numbers from 2 to {MOST_POWER}, or sqrt(...) and exp(...)")
        return ast.BinOp(inner(node.left), node.op, ast.Constant(int(power.value)))  # type: ignore[arg-type]
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        return ast.BinOp(inner(node.left), node.op, inner(node.right))
    if isinstance(node, ast.IfExp) and isinstance(node.test, ast.Compare):
        test = node.test
        if len(test.ops) == 1 and type(test.ops[0]) in TESTS:
            compared = ast.Compare(inner(test.left), test.ops, [inner(test.comparators[0])])
            return ast.IfExp(compared, inner(node.body), inner(node.orelse))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        name, count = node.func.id, len(node.args)
        if name in FUNCTIONS and count == SEVERAL.get(name, 1):
            return ast.Call(node.func, [inner(argument) for argument in node.args], [])
    known = f"+ - * / **, {', '.join(FUNCTIONS)}, and a if x > b else c"
    raise SpaqlError(f"{what}: {echoed(ast.unparse(node))} cannot stand in a formula, which has {known}")
