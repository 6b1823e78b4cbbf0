"""Plants of process control, and others with noise, on which no setting was chosen; a hand-made controller beside them.

    python benchmarks/process_plants.py [cstr ...]     # random actions, and the hand-made controllers

`cstr` and `four_tanks` are pc-gym's (MaximilianB2/pc-gym, src/pcgym/model_classes.py) with the settings of its
published rollouts (pc-gym_paper/train_policies/.../*_visualisation.py), whose trajectories and rewards they repeat:

    median of 50 episodes   oracle (NMPC)    DDPG      SAC      PPO     best without foreknowledge and noise
    CSTR                       -0.062       -0.091   -0.105   -0.098    -0.071
    four tanks                 -2.52        -3.80    -4.13    -4.59     -3.43

- There are 59 actions: the first of the 60 published rewards is a zero for the start.
- What is measured has noise, in percent of the value, and the *measured* value is paid; the first observation has none.
- The observed setpoint is one step late, and the reward is for that of the next step: the first action that can answer
  a jump is paid at the third step of the new setpoint. (The first setpoint that the CSTR shows is a dummy, 0.8.)
- The oracle is out of reach: its rewards have no noise and leave out its first step, and it answers a jump a step
  sooner. The agents had learned with other setpoints and rewards (CSTR), or with levels per 0.6, not 0.5 m (tanks).

`known=True` shows the setpoint that is paid, and the last action if its change is, so that the reward is a function of
what is observed, and is given. Then a jump is answered a step sooner, and published figures do not apply.
"""

import argparse
import math

import numpy as np
from scipy.linalg import solve_discrete_are

import spaql
from spaql.policy.outputs import make_laws
from spaql.trees.laws import CLIP
from spaql.trees.tree import NODE, make_tree

FIRST_SEED, FRESH = 1000, 200
ACTIONS = 59  # of an episode of pc-gym with N = 60


def normal(u1, u2):
    """Two normal numbers of two uniform ones (Box and Muller)."""
    radius, angle = math.sqrt(-2.0 * math.log(1.0 - u1)), 2.0 * math.pi * u2
    return radius * math.cos(angle), radius * math.sin(angle)


def law(problem, gains, offsets):
    """The policy action = clip(gains observation + offsets)."""
    nodes = np.zeros(1, NODE)
    nodes["feature"] = -1  # a leaf
    laws = make_laws(np.array([gains], float), np.array([offsets], float), problem.actions, CLIP)
    tree = make_tree(nodes, np.zeros((1, len(offsets))), len(problem.state), None, laws)
    return spaql.Policy(problem, tree, "law tree", "hand-made")


# -- CSTR: an exothermic reaction A -> B in a stirred tank, held by the temperature of its cooling jacket --------------

Q, V, RHO, CP = 100.0, 100.0, 1000.0, 0.239  # m3/min, m3, kg/m3, kJ/(kg K)
DH, E_R, K0, UA = -5e4, 8750.0, 7.2e10, 5e4  # kJ/kmol, K, 1/min, kJ/(min K)
T_IN, CA_IN = 350.0, 1.0  # K, kmol/m3: the feed
TC_LOW, TC_HIGH = 295.0, 302.0  # K
CA_RANGE, MOVE = 0.3, 0.01  # errors are paid in parts of this range; weight of a change of the jacket's temperature
CSTR_DT, CSTR_PARTS = 26.0 / 60.0, 4  # min, Runge-Kutta steps


def reacting(ca, t, tc):
    rate = K0 * math.exp(-E_R / t) * ca
    return Q / V * (CA_IN - ca) - rate, Q / V * (T_IN - t) - DH * rate / (RHO * CP) + UA * (tc - t) / (RHO * CP * V)


def reacted(ca, t, tc):
    """Concentration and temperature after one step with the jacket at tc."""
    h = CSTR_DT / CSTR_PARTS
    for _ in range(CSTR_PARTS):
        a1, b1 = reacting(ca, t, tc)
        a2, b2 = reacting(ca + 0.5 * h * a1, t + 0.5 * h * b1, tc)
        a3, b3 = reacting(ca + 0.5 * h * a2, t + 0.5 * h * b2, tc)
        a4, b4 = reacting(ca + h * a3, t + h * b3, tc)
        ca, t = ca + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4), t + h / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
    return ca, t


def ca_setpoint(k):
    return 0.89 if 20 <= k < 40 else 0.86


def cstr_reward(_ca, _t, _sp, last, tc, next_ca, _next_t, next_sp, _next_last):
    error, move = (next_ca - next_sp) / CA_RANGE, (tc - last) / (TC_HIGH - TC_LOW)
    return -error * error - MOVE * move * move


@spaql.reset
def cstr_start():
    """In pc-gym the last jacket temperature is that of the episode before: about 301 K, which holds 0.86."""
    return 0.85, 330.0, 0.0, 301.0, 0.85, 330.0


@spaql.step
def react(ca, t, k, last, _seen_ca, _seen_t, tc, u1, u2, noise):
    """Concentration, temperature, number of the step, last action, both measured values; the jacket's temperature."""
    ca, t = reacted(ca, t, tc)
    z1, z2 = normal(u1, u2)
    k, seen_ca, seen_t = k + 1.0, ca * (1.0 + noise * z1), t * (1.0 + noise * z2)
    reward = cstr_reward(0.0, 0.0, 0.0, last, tc, seen_ca, 0.0, ca_setpoint(k), 0.0)
    return (ca, t, k, tc, seen_ca, seen_t), reward, False


@spaql.observe
def cstr_measured(_ca, _t, k, _last, seen_ca, seen_t):
    return seen_ca, seen_t, ca_setpoint(k - 1.0) if k > 0.0 else 0.8


@spaql.observe
def cstr_measured_in_time(_ca, _t, k, last, seen_ca, seen_t):
    return seen_ca, seen_t, ca_setpoint(k), last


def cstr(noise=0.001, known=False):
    """The axes are the box by which pc-gym normalises: no jacket temperature leads out of it."""
    state = [spaql.Axis("Ca", 0.7, 1.0, unit="kmol/m3"), spaql.Axis("T", 300.0, 350.0, unit="K")]
    state += [spaql.Axis("Ca setpoint", 0.8, 0.9, unit="kmol/m3")]
    state += [spaql.Axis("last Tc", TC_LOW, TC_HIGH, unit="K")] if known else []
    return spaql.from_plant(
        cstr_start, react, observe=cstr_measured_in_time if known else cstr_measured, name="CSTR", state=state,
        actions=spaql.Continuous((TC_LOW,), (TC_HIGH,), ("Tc",), ("K",)), horizon=ACTIONS,
        parameters={"noise": noise}, reward=cstr_reward if known else None,
    )  # fmt: skip


def cstr_steady(ca):
    """Temperatures of reactor and jacket that hold a concentration."""
    rate = Q / V * (CA_IN - ca)
    t = E_R / math.log(K0 * ca / rate)
    return t, t - RHO * CP * V / UA * (Q / V * (T_IN - t) - DH * rate / (RHO * CP))


def cstr_regulator(problem, gain=0.5):
    """The jacket holds the temperature that belongs to the setpoint, which is taken as linear from 0.86 to 0.89."""
    (t1, tc1), (t2, tc2) = cstr_steady(0.86), cstr_steady(0.89)
    slope = (tc2 - tc1 + gain * (t2 - t1)) / 0.03
    gains = [0.0, -gain, slope, 0.0][: len(problem.state)]
    return law(problem, [gains], [tc1 + gain * t1 - slope * 0.86])


# -- four tanks: two pumps fill the upper tanks 3 and 4, which empty into the lower tanks 1 and 2 ----------------------

G, GAMMA1, GAMMA2, K1, K2 = 9.81, 0.2, 0.2, 0.00085, 0.00095  # m/s2; parts that flow past tank 4, 3; m3/(V s)
A1, A2, A3, A4 = 0.0035, 0.0030, 0.0020, 0.0025  # m2, outlets; the tanks have 1 m2
V_LOW, V_HIGH = 0.1, 10.0  # V
H_RANGE = 0.5  # m: errors are paid in parts of it
TANKS_DT, TANKS_PARTS = 1000.0 / 60.0, 8  # s, Runge-Kutta steps


def out(area, h):
    return area * math.sqrt(2.0 * G * max(h, 0.0))


def flowing(h1, h2, h3, h4, v1, v2):
    return (
        -out(A1, h1) + out(A3, h3) + GAMMA1 * K1 * v1,
        -out(A2, h2) + out(A4, h4) + GAMMA2 * K2 * v2,
        -out(A3, h3) + (1.0 - GAMMA2) * K2 * v2,
        -out(A4, h4) + (1.0 - GAMMA1) * K1 * v1,
    )


def level_setpoints(k):
    return (0.5, 0.2) if k < 30 else (0.1, 0.3)


def tanks_reward(_h1, _h2, _h3, _h4, _sp3, _sp4, _v1, _v2, _n1, _n2, next_h3, next_h4, next_sp3, next_sp4):
    e3, e4 = (next_h3 - next_sp3) / H_RANGE, (next_h4 - next_sp4) / H_RANGE
    return -e3 * e3 - e4 * e4


@spaql.reset
def tanks_start():
    return 0.141, 0.112, 0.072, 0.42, 0.0, 0.141, 0.112, 0.072, 0.42


@spaql.step
def pump(h1, h2, h3, h4, k, _s1, _s2, _s3, _s4, v1, v2, u1, u2, u3, u4, noise):
    """Levels, number of the step, measured levels; voltages of the pumps."""
    h = TANKS_DT / TANKS_PARTS
    for _ in range(TANKS_PARTS):
        a1, a2, a3, a4 = flowing(h1, h2, h3, h4, v1, v2)
        b1, b2, b3, b4 = flowing(h1 + 0.5 * h * a1, h2 + 0.5 * h * a2, h3 + 0.5 * h * a3, h4 + 0.5 * h * a4, v1, v2)
        c1, c2, c3, c4 = flowing(h1 + 0.5 * h * b1, h2 + 0.5 * h * b2, h3 + 0.5 * h * b3, h4 + 0.5 * h * b4, v1, v2)
        d1, d2, d3, d4 = flowing(h1 + h * c1, h2 + h * c2, h3 + h * c3, h4 + h * c4, v1, v2)
        h1, h2 = h1 + h / 6.0 * (a1 + 2.0 * b1 + 2.0 * c1 + d1), h2 + h / 6.0 * (a2 + 2.0 * b2 + 2.0 * c2 + d2)
        h3, h4 = h3 + h / 6.0 * (a3 + 2.0 * b3 + 2.0 * c3 + d3), h4 + h / 6.0 * (a4 + 2.0 * b4 + 2.0 * c4 + d4)
    z1, z2 = normal(u1, u2)
    z3, z4 = normal(u3, u4)
    s1, s2, s3, s4 = h1 + noise * z1 * h1, h2 + noise * z2 * h2, h3 + noise * z3 * h3, h4 + noise * z4 * h4
    sp3, sp4 = level_setpoints(k + 1.0)
    reward = tanks_reward(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, s3, s4, sp3, sp4)
    return (h1, h2, h3, h4, k + 1.0, s1, s2, s3, s4), reward, False


@spaql.observe
def levels_measured(_h1, _h2, _h3, _h4, k, s1, s2, s3, s4, late):
    sp3, sp4 = level_setpoints(k - late)
    return s1, s2, s3, s4, sp3, sp4


def four_tanks(noise=0.05, known=False):
    """pc-gym normalises all levels by 0.5 m and lets them leave that. Here 10 V and 7 standard deviations fit in."""
    highest = {"h1": 0.6, "h2": 0.6, "h3": 1.0, "h4": 0.6, "h3 setpoint": 0.6, "h4 setpoint": 0.6}
    return spaql.from_plant(
        tanks_start, pump, observe=levels_measured, name="four tanks", horizon=ACTIONS,
        state=[spaql.Axis(name, 0.0, high, unit="m") for name, high in highest.items()],
        actions=spaql.Continuous((V_LOW, V_LOW), (V_HIGH, V_HIGH), ("v1", "v2"), ("V", "V")),
        parameters={"noise": noise, "late": 0.0 if known else 1.0}, reward=tanks_reward if known else None,
    )  # fmt: skip


def tanks_regulator(problem, gain=50.0):
    """Each pump holds the upper tank that it fills, around the voltage of the setpoint, which is taken as linear."""
    v1 = [out(A4, level) / ((1.0 - GAMMA1) * K1) for level in (0.2, 0.3)]
    v2 = [out(A3, level) / ((1.0 - GAMMA2) * K2) for level in (0.1, 0.5)]
    slope1, slope2 = (v1[1] - v1[0]) / 0.1, (v2[1] - v2[0]) / 0.4
    gains = [[0, 0, 0, -gain, 0, gain + slope1], [0, 0, -gain, 0, gain + slope2, 0]]
    return law(problem, gains, [v1[0] - 0.2 * slope1, v2[0] - 0.1 * slope2])


# -- others ------------------------------------------------------------------------------------------------------------


def planar_quadrotor():
    """That of unseen_laws.py, which has its LQR."""
    from unseen_laws import quadrotor

    return quadrotor()[0]


def mass_reward(_p, _v, force, next_p, next_v):
    return -next_p * next_p - 0.1 * next_v * next_v - 0.1 * force * force


@spaql.reset
def displaced(u1, u2):
    return 2.0 * u1 - 1.0, u2 - 0.5, 2.0 * u1 - 1.0, u2 - 0.5


@spaql.step
def push(p, v, _seen_p, _seen_v, force, u1, u2, u3, u4, gust, noise):
    """A mass of 1 kg without friction for 0.1 s; gusts push it, position and velocity are measured with noise."""
    z1, z2 = normal(u1, u2)
    z3, _ = normal(u3, u4)
    a = force + gust * z3
    p, v = p + 0.1 * v + 0.005 * a, v + 0.1 * a
    seen_p, seen_v = p + noise * z1, v + noise * z2
    return (p, v, seen_p, seen_v), mass_reward(0.0, 0.0, force, seen_p, seen_v), False


@spaql.observe
def mass_measured(_p, _v, seen_p, seen_v):
    return seen_p, seen_v


def double_integrator_noise(gust=0.3, noise=0.05):
    return spaql.from_plant(
        displaced, push, observe=mass_measured, name="double integrator", horizon=60, reference=(0.0, 0.0),
        state=[spaql.Axis("position", slope=0.5, unit="m"), spaql.Axis("velocity", slope=0.5, unit="m/s")],
        actions=spaql.Continuous((-1.0,), (1.0,), ("force",), ("N",)),
        parameters={"gust": gust, "noise": noise}, reward=mass_reward,
    )  # fmt: skip


def mass_regulator(problem):
    """LQR: of what is measured, as if that were the state."""
    a, b, q, r = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.005], [0.1]]), np.diag([1.0, 0.1]), np.array([[0.1]])
    p = solve_discrete_are(a, b, q, r)
    return law(problem, -np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a), [0.0])


PLANTS = {
    "cstr": (cstr, cstr_regulator),
    "four_tanks": (four_tanks, tanks_regulator),
    "planar_quadrotor": (planar_quadrotor, None),
    "double_integrator_noise": (double_integrator_noise, mass_regulator),
}
if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plant", nargs="*", choices=[*PLANTS, []], help="all, if none is named")
    for name in parser.parse_args().plant or PLANTS:
        make, regulator = PLANTS[name]
        problem = make()
        print(problem)
        print(f"  random: {spaql.Random(problem).evaluate(FRESH, seed=FIRST_SEED).mean:.3f}")
        if regulator is not None:
            policy = regulator(problem)
            found = policy.evaluate(FRESH, seed=FIRST_SEED)
            print(f"  hand-made: {found.mean:.4f}, median {np.median(found.returns):.4f}")
            print(policy.to_text(share=False), flush=True)
