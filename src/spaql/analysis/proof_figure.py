"""A theorem as a picture in two of the plant's variables: starts, what is open, where the loop stays or arrives."""

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from spaql.analysis.style import legend, sheet, write_as
from spaql.ground.arrays import Array
from spaql.ground.colours import BLUE, GREEN, GREY, SKY, VERMILION
from spaql.ground.errors import SpaqlError, echoed
from spaql.ground.writing import form_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from spaql.proofs.proof import Proof

TALL = 3.6  # inches
Range = tuple[float, float]


def proof_figure(proof: "Proof", path: str | PathLike[str] | None, x: str | None, y: str | None) -> "Figure":
    """See `Proof.plot`."""
    if path is not None:
        form_of(path)
    across, up = _shown(proof, x, y)
    with sheet(TALL) as figure:
        axes = figure.subplots()
        legend(figure, _draw(axes, proof, across, up))
        axes.set_xlabel(proof.claim.variables[across])
        axes.set_ylabel(proof.claim.variables[up])
        if path is not None:
            write_as(figure, path)
    return figure


def _shown(proof: "Proof", x: str | None, y: str | None) -> tuple[int, int]:
    """The places of two variables: those asked for, else the two whose starts are widest."""
    names = proof.claim.variables
    for name in (x, y):
        if name is not None and name not in names:
            raise SpaqlError(f"a proof has no variable {echoed(name)}: choose among {', '.join(names)}")
    if len(names) < 2 or (x is not None and x == y):
        raise SpaqlError("a picture needs two different variables")
    width = np.diff(np.array(proof.claim.start), axis=1)[:, 0]
    free = [j for j in np.argsort(-width, kind="stable").tolist() if names[j] not in (x, y)]
    across, up = (free.pop(0) if name is None else names.index(name) for name in (x, y))
    return (across, up) if x is not None or y is not None else (min(across, up), max(across, up))


def _draw(axes: "Axes", proof: "Proof", across: int, up: int) -> list[Any]:
    """What the theorem says, the largest below; entries of the legend."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Patch

    claim, entries = proof.claim, []
    start = np.array(claim.start)
    proven = Patch(facecolor=SKY, alpha=0.5, label="starts that are proven")
    if proof.evidence:
        axes.add_patch(_rectangle(start[across], start[up], facecolor=SKY, alpha=0.5))
        entries.append(proven)
    if proof.open:
        boxes = [_rectangle(box[across], box[up]) for box in np.array(proof.open)]
        axes.add_collection(PatchCollection(boxes, facecolor=VERMILION, edgecolor=VERMILION, linewidth=0.3))
        entries.append(Patch(facecolor=VERMILION, label="open"))
    outlines = (
        (proof.bound if proof.evidence else {}, BLUE, "-", "never left"),
        (claim.never or {}, GREY, "--", "asked: never left"),
        (claim.reach if isinstance(claim.reach, dict) else {}, GREEN, "-", "reached and kept"),
    )
    axes.autoscale_view()
    for bounds, colour, style, label in outlines:
        ends = [bounds.get(claim.variables[j]) for j in (across, up)]
        if any(ends):
            entries.append(_outline(axes, ends, colour, style, label))
    axes.autoscale_view()
    return entries


def _rectangle(across: Array, up: Array, **style: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((across[0], up[0]), across[1] - across[0], up[1] - up[0], **style)


def _outline(axes: "Axes", ends: list[Range | None], colour: str, style: str, label: str) -> Any:
    """A box, or two lines where one of the variables has no bounds."""
    line: dict[str, Any] = {"color": colour, "linestyle": style, "linewidth": 1.3}
    across, up = ends
    if across is not None and up is not None:
        (left, right), (low, high) = across, up
        return axes.plot([left, right, right, left, left], [low, low, high, high, low], label=label, **line)[0]
    draw = axes.axvline if up is None else axes.axhline
    lines = [draw(at, label=label, **line) for at in (across if up is None else up) or ()]
    return lines[0]
