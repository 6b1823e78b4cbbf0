"""Controllers made by hand, for tests of what runs and searches trees."""

from spaql.trees.tree import Builder


def cartpole_tree():
    """Push against the pole's fall; near the top by its speed alone."""
    builder = Builder(4, 1)
    far_left = builder.test(2, -0.03)
    left = builder.leaf(0)
    far_right = builder.test(2, 0.03)
    speed = builder.test(3, 0.0)
    falling_left = builder.leaf(0)
    builder.join(speed, falling_left, builder.leaf(1))
    builder.join(far_right, speed, builder.leaf(1))
    builder.join(far_left, left, far_right)
    return builder.tree()


def pendulum_tree():
    """Below, push the way it moves, unless it is fast; near the top, against the tilt, unless it comes back fast."""
    builder = Builder(3, 1)
    near = builder.test(0, 0.8)
    direction = builder.test(2, 0.0)
    swings = []
    for limit, slower, faster in ((-6.0, 1.0, -2.0), (6.0, 2.0, -1.0)):
        swing = builder.test(2, limit)
        below = builder.leaf(slower)
        builder.join(swing, below, builder.leaf(faster))
        swings.append(swing)
    builder.join(direction, *swings)
    tilt = builder.test(1, 0.0)
    sides = []
    for limit in (1.0, -1.0):
        side = builder.test(2, limit)
        push = builder.leaf(2.0)
        builder.join(side, push, builder.leaf(-2.0))
        sides.append(side)
    builder.join(tilt, *sides)
    builder.join(near, direction, tilt)
    return builder.tree()
