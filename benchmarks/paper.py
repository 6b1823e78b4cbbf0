"""CPU seconds of the runs of the paper, this version against another: `python benchmarks/paper.py COMMIT [ROUNDS]`.

Both versions compute the same sample of the 2,700 runs in turn, in one process each and with all code compiled; the
shortest of the rounds counts, and stands for all runs of its kind. Every run must be the same to the last bit. The
report is not in it: `spaql reproduce --json` says how long it takes.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from versions import ROOT, source_of

SAMPLE = """
import hashlib, json, sys, tempfile, time
from pathlib import Path
from spaql_studies.runs.compute import agent_of
from spaql_studies.runs.compute import compute
from spaql_studies.runs.rows import RESULT
from spaql_studies.runs.store import Store
from spaql_studies.study import WHOLE
from spaql_studies.parts import chosen_parts, specs_of

SHARE = 20  # of the runs of a kind, one is computed

def timed(work):
    begin = time.process_time()
    return work(), time.process_time() - begin

def sample(store):
    seconds, digest = {}, hashlib.sha256()
    for part in chosen_parts([]):
        specs = specs_of(part, WHOLE)
        for algorithm in dict.fromkeys(spec.algorithm for spec in specs):
            kind = [spec for spec in specs if spec.algorithm == algorithm]
            some = kind[:: SHARE]
            compute(some[0])  # compiles, or loads what is compiled
            spent = seconds.setdefault(f"{part.experiment}, {part.problem.split('-')[0]}", dict.fromkeys(("learning", "around it", "writing"), 0.0))
            for spec in some:
                row, whole = timed(lambda: compute(spec))
                _, writing = timed(lambda: store.write(spec, row))
                learning = float(row["cpu_curve"][0])
                for name, took in (("learning", learning), ("around it", whole - learning), ("writing", writing)):
                    spent[name] += took * len(kind) / len(some)
                for name in RESULT:
                    if name not in ("key", "code"):
                        value = row[name]
                        digest.update(name.encode() + (value.tobytes() if hasattr(value, "tobytes") else json.dumps(value).encode()))
    return {"seconds": seconds, "digest": digest.hexdigest()}

with tempfile.TemporaryDirectory() as folder:
    print(json.dumps(sample(Store(Path(folder) / "store"))))
"""


def measured(source: Path) -> dict:
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([sys.executable, "-c", SAMPLE], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def shortest(rounds: list[dict]) -> dict:
    """Of every figure."""
    return {kind: {what: min(one["seconds"][kind][what] for one in rounds) for what in spent} for kind, spent in rounds[0]["seconds"].items()}


def main(commit: str, rounds: int = 2) -> None:
    with source_of(commit) as source:
        then, now = [], []
        for _ in range(rounds):
            then.append(measured(source))
            now.append(measured(ROOT / "src"))
    if len({one["digest"] for one in then + now}) > 1:
        sys.exit("the runs are not the same")
    before, after = shortest(then), shortest(now)
    whats = next(iter(after.values()))
    print(f"{'CPU s, then and now':22}" + "".join(f"{what:>22}" for what in (*whats, "all")))
    for kind in [*after, "all"]:
        kinds = list(after) if kind == "all" else [kind]
        pairs = [[sum(version[one][what] for one in kinds) for version in (before, after)] for what in whats]
        pairs.append([sum(pair[place] for pair in pairs) for place in (0, 1)])
        print(f"{kind:22}" + "".join(f"{old:9.1f}{new:7.1f}{new / old:6.2f}" for old, new in pairs))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], *map(int, sys.argv[2:3]))
