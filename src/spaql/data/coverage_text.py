"""Coverage as text and as plain data."""

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spaql.data.coverage import Coverage, Share

MOST_PAIRS = 15  # rows of the table of pairs


def text_of(made: "Coverage") -> str:
    """What a person needs to decide what to measure next."""
    data, against = made.log, "declared" if made.overall.reached is None else "reached"
    lines = [f"{data.name}: {len(data):,} samples, {data.episodes:,} episodes of {made.problem.name}", ""]
    ranges = [
        [f"{r.name}{f' ({r.unit})' if r.unit else ''}", _span(*r.declared), _span(*r.seen), _percent(r.share)]
        for r in made.ranges
    ]
    lines += [*_table(["variable", "declared", "seen", f"of what is {against}"], ranges), ""]
    grids = [_row("all variables", made.overall), *_pairs(made)]
    lines += [*_table(["grid", "cells with data", against, "share"], grids), ""]
    regions = [
        [r.variable, _span(r.low, r.high), f"{r.samples:,}", *map(_percent, r.actions)]
        for r in made.regions
        if r.samples
    ]
    lines += ["actions by region (share of the samples there)"]
    lines += [*_table(["variable", "region", "samples", *made.action_labels], regions), ""]
    lines += [
        f"every action in {_percent(made.all_actions)} of the visited cells; "
        f"only one action in {_percent(made.one_action)} of those with {len(made.action_labels)} samples or more"
    ]
    never = [f"  {text}" for text in made.never] or ["  nothing: every coarse box is visited"]
    return "\n".join([*lines, "never seen", *never])


def plain_of(made: "Coverage") -> dict[str, Any]:
    """JSON has no infinity: open ends are None."""
    entries = {
        "problem": made.problem.name, "samples": len(made.log), "episodes": made.log.episodes,
        "overall": asdict(made.overall) | {"share": made.overall.share},
        "variables": [asdict(r) for r in made.ranges],
        "pairs": [asdict(pair) | {"share": pair.share} for pair in made.pairs],
        "actions": list(made.action_labels), "regions": [asdict(region) for region in made.regions],
        "every_action": made.all_actions, "only_one_action": made.one_action, "never": list(made.never),
    }  # fmt: skip
    plain: dict[str, Any] = _finite(entries)
    return plain


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _pairs(made: "Coverage") -> list[list[str]]:
    """The least covered pairs first: these are the ones to act on."""
    worst = sorted(made.pairs, key=lambda pair: pair.share)
    return [_row(" x ".join(pair.variables), pair) for pair in worst[:MOST_PAIRS]]


def _row(name: str, share: "Share") -> list[str]:
    whole = share.declared if share.reached is None else share.reached
    return [name, f"{share.seen:,}", f"{whole:,}", _percent(share.share)]


def _span(low: float, high: float) -> str:
    return "any" if math.isinf(low) else f"{low:.3g} ... {high:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Columns as wide as they need to be: the first column aligned left, the others right."""
    widths = [max(len(row[j]) for row in [head, *rows]) for j in range(len(head))]

    def line(row: list[str]) -> str:
        return "  ".join(
            text.ljust(width) if j == 0 else text.rjust(width)
            for j, (text, width) in enumerate(zip(row, widths, strict=True))
        )

    return [line(head), "-" * (sum(widths) + 2 * (len(widths) - 1)), *map(line, rows)]
