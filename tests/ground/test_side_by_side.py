"""Work side by side: parts that cover all, in order, and what they give."""

import pytest

from spaql.ground import workers


@pytest.mark.parametrize(("count", "cores"), [(1, 4), (63, 4), (64, 1), (129, 2), (1000, 3), (10, 64)])
def test_parts_are_all_there_once(count, cores, monkeypatch):
    monkeypatch.setattr(workers, "cores", lambda: cores)
    parts = workers.parts_of(count, 8)
    assert [i for first, last in parts for i in range(first, last)] == list(range(count))
    assert len(parts) <= cores
    assert len(parts) == 1 or min(last - first for first, last in parts) >= 8


def test_results_come_in_the_order_of_the_tasks():
    assert workers.side_by_side([lambda at=at: at**2 for at in range(5)]) == [0, 1, 4, 9, 16]


def test_an_error_of_a_task_is_raised():
    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        workers.side_by_side([fail, fail])
