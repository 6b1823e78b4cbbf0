"""The way of the data is the order of the folders: imports go down it, and the few doors up are listed here.

Two packages: the library `spaql`, and above it the research, `spaql_studies`. Files of the library are named by their
place in it, those of the other package by their place in `src`.
"""

import ast
import functools
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import spaql

PACKAGE = Path(spaql.__file__).parent
STUDIES = "spaql_studies"
PACKAGES = ("spaql", STUDIES)
ROOT = Path(__file__).parents[2]
# A folder may import from itself and from those before it. "ground" are the modules that all share.
ORDER = (
    "ground", "trees", "plants", "gp", "partition", "policy", "learners", "training", "cuda", "analysis", "compress", "proofs", "laws", "data", "tuning", "export",
    "report", "rig", "cli", "spaql_studies/runs", STUDIES, "spaql_studies/commands", "spaql",
)  # fmt: skip
FACADE = ("__init__.py", "callbacks.py")  # modules of the root that stand above all folders
# Agents and policies are facades: `agent.learn()` and `policy.to_c()` call what is built on them, and import it when
# they are called. Nothing else may import against the order.
DOORS = {
    ("learners/agent.py", "training/trainer.py"),
    ("learners/agent.py", "data/record.py"),
    ("learners/atlas/learner.py", "laws/trust.py"),
    ("learners/atlas/local_model.py", "export/packages.py"),
    ("training/acceptance.py", "laws/race.py"),
    ("learners/atlas/atlas_controller.py", "laws/in_model.py"),
    ("learners/forest_agent.py", "training/forest_loop.py"),
    ("policy/policy.py", "training/closed_loop.py"),
    ("training/closed_loop.py", "cuda/card_rollouts.py"),
    ("training/falsify.py", "cuda/card_rollouts.py"),
    ("policy/probes.py", "proofs/prove.py"),
    ("policy/policy.py", "proofs/check_proof.py"),
    ("training/episode.py", "analysis/episode_figure.py"),
    ("policy/probes.py", "training/falsify.py"),
    ("policy/probes.py", "training/episode.py"),
    ("policy/probe_results.py", "analysis/control_figures.py"),
    ("policy/probe_results.py", "analysis/episode_figure.py"),
    ("policy/policy.py", "laws/law_compression.py"),
    ("policy/policy.py", "compress/frontier.py"),
    ("policy/policy.py", "export/__init__.py"),
    ("policy/policy.py", "export/json_form.py"),
    ("policy/policy.py", "export/packages.py"),
    ("policy/controller.py", "training/closed_loop.py"),
    ("policy/controller.py", "learners/laws.py"),
    ("cli/__init__.py", "spaql_studies/commands.py"),
    ("cli/train_text.py", "spaql_studies/paper/tables.py"),
}
# Texts by which the library knows the other package: `spaql.sweep`, homes of rivals
KNOWN_BY_TEXT = {"__init__.py", "learners/registry.py"}
# Facades also import from their own folder when they are called, because what they call knows them.
OWN_DOORS = {
    ("learners/agent.py", "learners/files.py"), ("gp/model_plant.py", "gp/scalar_form.py"),
    ("proofs/proof.py", "analysis/control_figures.py"),  # draws, which loads matplotlib
}  # fmt: skip


class Arrow(NamedTuple):
    source: str  # file
    target: str
    lazy: bool  # inside a function
    line: int


def folder_of(file):
    """The longest place in the order that a file is in."""
    places = [place for place in ORDER if file.removesuffix(".py") == place or file.startswith(f"{place}/")]
    return max(places, key=len, default="spaql" if file in FACADE else "ground")


def name_of(path):
    return path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else PACKAGE.parent).as_posix()


@functools.cache
def text_of(file):
    return ((PACKAGE.parent if file.startswith(STUDIES) else PACKAGE) / file).read_text("utf-8")


@functools.cache
def module_of(file):
    """Its syntax tree: parsed once for all tests."""
    return ast.parse(text_of(file))


@functools.cache
def nodes_of(file):
    return list(ast.walk(module_of(file)))


@functools.cache
def files():
    return sorted(name_of(path) for package in PACKAGES for path in (PACKAGE.parent / package).rglob("*.py"))


@functools.cache
def target_of(module):
    """The file of a module of ours, or None."""
    place = PACKAGE.parent.joinpath(*module.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.exists() and (path.name == "__init__.py" or len(module.split(".")) > 1):
            return name_of(path)
    return None


def modules_in(statement):
    """The modules of ours that an import statement names."""
    if isinstance(statement, ast.Import):
        return [name.name for name in statement.names if name.name.split(".")[0] in PACKAGES]
    if statement.module is None or statement.module.split(".")[0] not in PACKAGES:
        return []
    named = [f"{statement.module}.{name.name}" for name in statement.names]
    return [module if target_of(module) else statement.module for module in named]


def arrows_from(file):
    """All imports that can happen at run time: not those under `if TYPE_CHECKING`."""

    def walk(node, lazy):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            if isinstance(child, ast.Import | ast.ImportFrom):
                for module in modules_in(child):
                    yield Arrow(file, target_of(module), lazy, child.lineno)
            yield from walk(child, lazy or isinstance(child, ast.FunctionDef | ast.Lambda))

    return list(walk(module_of(file), False))


def against_the_order(arrow):
    return ORDER.index(folder_of(arrow.target)) > ORDER.index(folder_of(arrow.source))


@functools.cache
def arrows():
    return [arrow for file in files() for arrow in arrows_from(file)]


def test_every_folder_has_a_place_in_the_order():
    assert {folder_of(file) for file in files()} == set(ORDER)


def test_imports_follow_the_order_of_the_folders():
    wrong = [arrow for arrow in arrows() if against_the_order(arrow) and not arrow.lazy]
    assert not wrong


def test_what_a_facade_calls_above_itself_is_listed():
    assert {arrow[:2] for arrow in arrows() if against_the_order(arrow) and arrow.lazy} == DOORS


def test_the_library_knows_no_study_but_by_its_doors():
    """The research needs the library, and not the other way round."""
    by_import = {source for source, target in DOORS if target.startswith(STUDIES)}
    library = [file for file in files() if not file.startswith(STUDIES)]
    assert {file for file in library if STUDIES in text_of(file)} == by_import | KNOWN_BY_TEXT
    at_the_top = [arrow for arrow in arrows() if arrow.source in library and arrow.target.startswith(STUDIES) and not arrow.lazy]
    assert not at_the_top


# Imports inside functions that go down the order: heavy modules that a command may not need. Each folder has its reason.
LAZY = {
    "cli": "`spaql --help` must not load what a command needs",
    "analysis": "Matplotlib and SciPy's statistics are loaded when something is drawn or tested",
    "report": "figures are loaded when something is drawn",
    STUDIES: "figures are loaded when something is drawn",
    "spaql_studies/runs": "what only some runs need",
    "spaql_studies/commands": "`spaql --help` must not load what a command needs",
    "spaql": "names of `spaql` are loaded when they are used",
}


@pytest.mark.parametrize("folder", [name for name in ORDER if name not in LAZY])
def test_a_folder_without_a_reason_imports_at_the_top(folder):
    inside = [arrow for arrow in arrows() if arrow.lazy and folder_of(arrow.source) == folder]
    assert {arrow[:2] for arrow in inside} <= DOORS | OWN_DOORS


def test_no_circle_of_imports_at_the_top():
    graph = {file: set() for file in files()}
    for arrow in arrows():
        if not arrow.lazy and arrow.target != arrow.source:
            graph[arrow.source].add(arrow.target)
    done, path = set(), []

    def visit(file):
        assert file not in path, f"a circle: {' -> '.join([*path, file])}"
        if file not in done:
            path.append(file)
            for target in sorted(graph[file]):
                visit(target)
            done.add(path.pop())

    for file in graph:
        visit(file)


NUMBA = "ground/numba_public.py"  # imports its public names, for all modules
NUMBA_INTERNALS = "ground/numba_internals.py"  # imports its private ones, which nobody else uses
NUMBA_PUBLIC = {"numba", "numba.extending"}  # modules that numba documents
NUMBA_ATTRIBUTES = {"__file__", "__version__", "cfunc", "config", "njit", "typeof"}


def test_numba_is_imported_in_two_files_and_its_private_interfaces_in_one():
    for file in files():
        for node in nodes_of(file):
            named = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            named += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            found = {name for name in named if name.split(".")[0] == "numba"}
            assert not found or file in (NUMBA, NUMBA_INTERNALS), f"{file}, line {node.lineno}: import from {NUMBA}"
            assert file == NUMBA_INTERNALS or found <= NUMBA_PUBLIC, f"{file}, line {node.lineno}: {found} is private"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "numba":
                assert node.attr in NUMBA_ATTRIBUTES, f"{file}, line {node.lineno}: numba.{node.attr} is not known as public"


def test_a_file_can_be_read_in_one_sitting():
    long = {file: n for file in files() if (n := len(text_of(file).splitlines())) > 300}
    assert not long


def test_no_test_imports_from_a_file_of_tests():
    """What several files of tests need stands in modules beside their folders."""
    tests = Path(__file__).parents[1]
    for path in tests.rglob("*.py"):
        named = re.findall(r"^\s*(?:from|import)\s+(?:\w+\.)*(test_\w+)", path.read_text("utf-8"), re.MULTILINE)
        assert set(named) <= {path.stem}, f"{path.relative_to(tests)} imports {named[0]}"


def test_a_class_name_stands_for_one_thing():
    """But for `Parameters`, which each plant of the library has."""
    homes = {}
    for file in files():
        for node in module_of(file).body:
            if isinstance(node, ast.ClassDef) and not file.startswith("plants/library/"):
                homes.setdefault(node.name, []).append(file)
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_the_root_has_no_machinery():
    assert {file for file in files() if "/" not in file} == {"__init__.py", "__main__.py", "callbacks.py", "version.py"}


def test_modules_are_joined_where_they_have_one_subject():
    """A ratchet: whoever splits a file joins two others."""
    proofs = {file for file in files() if file.startswith("proofs/")}
    assert len(proofs) <= 41
    assert len(set(files()) - proofs) <= 305


PRONOUNS = {"one", "found", "told", "made"}  # names that say nothing of what they stand for


def test_names_are_nouns():
    """Whoever touches a function gives its variables names."""
    nodes = (node for file in files() for node in nodes_of(file))
    named = (node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    assert not [name for name in named if name in PRONOUNS]


def test_a_file_name_stands_for_one_thing():
    """A ratchet."""
    names = Counter(file.split("/")[-1] for file in files() if not file.endswith("__init__.py"))
    assert sum(count > 1 for count in names.values()) <= 7


TUNED = ("laws", "gp", "learners/atlas", "compress")


def test_few_numbers_are_tuned():
    """A ratchet: numbers at the top of the modules that search. A rule that needs a number of its own must be worth it."""
    count = 0
    for file in files():
        for node in module_of(file).body if file.startswith(TUNED) else ():
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                count += sum(isinstance(part, ast.Constant) and type(part.value) in (int, float) for part in ast.walk(node.value))
    assert count <= 293


def test_files_that_comments_name_are_there():
    """What was moved or joined is called by its new name; `of others` are files of other projects and of users."""
    of_others = {"paid.py", "motor.py", "policy_eval.py", "plant.py", "FILE.py"}
    there = {path.name for folder in ("src", "tests", "benchmarks", "docs", "examples") for path in (ROOT / folder).rglob("*.py")}
    named = {(file, name) for file in files() for name in re.findall(r"\b\w+\.py\b", text_of(file))}
    assert {(file, name) for file, name in named if name not in there | of_others} == set()


def test_tests_that_take_long_are_listed_by_their_names():
    tests = Path(__file__).parents[1]
    lines = [line.split()[1] for line in (tests / "few.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines == sorted(set(lines), key=lines.index)
    for file, name in (line.split("::") for line in lines):
        assert f"def {name}(" in (tests / file).read_text(), f"{file} has no {name}: correct tests/few.txt"
