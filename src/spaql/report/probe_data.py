"""Step responses and the worst episode, as the explanation page shows them."""

from typing import Any

from spaql.plants.loop import can_restate
from spaql.policy.policy import Policy
from spaql.policy.worst import Worst
from spaql.report.svg import inline_svg


def step_views(policy: Policy) -> list[dict[str, Any]]:
    """One for every reference that a variable follows: a drawing, and what was measured."""
    from spaql.analysis.step_figure import step_sheet
    from spaql.analysis.style import svg_of

    problem, views = policy.problem, []
    if problem.signals is None or problem.horizon < 2 or not can_restate(problem):
        return []
    for k, reference in enumerate(one for one in problem.signals.references if one.of is not None):
        response, title = policy.step_response(reference.name), f"Step response of {reference.of}"
        with step_sheet(response) as figure:
            drawing = svg_of(figure, f"step{k + 1}", title)
        views.append({"title": title, "jump": response.jump, "rows": response.rows()})
        views[-1]["drawing"] = inline_svg(drawing, f"response-{k + 1}", title)
    return views


def worst_view(worst: Worst) -> dict[str, Any]:
    """The drawing with the typical episode behind it, and what was found."""
    from spaql.analysis.episode_figure import episode_sheet
    from spaql.analysis.style import svg_of

    title = "The worst episode that was found, and a typical one"
    with episode_sheet(worst.episode, worst) as figure:
        drawing = svg_of(figure, "worst", title)
    rows = [(name, text.replace("\N{NO-BREAK SPACE}", " ")) for name, text in worst.rows()]
    by = {"return": "lowest return", "limits": "largest excess over a limit"}[worst.by]
    return {
        "title": title,
        "by": by,
        "tried": f"{worst.tried:,}",
        "compiled": worst.problem.plant is not None,
        "rows": rows,
        "drawing": inline_svg(drawing, "worst-episode", title),
    }
