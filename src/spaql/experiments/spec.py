"""One run of an experiment: what it is, and the key under which its result is kept."""

import functools
import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spaql.plants.catalog import CATALOG

# The rooms and files that decide about the bits of a result. Editing one gives every run a new key.
DECIDING = (
    "plants", "partition", "learners", "training", "streams.py", "fastmath.py", "compiling.py", "experiments/running.py",
    "experiments/checkpoints.py",
)  # fmt: skip
DECIDING_TRPO = (*DECIDING, "experiments/trpo.py")
DECIDING_RIVALS = (*DECIDING, "experiments/rivals.py", "experiments/lockstep.py")
NOT_ATLAS = ("analysis", "report", "cli", "experiments", "data", "callbacks.py")  # it plans, searches and explains: all else takes part
RIVALS = ("SAC", "DQN", "PPO")
COST = {"Atlas": 30_000.0, "SAC": 1e6, "DQN": 5e4, "PPO": 2e4}  # of a sample, in plant steps

Option = float | int | bool | str


@dataclass(frozen=True)
class Spec:
    """A run is a pure function of these fields and of the code."""

    problem: str
    algorithm: str
    seed: int
    iterations: int
    rollouts: int  # evaluation rollouts per iteration
    fresh: int  # episodes of the re-evaluation on fresh seeds
    options: tuple[tuple[str, Option], ...] = ()  # keyword arguments of the learner
    checkpoints: tuple[int, ...] = ()  # numbers of samples, all counted, at which the agent is looked at; the last ends the run
    leaves: int = 0  # of the small tree made at the last checkpoints; 0 for none

    @property
    def xi(self) -> float | None:
        xi = dict(self.options).get("xi")
        return None if xi is None else float(xi)

    @property
    def code(self) -> str:
        return code_version(self.algorithm)

    @property
    def key(self) -> str:
        return self.key_by(self.code)

    def key_by(self, code: str) -> str:
        """The key of the run as computed by this version of the code."""
        fields = asdict(self)
        if not self.checkpoints:  # the key is that of the time before there were any
            fields = {name: value for name, value in fields.items() if name not in ("checkpoints", "leaves")}
        text = json.dumps(fields | {"code": code}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def steps(self) -> float:
        """Plant steps the run will take at most: what the progress bars count in."""
        horizon = float(CATALOG[self.problem].horizon if self.problem in CATALOG else 200)
        if self.checkpoints:
            return COST.get(self.algorithm, 1.0) * self.checkpoints[-1] + horizon * self.fresh * len(self.checkpoints)
        return horizon * (self.iterations * (self.rollouts + 1) + self.fresh)

    def __str__(self) -> str:
        options = "".join(f", {name} = {value:g}" if isinstance(value, float) else f", {name} = {value}" for name, value in self.options)
        return f"{self.algorithm} on {self.problem}{options}, seed {self.seed}"


def spec_from(data: dict[str, Any]) -> Spec:
    """A Spec from its JSON form."""
    options = tuple((str(name), value) for name, value in data["options"])
    spec = Spec(**(data | {"options": options, "checkpoints": tuple(data.get("checkpoints", ()))}))
    counts = (spec.seed, spec.iterations, spec.rollouts, spec.fresh, spec.leaves, *spec.checkpoints)
    known = all(isinstance(value, float | int | bool | str) for _, value in options)
    if (
        not known
        or not all(isinstance(text, str) for text in (spec.problem, spec.algorithm))
        or not all(isinstance(n, int) for n in counts)
    ):
        raise ValueError(f"not a run: {data}")
    return spec


@functools.cache
def code_version(algorithm: str) -> str:
    """Hash of the source that decides about the results of an algorithm. Versions of libraries are not in it."""
    package, digest = Path(__file__).parent.parent, hashlib.sha256()
    names: tuple[str, ...] = DECIDING_TRPO if algorithm == "TRPO" else DECIDING_RIVALS if algorithm in RIVALS else DECIDING
    if algorithm == "Atlas":
        names = (*sorted(path.name for path in package.iterdir() if path.name not in NOT_ATLAS), *DECIDING[-2:])
    for name in names:
        path = package / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(str(file.relative_to(package)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]
