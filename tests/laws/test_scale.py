"""What differences of a return are measured by, when laws are chosen and tidied in a model."""

from spaql.laws.judge import scale_of


def test_it_is_the_way_from_the_best_constant_action():
    assert scale_of(mean=-150.0, floor=-1200.0, most=0.0) == 1050.0


def test_where_every_constant_action_is_a_disaster_it_is_what_is_missing_to_the_best():
    """A quadrotor falls without a controller: a thousandth of that fall is much of what a regulator may lose."""
    assert 80.0 <= scale_of(mean=-8.0, floor=-3000.0, most=0.0) < 150.0


def test_it_is_positive_for_laws_that_miss_nothing_so_that_simpler_ones_can_tie():
    assert 0.0 < scale_of(mean=500.0, floor=20.0, most=500.0) < 20.0


def test_it_is_nothing_for_laws_that_are_no_better_than_a_constant_action():
    assert scale_of(mean=-3.0, floor=-3.0, most=0.0) == 0.0
    assert scale_of(mean=-4.0, floor=-3.0, most=0.0) == 0.0
