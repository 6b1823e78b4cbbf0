"""What `spaql explain` says."""

import json
from pathlib import Path
from typing import Any

from spaql.explain.compress import FRESH, FRESH_SEED
from spaql.explain.policy import Policy
from spaql.explain.tables import rich_table


def _earned(table: Policy, policy: Policy) -> list[str]:
    """What a compressed tree earns beside the table, if that was measured; with a warning where it is much less."""
    own = [point for point in policy.frontier if point.leaves == policy.n_leaves]
    if not own:
        return []
    point, whole = own[0], table.evaluate(FRESH, FRESH_SEED)
    told = f"On {FRESH:,} fresh episodes this tree earns {point.mean:.1f} ({point.ci95[0]:.1f} to {point.ci95[1]:.1f})"
    lines = [f"{told}, the table {whole.mean:.1f}."]
    if point.ci95[1] < whole.ci95[0]:
        lines.append("Warning: that is less than the table earns: allow more leaves (--max-leaves), or give it more data.")
    return lines


def show_policy(table: Policy, policy: Policy, observation: list[float] | None, html: Path | None, rows: int, as_json: bool) -> None:
    """`table`: as it was learned; `policy`: the form asked for."""
    why = None if observation is None else policy.why(observation)
    if html is not None:
        from spaql.report.explanation import write_explanation

        write_explanation(table, policy, html)
    if as_json:
        told: dict[str, Any] = {"policy": repr(policy), "regions": policy.n_leaves, "exact_tree_leaves": table.tree().n_leaves}
        told |= {"samples": policy.samples, "html": None if html is None else str(html)}
        told["table"] = json.loads(policy.table().to_json(orient="records"))
        told["frontier"] = [{name: value for name, value in vars(point).items() if name != "tree"} for point in policy.frontier]
        told["why"] = None if why is None else str(why)
        print(json.dumps(told, indent=1, default=str))
        return
    from rich.console import Console

    console = Console()
    if why is not None:
        console.print(str(why), highlight=False, markup=False)
        console.print()
    if why is None or rows != 12:
        console.print(rich_table(policy, rows))
        exact = table.tree()
        console.print(f"{table.n_leaves:,} regions as learned; a tree with {exact.n_leaves:,} leaves plays the same.", highlight=False)
    for line in _earned(table, policy):
        console.print(line, highlight=False)
    if html is not None:
        console.print(f"open {html}", highlight=False, soft_wrap=True)
