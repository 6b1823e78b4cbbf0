"""The five lines, then the same with a Gymnasium environment.

python examples/quickstart.py
"""

import spaql


def cartpole() -> None:
    agent = spaql.Laws(spaql.make("cartpole-fitted"), max_leaves=1, seed=0)
    agent.learn(samples=2_000_000, progress=True)
    print(agent.policy().to_text(share=False))
    print(agent.evaluate(episodes=1000))
    agent.save("cartpole.spaql")
    print("push", agent.predict([0.0, 0.1, 0.05, 0.0])[0], "for a cart that drifts right under a pole that leans right")


def mountain_car() -> None:
    """Any environment with a vector of observations; this one stops after 200 steps or at the top of the hill."""
    problem = spaql.from_gym("MountainCar-v0", rollouts=5)
    agent = spaql.SPAQL(problem, xi=10.0, seed=0)
    agent.learn(iterations=50, progress=True)
    print(f"MountainCar-v0, fresh: {agent.evaluate(episodes=50)}")


def main() -> None:
    cartpole()
    mountain_car()


if __name__ == "__main__":
    main()
