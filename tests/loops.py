"""A motor for tests of loops: two variables, one input, no noise of its own."""

import spaql

AXES = [spaql.Axis("speed", -300.0, 300.0, unit="rad/s"), spaql.Axis("current", -60.0, 60.0, unit="A")]


@spaql.reset
def start(u):
    return 20.0 * u, 0.0


@spaql.step
def spin(speed, current, voltage):
    for _ in range(10):
        current = current + 0.1 * (voltage - current - 0.1 * speed)
        speed = speed + 0.1 * current - 0.001 * speed - 0.02
    speed = min(max(speed, -300.0), 300.0)
    current = min(max(current, -60.0), 60.0)
    return (speed, current), -0.01 * abs(speed), False


def motor(horizon=60):
    actions = spaql.Continuous((-24.0,), (24.0,), ("voltage",), ("V",))
    return spaql.from_plant(start, spin, state=AXES, actions=actions, horizon=horizon, name="motor")


def steps(problem, actions, seed=0):
    """Observations (one more), rewards and ends of an episode with these actions."""
    env = spaql.plants.environment.PlantEnv(problem) if problem.plant is not None else problem.open_env()
    observation, _ = env.reset(seed=seed)
    rows, rewards, ends = [dict(zip([axis.name for axis in problem.state], observation.tolist(), strict=True))], [], []
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step([action])
        rows.append(dict(zip([axis.name for axis in problem.state], observation.tolist(), strict=True)))
        rewards.append(reward)
        ends.append(terminated)
        if terminated or truncated:
            break
    return rows, rewards, ends
