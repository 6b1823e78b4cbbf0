# One command each. Needs Python 3.11 or newer and make; everything else is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
# Images of containers often set this. Then every process would compile all sources of ours again, and every worker of
# pytest all tests: 6 seconds per worker and a third of a second per program started. Empty means unset to Python.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup check test test-all demo paper trpo rivals bench docs clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## */make \1|/' | awk -F'|' '{printf "  %-14s %s\n", $$1, $$2}'

setup: .venv/.ready  ## install into .venv (again only when pyproject.toml has changed)

# Python compiles the modules that are imported, which are few of those that pip would compile: half a minute less.
# Two stamps, so that `make demo` after `make test` installs nothing again, and Torch comes only with `make test-all`.
.venv/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "spaql needs Python 3.11 or newer: '$(PYTHON)' is $$($(PYTHON) --version 2>/dev/null || echo missing). Try: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -e '.[dev]'
	@touch $@

.venv/.torch: .venv/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[long]' torch==2.13.0 sb3-contrib stable-baselines3
	@touch $@

.venv/.docs: .venv/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

# The core: trees, partitions, the common checks of every learner and plant, golden files; no browser, no stores.
CORE := ground partition trees policy learners/test_every_card.py learners/test_every_learner.py \
  learners/test_every_learner_acting.py learners/test_golden.py learners/test_kept_files.py learners/test_history.py \
  learners/test_outer_loop.py learners/test_predict.py learners/test_update.py learners/test_save_load.py \
  plants/test_every_plant.py plants/test_environments.py training/test_evaluate.py \
  training/test_kernel_borders.py training/test_determinism.py

check: .venv/.ready  ## lint, types and the tests of the core, for daily work: under a minute once all is compiled
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto --dist worksteal $(addprefix tests/,$(CORE)) --ignore tests/partition/test_dimensions.py

test: .venv/.ready  ## lint, types, tests
	$(BIN)/ruff check .
	@echo "mypy, beside it tests/compile_first.py and the tests"
	@$(BIN)/mypy & types=$$!; $(BIN)/python tests/compile_first.py && $(BIN)/pytest -n auto --dist worksteal && wait $$types

test-all: .venv/.torch .venv/.docs  ## the same with the long tests and those that need Torch (which it installs)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tests/compile_first.py
	$(BIN)/pytest --slow -n auto --dist worksteal

demo: .venv/.ready  ## the paper in small, under a minute: tables, figures and a page to open
	$(BIN)/spaql reproduce --quick --store demo

paper: .venv/.ready  ## the whole paper: 20 agents per experiment, all figures and tables, into results/
	$(BIN)/spaql reproduce --store results

trpo: .venv/.torch  ## TRPO's 40 runs again (about an hour on one core), into the file that ships with the package
	$(BIN)/spaql reproduce --only trpo --store results/trpo
	$(BIN)/python -m spaql_studies.load results/trpo

rivals: .venv/.torch  ## the same for SAC, DQN and PPO, against which Atlas is held (some hours)
	$(BIN)/spaql reproduce --only rivals --store results/rivals
	$(BIN)/python -m spaql_studies.load results/rivals rivals

bench: .venv/.ready  ## measure the speed
	$(BIN)/spaql bench

docs: .venv/.docs  ## the documentation site, into build/site: open build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:  ## remove all that make has made, .venv included
	rm -rf .venv demo results build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
