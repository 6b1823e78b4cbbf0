"""A small plant that slides to the middle, with its law: what cells can prove in a second."""

import spaql


@spaql.reset
def anywhere(u, v):
    return 2.0 * u - 1.0, 2.0 * v - 1.0


@spaql.step
def slides(x, v, force):
    v = 0.8 * v + 0.2 * force
    return (x + 0.2 * v, v), -x * x, False


def slider():
    axes = [spaql.Axis("x", -3.0, 3.0), spaql.Axis("v", -3.0, 3.0)]
    problem = spaql.from_plant(anywhere, slides, state=axes, actions=spaql.Continuous((-1.0,), (1.0,)), horizon=100, name="slider")
    return spaql.law(problem, {"x": -1.5, "v": -1.0})
