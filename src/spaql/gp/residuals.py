"""What a model does not explain of its own data: errors of leaving one step out, and steps that are outliers."""

import numpy as np

from spaql.gp.data import Data, stopped, thinned
from spaql.gp.fit import inducing_points, leave_one_out_error
from spaql.gp.model import FITTED, POINTS, Model, changes_of, enough_of, outputs_of, rewards_of
from spaql.gp.references import without_jumps
from spaql.gp.reward import QUADRATIC
from spaql.gp.units import inputs_of
from spaql.gp.walls import inliers
from spaql.ground.arrays import Array

RARE_SHARE = 0.02  # of the rewards may be outliers, as those of a fall: they are no sign of a wrong model


def unpredicted(model: Model, data: Data) -> dict[int, float]:
    """By variable the part of its changes that the model misses in steps it has not seen; -1: of the reward."""
    data = thinned(without_jumps(data), FITTED)
    every, change = inputs_of(model.units, data.states, data.actions), changes_of(model, data)
    found, free = {}, ~stopped(data, model.stops, model.brakes)
    for j, scales in enumerate(model.scales):
        if model.shifts[j] >= 0:
            continue
        x, y = every[free[:, j]], change[free[:, j], j]
        kept = inliers(x, y, x, scales, model.outlier[j])
        found[j] = leave_one_out_error(x[kept], y[kept], scales)
    if model.reward_model is not None:
        x, y = rewards_of(model, data)[:2]
        found[-1] = leave_one_out_error(x, y, model.reward_model.scales, QUADRATIC, RARE_SHARE)
    return found


def outliers_in(model: Model, data: Data) -> Array:
    """Which steps have no part in the model, because all others contradict them: walls, jumps, faults of a sensor."""
    outputs, free = outputs_of(model, data)[: data.states.shape[1]], ~stopped(data, model.stops, model.brakes)
    found = np.zeros(len(data.states), bool)
    for j, (values, scales, _) in enumerate(outputs):
        if model.shifts[j] >= 0:
            continue
        x, y = values.x[free[:, j]], values.y[free[:, j]]
        points = inducing_points(x, x[:0], scales, POINTS, enough_of(scales))
        found[free[:, j]] |= ~inliers(x, y, points, scales, model.outlier[j])
    return found
