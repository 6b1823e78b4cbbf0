"""Learning curves."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spaql.errors import SpaqlError

if TYPE_CHECKING:
    from spaql.training.history import History

# Okabe and Ito: safe for the colour-blind; one colour per algorithm everywhere
COLOURS = {"AQL": "#E69F00", "SPAQL": "#0072B2", "SPAQL-TS": "#009E73", "Random": "#7F7F7F", "TRPO": "#CC79A7"}


def learning_curve(histories: Sequence["History"], algorithm: str, problem: str, path: Path) -> None:
    """Best seen and arms over iterations: mean over the agents with its 95 % interval, every agent as a thin line."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from scipy.special import stdtrit

    length = min(len(history) for history in histories)
    iteration = np.arange(1, length + 1)
    colour = COLOURS.get(algorithm, "#0072B2")
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, field, label in zip(axes, ("best_seen", "arms"), ("best average return seen", "arms"), strict=True):
        values = np.array([getattr(history, field)[:length] for history in histories], float)
        mean = values.mean(axis=0)
        if len(values) > 1:
            half = stdtrit(len(values) - 1, 0.975) * values.std(axis=0, ddof=1) / np.sqrt(len(values))
            axis.fill_between(iteration, mean - half, mean + half, color=colour, alpha=0.25, linewidth=0, label="95 % interval")
            axis.plot(iteration, values.T, color=colour, linewidth=0.5, alpha=0.35)
        axis.plot(iteration, mean, color=colour, linewidth=2, label=f"{algorithm}, mean of {len(values)}")
        axis.set(xlabel="training episode", ylabel=label, xlim=(1, max(length, 2)))
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[1].set_yscale("log")
    axes[0].legend(frameon=False, loc="lower right")
    figure.suptitle(f"{algorithm} on {problem}")
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise SpaqlError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        plt.close(figure)
