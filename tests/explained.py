"""What is asked of every explanation page in a browser: it fits, and it decides and explains as its policy does."""

import numpy as np
import pytest

from browser import overflow
from made_explanations import settle, states_for


def fits(page):
    assert overflow(page) <= 0
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for width in (320, 390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        settle(page)
        assert overflow(page) <= 0
    for option in page.locator("[name=colour] option").all():
        page.locator("[name=colour]").select_option(option.get_attribute("value"))
        settle(page)
    if page.locator("[name=forward]").count():
        page.locator("[name=forward]").click()
    text = page.locator("body").inner_text()
    assert "Rule " in text
    assert "undefined" not in text
    assert "NaN" not in text


def decides(page, table, shown, states=None):
    states = states_for(shown, 1000) if states is None else states
    actions = page.evaluate("(states) => states.map((x) => spaql.actionAt(x))", states.tolist())
    np.testing.assert_array_equal(actions, shown.decide(states))
    if page.evaluate("spaql.table"):
        cells_decide(page, table, states)
    told = page.evaluate("(states) => states.map((x) => spaql.explain(x))", states[:40].tolist())
    for state, found in zip(states[:40], told, strict=True):
        compare(shown, state, found)


def cells_decide(page, table, states):
    cells = page.evaluate("(states) => states.map((x) => spaql.leafOf(spaql.table.tree, x))", states.tolist())
    actions = page.evaluate("(nodes) => nodes.map((node) => spaql.table.tree.actions[spaql.table.tree.action[node]])", cells)
    np.testing.assert_array_equal(actions, table.decide(states))


def compare(policy, state, found):
    """What the page says against what `policy.why` says."""
    why = policy.why(state)

    def plain(texts):
        return [text.replace("−", "-") for text in texts]

    assert found["leaf"] == why.leaf
    if policy.has_laws:
        compare_laws(why, found)
    assert found["action"] == why.action.tolist()
    assert plain(found["path"]) == list(why.path)
    assert plain(found["rule"]) == list(why.rule)
    assert found["visits"] == why.visits
    assert (found["share"] is None) == (why.share is None)
    assert found["share"] == (None if why.share is None else pytest.approx(why.share, rel=1e-5))
    assert plain([found["warning"]]) == [why.warning]
    for j, (pair, change) in enumerate(zip(found["changes"], why.changes, strict=True)):
        if policy.rules.oblique and not policy.has_laws:  # where a sum turns over is known up to rounding only
            for told, room in zip(pair, (-1e-6, 1e-6), strict=True):
                there = state.copy()
                there[j] = told["place"] + room if told else state[j]
                assert policy.decide(there[None])[0].tolist() == (told["action"] if told else found["action"])
            continue
        for told, place, action in zip(pair, (change.below, change.above), (change.action_below, change.action_above), strict=True):
            assert (told is None) == (place is None)
            if told is not None:
                assert told["place"] == pytest.approx(place, rel=1e-9, abs=1e-12)
                assert told["action"] == (pytest.approx(action.tolist(), abs=1e-9) if policy.has_laws else action.tolist())
    if found["cell"] and why.alternatives:
        assert found["cell"]["q"] == pytest.approx(why.alternatives[0][1], rel=1e-5)


def compare_laws(why, found):
    """The law in charge, the share of each variable, saturation, and where other laws take over."""
    assert [text.replace("−", "-") for text in found["law"]] == list(why.law)
    assert len(found["scores"]) == len(why.scores)
    for told, score in zip(found["scores"], why.scores, strict=True):
        assert told["name"].replace("−", "-") == score.name
        assert told["unit"] == score.unit
        np.testing.assert_array_equal(told["shares"], score.shares)
        assert told["offset"] == score.offset
        assert told["total"] == pytest.approx(score.total, rel=1e-12, abs=1e-12)
        assert told["bound"] == score.bound
        assert told["excess"] == pytest.approx(score.excess, rel=1e-9, abs=1e-12)
    assert (found["margin"] is None) == (why.margin is None)
    if why.margin is not None:
        assert found["margin"]["action"] == why.margin.action
        assert found["margin"]["score"] == pytest.approx(why.margin.score, rel=1e-9, abs=1e-9)
    for pair, takeover in zip(found["takeovers"], why.takeovers, strict=True):
        sides = ((takeover.below, takeover.leaf_below), (takeover.above, takeover.leaf_above))
        for told, (place, leaf) in zip(pair, sides, strict=True):
            assert (told is None) == (place is None)
            if told is not None:
                assert told["place"] == pytest.approx(place, rel=1e-9, abs=1e-12)
                assert told["leaf"] == leaf
