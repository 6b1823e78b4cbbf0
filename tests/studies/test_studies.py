"""Studies: a folder and one line. Everything else finds them by itself."""

import re
from itertools import chain

import pytest

from made_pages import sample_results
from spaql.ground.errors import SpaqlError
from spaql_studies.commands import NAMES
from spaql_studies.figures import drawings
from spaql_studies.page import tables_of
from spaql_studies.parts import (
    EXPERIMENTS,
    all_parts,
    chosen_parts,
    experiments,
    needed_parts,
    specs_of,
    stages_of,
    studies,
    title_of,
)
from spaql_studies.study import QUICK, WHOLE, Part, part_of


def test_the_list_names_the_experiments_that_the_studies_have():
    assert {study.name: tuple(one.name for one in study.experiments) for study in studies()} == EXPERIMENTS
    assert ", ".join(experiments()) == NAMES


def test_names_are_used_once():
    for names in (
        [name for words in EXPERIMENTS.values() for name in words],
        [section.anchor for study in studies() for section in study.sections],
        [drawing.name for study in studies() for drawing in study.figures],
        [table.name for table in chain(*tables_of(sample_results()).values())],
    ):
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("part", all_parts(), ids=str)
def test_a_part_is_found_by_its_text_and_has_a_title_and_runs(part):
    assert part_of(str(part)) == part
    assert chosen_parts((str(part),)) == [part]
    assert title_of(part)
    if not needed_parts([part]):
        quick, whole = (sum(spec.steps for spec in specs_of(part, effort)) for effort in (QUICK, WHOLE))
        assert 0 < quick < whole


def test_a_part_reads_as_its_file_and_its_word():
    assert f"{Part('main', 'pendulum-5')}" == "main-pendulum-5"
    assert part_of("main-pendulum-5") == Part("main", "pendulum-5")


def test_tuned_takes_the_place_of_main_after_what_it_needs():
    parts = chosen_parts(("main-pendulum-5", "random-pendulum"), tuned=True)
    assert parts == [Part("tuned", "pendulum-5"), Part("random", "pendulum")]
    assert stages_of(parts) == [[Part("scaling", "pendulum")], parts]
    assert stages_of(chosen_parts(("main",))) == [chosen_parts(("main",))]


def test_an_unknown_word_is_answered_with_those_there_are():
    with pytest.raises(SpaqlError, match=f"unknown experiment 'mine': choose from {NAMES} or one part"):
        chosen_parts(("mine",))


def test_figures_are_numbered_by_their_place():
    assert [int(name[:2]) for name in drawings()] == list(range(1, len(drawings()) + 1))
    assert all(re.fullmatch(r"\d\d-[a-z0-9-]+", name) for name in drawings())


def test_every_table_of_a_study_is_in_one_of_its_sections():
    tables = tables_of(sample_results())
    for study in studies():
        rest = sum(section.tables is None for section in study.sections)
        named = {name for section in study.sections for name in section.tables or ()}
        assert rest == 1 or {table.name for table in tables[study.name]} <= named
