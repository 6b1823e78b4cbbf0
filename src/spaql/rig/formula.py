"""Entries of rig.toml: its tables, and the reward, a formula in a text, of which nothing but arithmetic is taken."""

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spaql.ground.arrays import Array
from spaql.ground.checks import real, text
from spaql.ground.errors import SpaqlError, echoed
from spaql.plants.axes import Axis
from spaql.plants.compile import function_of
from spaql.plants.formulas import PYTHON, formula_of
from spaql.plants.loop_plant import Payment, word
from spaql.plants.references import Reference
from spaql.plants.signals import Signals


def target_text(target: Mapping[str, Any], state: Sequence[Axis], acting: Sequence[str], effort: float) -> str:
    """Minus the squared distances from where variables shall be, in halves of their ranges, and of changes."""
    axes, terms = {axis.name: axis for axis in state}, []
    if not isinstance(target, dict):
        raise SpaqlError(f"[goal] target says where variables shall be, {{ angle = 0.0 }}, not {echoed(target)}")
    for name, value in target.items():
        if name not in axes:
            raise SpaqlError(f"[goal] target: there is no {echoed(name)}: choose {', '.join(axes)}")
        at = real(f"[goal] target: {name}", value, axes[name].low, axes[name].high)
        terms.append(f"(({word(name)} - ({at!r})) / {axes[name].width / 2!r}) ** 2")
    if not terms:
        raise SpaqlError("[goal] target is empty: give the variables that shall be somewhere, { angle = 0.0 }")
    terms += [f"{effort!r} * abs({word(name)} - {word(f'previous({name})')})" for name in acting if effort > 0.0]
    return f"-({' + '.join(terms)})"


def goal_of(
    goal: Mapping[str, Any],
    state: Sequence[Axis],
    references: Sequence[Reference],
    basic: Sequence[str],
    acting: Sequence[str],
) -> tuple[Callable[..., float] | None, list[str]]:
    """The reward as a function, and the memory that it needs."""
    if "reward" in goal and ("target" in goal or "effort" in goal):
        raise SpaqlError("[goal] has a reward and a target: give one of them")
    if "target" in goal:
        written = target_text(goal["target"], state, acting, real("[goal] effort", goal.get("effort", 0.0), 0.0))
    elif "reward" in goal:
        written = text("[goal] reward", goal["reward"])
    elif references and any(signal.of for signal in references):
        return None, []
    else:
        raise SpaqlError(
            '[goal] is missing: give reward = "...", target = { angle = 0.0 }, or a reference of a variable'
        )
    remembered = [f"previous({name})" for name in acting]
    remembered += [f"{kind}({name})" for kind in ("integral", "difference", "past") for name in basic]
    plain = {word(name) for name in [*basic, *acting, *(signal.name for signal in references)]}
    offered = [*sorted(plain), *(word(name) for name in remembered if word(name) not in plain)]
    formula = formula_of("[goal] reward", written, offered)
    lines = [f"return {formula.written(PYTHON, {name: name for name in formula.words})}"]
    needed = [name for name in remembered if word(name) in formula.words and word(name) not in plain]
    return function_of({"math": math}, f"paid({', '.join(formula.words)})", lines), needed


def rewards(signals: Signals, payment: Payment, y: Array, r: Array, u: Array) -> list[float]:
    """What steps are paid by what was measured: y (n + 1, variables), references and actions (n, ...).

    References and memory are those of the decision, measured variables those after the step.
    """
    f, paid = signals.functions, []
    names = list(signals.symbols.values())
    z = f.first(*y[0], *r[0]) if len(u) else ()
    for t in range(len(u)):
        now = [*y[t].tolist(), *r[t].tolist()]
        place = dict(zip(names, f.seen(*now, *z), strict=True))
        place |= {f"t{j}": float(value) for j, value in enumerate(y[t + 1])}
        place |= {f"u{j}": float(value) for j, value in enumerate(u[t])}
        values = []
        for symbol in payment.symbols:
            first, minus, other = symbol.partition(" - ")
            values.append(place[first] - place[other] if minus else place[first])
        paid.append(payment.of(*values))
        z = f.after(*now, *z, *u[t].tolist())
    return paid


# -- entries of rig.toml: tables with keys that are known, pairs of numbers --------------------------------------------


def tables_of(kind: str, tables: Mapping[str, Any], keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """[kind.NAME] for some names."""
    given = table_of(kind, tables.get(kind, {}))
    for name, entry in given.items():
        check_keys(f"[{kind}.{name}]", table_of(f"{kind}.{name}", entry), keys)
    return given


def table_of(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise SpaqlError(f"{name} is a table, [{name}] with a line for each entry, not {echoed(given)}")
    return given


def check_keys(where: str, table: Mapping[str, Any], names: Sequence[str]) -> None:
    for key in table:
        if key not in names:
            near = difflib.get_close_matches(key, names, 1)
            raise SpaqlError(
                f"{where}: unknown key {echoed(key)}{f' ({near[0]}?)' if near else ''}; there are {', '.join(names)}"
            )


def pair_of(name: str, given: Any) -> tuple[float, float]:
    pair = given if isinstance(given, list) and len(given) == 2 else (math.nan, math.nan)
    if given is None:
        raise SpaqlError(f"{name} is missing: give [low, high]")
    if not isinstance(given, list) or len(given) != 2:
        raise SpaqlError(f"{name} is [low, high], not {echoed(given)}")
    low, high = (real(name, end) for end in pair)
    if not low < high:
        raise SpaqlError(f"{name}: low must be below high, not {low:g} and {high:g}")
    return low, high


def pair_within(name: str, given: Any, ends: Any, of: str) -> tuple[float, float]:
    (low, high), (least, most) = pair_of(name, given), pair_of(of, ends)
    if not least <= low < high <= most:
        raise SpaqlError(f"{name} {low:g} ... {high:g} is not within {of}, {least:g} ... {most:g}: other units?")
    return low, high
