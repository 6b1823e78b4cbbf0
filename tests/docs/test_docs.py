"""What the documentation shows works: code blocks run, commands exist, links lead somewhere, equations stand beside real code."""

import ast
import io
import os
import re
import subprocess
import sys
import textwrap
import tokenize

import pytest

import command_line
from made_runs import made_part
from page_checks import LEARNS
from pages import PAGES, ROOT, blocks_of, commands_of, indented_commands, program_of, promise_of
from spaql_studies.runs.rows import write_rows
from spaql_studies.study import QUICK, Part

LINK = re.compile(r"\[([^\]\n]*)\]\(([^)\s]+)\)")
CODE_LINK = re.compile(r"\]\(\.\./((?:src|examples)/[\w./-]+\.py)(?:#([\w.]+))?\)")
EQUATION = re.compile(r"^\| \((\d+)\) \|.* \| `([^`]+)` in \[`[^`]+`\]\(\.\./(src/[\w./-]+\.py)#([\w.]+)\)")
NUMBER = re.compile(r"\((\d+)\)")
FIRST = ("index.md", "start.md")  # the other pages are run by `make test-all`
# Reasons for which a block may stand on a page without being run, each with a sign of it in the block
EXCUSES = {
    "it needs Torch": "Torch",
    "it needs a cluster": "dask",
    "it needs the extra foreign": "shimmy",
    "it takes hours": "make",
    "it is a piece of the block below": "...",
}

# What makes the long commands of the README short: the last of two values of an option counts
SMALLER = {
    "train": "--samples 60 --fresh 5",
    "record": "--episodes 2",
    "replay": "--fresh 5",
    "sweep": "--trials 2 --seeds 1 --best 1 --final-seeds 2 --iterations 5 --fresh 10 --jobs 1",
    "reproduce": "--quick --only main-cartpole --seeds 2 --jobs 1 --no-report",
}


def runs(block):
    return block.language in ("python", "console", "sh")


def first_or_slow(pages):
    return [pytest.param(page, id=page.name, marks=() if page.name in FIRST else pytest.mark.slow) for page in pages]


def each(pages):
    return pytest.mark.parametrize("page", pages, ids=lambda page: page.name)


@pytest.mark.parametrize("page", first_or_slow(page for page in PAGES if any(map(runs, blocks_of(page.read_text())))))
def test_the_code_blocks_of_a_page_run_in_order(page, tmp_path):
    program, text = tmp_path / (page.name + ".py"), page.read_text()
    program.write_text(program_of(text))
    if "results/runs" in text:
        (tmp_path / "results" / "runs").mkdir(parents=True)
        write_rows(tmp_path / "results" / "runs" / "made.parquet", made_part(Part("main", "pendulum"), _figure, QUICK))
    if '"motor.fmu"' in text:
        import fmus  # skips the page if there is no FMPy or no C compiler

        fmus.build(tmp_path / "motor.fmu")
    settings = os.environ | {
        "MPLBACKEND": "agg",
        "COLUMNS": "140",
        "PYTHONPATH": os.pathsep.join(map(str, [ROOT / "src", ROOT / "tests", ROOT / "examples", *sys.path[1:]])),
    }
    done = subprocess.run(
        [sys.executable, program], cwd=tmp_path, env=settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{page}:\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"


@pytest.mark.parametrize("smaller", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["smaller", "as printed"])
def test_the_commands_of_the_readme_run_in_order_in_an_empty_folder(smaller, tmp_path, monkeypatch):
    section = (ROOT / "README.md").read_text().partition("## Command line")[2].partition("\n## ")[0]
    monkeypatch.chdir(tmp_path)
    commands = [words[1:] for _, words in indented_commands(section)]
    assert len(commands) > 10
    for words in commands:
        less = SMALLER.get(words[0], "").split() if smaller else []
        less += ["--option", "controller=table"] if less and "atlas" in words else []
        told = command_line.run(*words, *less)
        assert told.returncode == 0, f"spaql {' '.join(words)}: {told.stderr}"


@each(PAGES)
def test_a_block_that_is_not_run_says_why(page):
    for block in blocks_of(page.read_text()):
        if block.excuse is not None:
            assert block.excuse in EXCUSES, f"{page.name}:{block.first}: unknown reason {block.excuse!r}"
            assert EXCUSES[block.excuse] in "\n".join(block.lines), (
                f"{page.name}:{block.first}: no sign of {block.excuse!r}"
            )


@each(PAGES)
def test_every_block_that_learns_says_what_is_earned_or_that_it_warns(page):
    text = page.read_text()
    learning = [block for block in blocks_of(text) if block.excuse is None and LEARNS.search("\n".join(block.lines))]
    assert [f"{page.name}:{block.first}" for block in learning if promise_of(text, block) is None] == []


@each(PAGES)
def test_every_block_names_a_language_that_is_known(page):
    known = {"python", "console", "sh", "c", "text", "yaml"}
    assert [block for block in blocks_of(page.read_text()) if block.language not in known] == []


@each(PAGES)
def test_every_command_shown_has_the_options_it_is_shown_with(page):
    import click
    import typer

    import spaql_studies.commands  # noqa: F401  (as the program does: adds its commands)
    from spaql.cli import app

    group, text = typer.main.get_command(app), page.read_text()
    shown = indented_commands(text)
    for block in blocks_of(text):
        shown += commands_of(block) if block.language in ("console", "sh") else []
    for number, words in shown:
        try:
            with click.Context(group) as context:
                name, command, rest = group.resolve_command(context, words[1:])
                command.make_context(name, [word for word in rest if word != "..."], parent=context)
        except click.UsageError as error:
            pytest.fail(f"{page.name}:{number}: {' '.join(words)}: {error.format_message()}")


@each(PAGES)
def test_links_and_pictures_lead_to_files(page):
    for text, target in LINK.findall(page.read_text()):
        path = target.partition("#")[0]
        if path and "://" not in path:
            assert (page.parent / path).exists(), f"{page.name} links {target}"
            assert not text.endswith(".py") or path.endswith(text.replace("\\", "")), f"{page.name} calls {target} {text}"


@each(PAGES)
def test_code_named_beside_an_equation_exists(page):
    """A link `file.py#function` names a function of that file; code in the same cell of a table is a line of that function."""
    for line in page.read_text().splitlines():
        for cell in line.split(" | "):
            for name, symbol in CODE_LINK.findall(cell):
                source = _source(name, symbol) if symbol else (ROOT / name).read_text()
                for code in re.findall(r"(?<!\[)`([^`]+)`(?!\])", cell) if " | " in line else ():
                    assert code in source, f"{page.name}: {name}#{symbol} has no {code!r}"


@each([page for page in PAGES if "\n| (" in page.read_text()])
def test_a_numbered_equation_has_its_number_at_its_line_of_code(page):
    """The line of code shown beside an equation ends with a comment `# (number)`, or its function's docstring begins so."""
    rows = [line for line in page.read_text().splitlines() if re.match(r"\| \(\d+\) ", line)]
    for row in rows:
        assert EQUATION.match(row), f"{page.name}: no line of code in a function beside {row[:60]}"
        number, code, name, symbol = EQUATION.match(row).groups()
        source = _source(name, symbol)
        docstring = ast.get_docstring(ast.parse(source).body[0]) or ""
        lines = [line for line in source.splitlines() if code in line]
        at_line = any(f"# ({number})" in line.partition(code)[2] for line in lines)
        assert at_line or docstring.startswith(f"({number})"), f"{page.name}: {name}#{symbol} has no ({number}) at {code!r}"


def test_an_equation_number_in_the_code_is_on_the_page_of_that_code():
    """A number in a file is on a page that shows a line of this file; in a file of which no page shows one, on any page."""
    named, anywhere = _numbers_by_file()
    for source in (ROOT / "src" / "spaql").rglob("*.py"):
        name = str(source.relative_to(ROOT))
        unknown = _numbers_in(source.read_text()) - named.get(name, anywhere)
        assert not unknown, f"{name}: no page that shows a line of it has the equations {sorted(unknown)}"


def test_equations_are_numbered_without_gaps():
    _, anywhere = _numbers_by_file()
    assert sorted(anywhere) == list(range(1, len(anywhere) + 1))


def _numbers_by_file():
    """By source file: the equations of the pages that show a line of it. And the equations of all pages."""
    named, anywhere = {}, set()
    for page in PAGES:
        rows = [found.groups() for found in map(EQUATION.match, page.read_text().splitlines()) if found]
        numbers = {int(number) for number, *_ in rows}
        anywhere |= numbers
        for _, _, name, _ in rows:
            named[name] = named.get(name, set()) | numbers
    return named, anywhere


def _numbers_in(text):
    """The equation numbers with which comments and docstrings begin."""
    commented = re.search(r"#[# ]*\(\d", text)  # else there is no need to take the text apart, which takes long
    tokens, nodes = tokenize.generate_tokens(io.StringIO(text if commented else "").readline), ast.walk(ast.parse(text))
    remarks = [token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT]
    remarks += [ast.get_docstring(node) or "" for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return {int(found[1]) for found in map(NUMBER.match, remarks) if found}


def _figure(spec):
    """Best seen and fresh of a run made by hand: pages that read the store of `spaql reproduce` find one."""
    return float(len(spec.algorithm) + spec.seed), float(len(spec.algorithm) - spec.seed)


def _source(name, symbol):
    """The text of a function, class or method, or of a constant of the module."""
    text = (ROOT / name).read_text()
    node = ast.parse(text)
    for part in symbol.split("."):
        inner = [child for child in node.body if getattr(child, "name", None) == part]
        assert inner, f"{name} has no {symbol}"
        node = inner[0]
    return textwrap.dedent("\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno]))
