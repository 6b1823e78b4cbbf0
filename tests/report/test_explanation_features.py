"""Features on the page: they follow from what is moved, and their formula is told."""

import pytest

import spaql
from browser import opened
from spaql.report.explanation import write_explanation

FORMULAS = {
    "energy": "0.5*velocity**2 + 15*cos - 15",
    "pump": "-velocity*energy if velocity > -1 else tanh(max(energy, sin))",
    "angle": "atan2(sin, cos)",
}


@pytest.fixture(scope="module")
def law():
    return spaql.law(spaql.make("pendulum", features=FORMULAS), {"sin": -2.0, "pump": 0.2, "angle": 0.1})


def test_the_page_computes_features_as_the_policy_does(browser, law, tmp_path):
    write_explanation(law, law, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        assert page.evaluate("spaql.coordinates.map((axis) => axis.name)") == ["angle", "cos", "sin", "velocity"]
        for place, value in ((0, 2.5), (3, 1.25), (3, -3.0), (0, -0.5)):
            moved = page.evaluate(
                "([place, value]) => { const x = spaql.now.x.slice(); spaql.coordinates[place].put(x, value); spaql.set(x, 'typed');"
                " return [x, spaql.actionAt(x)]; }",
                [place, value],
            )
            state, action = moved
            assert state == pytest.approx(law.problem.features.values(state[:3]), rel=1e-12, abs=1e-14)
            assert action == pytest.approx(law.predict(state[:3])[0].tolist(), rel=1e-12)
        assert "where energy = 0.5 * velocity**2 + 15 * cos - 15" in page.locator("#why").inner_text()
