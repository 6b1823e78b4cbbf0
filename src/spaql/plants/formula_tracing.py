"""The text of a formula from a Python function, which is run once with symbols in the place of numbers.

No source text of the function is needed. An `if` on a symbol is answered both ways, and becomes `a if x > b else c`.
"""

import ast
import builtins
import functools
import math
import types
from collections.abc import Callable, Sequence
from typing import Any

from spaql.ground.errors import SpaqlError
from spaql.plants.compile import check_parameters, rewired

OF_MATH = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "sqrt", "tanh")
FUNCTIONS = (*OF_MATH, "abs", "min", "max")
MOST_RUNS = 64  # of a function with branches


class _Asked(BaseException):
    """An `if` on a symbol that nobody has answered yet; no Exception, which the function might catch."""


class _Run:
    """One run of the function, with answers to its first questions."""

    def __init__(self, answers: Sequence[bool]) -> None:
        self.answers, self.asked = list(answers), 0


class _Term:
    """A part of the formula."""

    def __init__(self, run: _Run, node: ast.expr) -> None:
        self.run, self.node = run, node

    def of(self, value: Any) -> ast.expr:
        if isinstance(value, _Term):
            return value.node
        number = float(value)  # NumPy's numbers too; anything else raises
        return ast.Constant(int(number) if number.is_integer() and abs(number) < 1e15 else number)

    def made(self, sign: Any, left: Any, right: Any) -> "_Term":
        return _Term(self.run, ast.BinOp(self.of(left), sign, self.of(right)))

    def __pow__(self, other: Any) -> "_Term":
        if other == 0.5:
            return self.called("sqrt", self)
        return self if other == 1 else self.made(ast.Pow(), self, other)

    def __neg__(self) -> "_Term":
        return _Term(self.run, ast.UnaryOp(ast.USub(), self.node))

    def __pos__(self) -> "_Term":
        return self

    def __abs__(self) -> "_Term":
        return self.called("abs", self)

    def called(self, name: str, *arguments: Any) -> "_Term":
        return _Term(self.run, ast.Call(ast.Name(name), [self.of(argument) for argument in arguments], []))

    def compared(self, sign: Any, other: Any) -> "_Question":
        return _Question(self.run, ast.Compare(self.node, [sign], [self.of(other)]))

    def __bool__(self) -> bool:
        raise TypeError("compare a variable with a number: if x > 0")


def _operators() -> None:
    """What Python calls for `+`, `<` and the like, from either side."""
    for name, sign in {"add": ast.Add(), "sub": ast.Sub(), "mul": ast.Mult(), "truediv": ast.Div()}.items():
        setattr(_Term, f"__{name}__", lambda self, other, sign=sign: self.made(sign, self, other))
        setattr(_Term, f"__r{name}__", lambda self, other, sign=sign: self.made(sign, other, self))
    for name, test in {"lt": ast.Lt(), "le": ast.LtE(), "gt": ast.Gt(), "ge": ast.GtE()}.items():
        setattr(_Term, f"__{name}__", lambda self, other, test=test: self.compared(test, other))


_operators()


class _Question:
    """A comparison, answered when it is asked for its truth."""

    def __init__(self, run: _Run, node: ast.expr) -> None:
        self.run, self.node = run, node

    def __bool__(self) -> bool:
        if self.run.asked == len(self.run.answers):
            raise _Asked(self.node)
        self.run.asked += 1
        return self.run.answers[self.run.asked - 1]


def _mathematics(name: str) -> Callable[..., Any]:
    plain = getattr(math if name in OF_MATH else builtins, name)

    def function(*values: Any) -> Any:
        symbol = next((value for value in values if isinstance(value, _Term)), None)
        if symbol is None:
            return plain(*values)
        if name in ("min", "max"):
            return functools.reduce(lambda left, right: symbol.called(name, left, right), values)
        return symbol.called(name, *values)

    return function


_OURS = {name: _mathematics(name) for name in FUNCTIONS}
_NUMPY = {"arctan2": "atan2", "arctan": "atan", "arcsin": "asin", "arccos": "acos", "minimum": "min", "maximum": "max"}


class _Module:
    """`math` or `numpy` as a traced function sees it."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        own = _NUMPY.get(name, "fabs" if name == "absolute" else name)
        return _OURS["abs"] if own == "fabs" else _OURS.get(own, getattr(self.module, name))


def _symbolic(function: Any, callers: tuple[Any, ...] = ()) -> Any:
    """The function with mathematics on symbols in its globals and closure, its helpers too."""

    def ours(value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return _Module(value) if value.__name__ in ("math", "numpy") else value
        if isinstance(value, types.BuiltinFunctionType) and value.__name__ in _OURS:
            return _OURS[value.__name__]
        plain = isinstance(value, types.FunctionType) and value not in callers
        return _symbolic(value, (*callers, function)) if plain else value

    builtin = {name: call for name, call in _OURS.items() if name not in OF_MATH and name not in function.__globals__}
    return rewired(function, ours, builtin)


def traced(what: str, function: Any, variables: Sequence[str]) -> str:
    """The text of what the function returns."""
    try:
        check_parameters(function)
    except SpaqlError as error:
        raise SpaqlError(f"{what}: {error}") from None
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    for name in arguments:
        if name not in variables:
            raise SpaqlError(f"{what}: {name} is not observed: choose among {', '.join(variables)}")
    try:
        symbolic, runs = _symbolic(function), [0]
        return ast.unparse(ast.fix_missing_locations(_explored(symbolic, arguments, [], runs)))
    except Exception as error:  # the user's function may do anything with what is no number
        said = " ".join(str(error).split()).replace("'_Term'", "a variable")
        raise SpaqlError(f"{what} cannot be written as a formula: {type(error).__name__}: {said}") from error


def _explored(function: Any, arguments: Sequence[str], answers: list[bool], runs: list[int]) -> ast.expr:
    runs[0] += 1
    if runs[0] > MOST_RUNS:
        raise ValueError(f"it has more than {MOST_RUNS} ways through its branches")
    run = _Run(answers)
    try:
        result = function(*(_Term(run, ast.Name(name)) for name in arguments))
    except _Asked as question:
        held, not_held = (_explored(function, arguments, [*answers, answer], runs) for answer in (True, False))
        return ast.IfExp(question.args[0], held, not_held)
    if not isinstance(result, _Term | int | float) or isinstance(result, bool):
        raise TypeError(f"it must return a number, not {type(result).__name__}")
    return _Term(run, ast.Constant(0)).of(result)
