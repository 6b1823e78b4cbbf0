"""What `spaql explain` says."""

import json
from pathlib import Path
from typing import Any

from spaql.explain.policy import Policy
from spaql.explain.tables import rich_table


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
    if html is not None:
        console.print(f"open {html}", highlight=False, soft_wrap=True)
