"""One run of an experiment: what it is, and the key under which its result is kept."""

import functools
import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# The rooms and files that decide about the bits of a result. Editing one gives every run a new key.
DECIDING = ("plants", "partition", "learners", "training", "streams.py", "fastmath.py", "compiling.py", "experiments/running.py")
DECIDING_TRPO = (*DECIDING, "experiments/trpo.py")


@dataclass(frozen=True)
class Spec:
    """A run is a pure function of these fields and of the code."""

    problem: str
    algorithm: str
    seed: int
    iterations: int
    rollouts: int  # evaluation rollouts per iteration
    fresh: int  # episodes of the re-evaluation on fresh seeds
    options: tuple[tuple[str, float], ...] = ()  # keyword arguments of the learner

    @property
    def xi(self) -> float | None:
        return dict(self.options).get("xi")

    @property
    def code(self) -> str:
        return code_version(self.algorithm)

    @property
    def key(self) -> str:
        return self.key_by(self.code)

    def key_by(self, code: str) -> str:
        """The key of the run as computed by this version of the code."""
        text = json.dumps(asdict(self) | {"code": code}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    @property
    def steps(self) -> float:
        """Plant steps the run will take at most: what the progress bars count in."""
        return 200.0 * (self.iterations * (self.rollouts + 1) + self.fresh)

    def __str__(self) -> str:
        options = "".join(f", {name} = {value:g}" for name, value in self.options)
        return f"{self.algorithm} on {self.problem}{options}, seed {self.seed}"


def spec_from(data: dict[str, Any]) -> Spec:
    """A Spec from its JSON form."""
    spec = Spec(**(data | {"options": tuple((str(name), float(value)) for name, value in data["options"])}))
    counts = (spec.seed, spec.iterations, spec.rollouts, spec.fresh)
    if not all(isinstance(text, str) for text in (spec.problem, spec.algorithm)) or not all(isinstance(n, int) for n in counts):
        raise ValueError(f"not a run: {data}")
    return spec


@functools.cache
def code_version(algorithm: str) -> str:
    """Hash of the source that decides about the results of an algorithm. Versions of libraries are not in it."""
    package, digest = Path(__file__).parent.parent, hashlib.sha256()
    for name in DECIDING_TRPO if algorithm == "TRPO" else DECIDING:
        path = package / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(str(file.relative_to(package)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]
