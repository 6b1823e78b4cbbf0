"""Writes the tables of options: `python docs/make_options.py`.

On the page of a learner everything between the marks `<!-- options -->` and `<!-- /options -->` is replaced by a table
of its options, which stand in its class (src/spaql/learners/options.py says how). The page has the name on the learner's
card in lower case: SPAQL-TS has docs/spaql-ts.md. A missing page is complained of, after the others were written.
"""

import sys
from pathlib import Path

from spaql.learners.options import ABOUT, options_of
from spaql.learners.registry import Card, learner_class, learners

BEGIN = "<!-- options -->"
END = "<!-- /options -->"
DOCS = Path(__file__).parent


def page_of(card: Card) -> Path:
    return DOCS / f"{card.name.lower()}.md"


def table(card: Card) -> str:
    rows = ["| option | default | meaning |", "|---|---|---|"]
    for one in options_of(learner_class(card)):
        default = "" if one.default is None else f'"{one.default}"' if isinstance(one.default, str) else f"{one.default}"
        rows.append(f"| `{one.name}` | {default} | {one.metadata[ABOUT]} |")
    return "\n".join(rows)


def filled(text: str, card: Card) -> str:
    """The page with the table as it must be."""
    before, rest = text.split(BEGIN, 1)
    return f"{before}{BEGIN}\n{table(card)}\n{END}{rest.split(END, 1)[1]}"


def hindrance(card: Card) -> str:
    """What hinders the table of a learner; empty if nothing does."""
    page = page_of(card)
    if not page.is_file():
        return f"{card.name} has no page: write docs/{page.name}, with the lines {BEGIN} and {END} in it"
    text = page.read_text("utf-8")
    return "" if BEGIN in text and END in text else f"docs/{page.name} has no lines {BEGIN} and {END}"


if __name__ == "__main__":
    hindrances = {card.name: hindrance(card) for card in learners()}
    for card in learners():
        if not hindrances[card.name]:
            page_of(card).write_text(filled(page_of(card).read_text("utf-8"), card), "utf-8")
    sys.exit("\n".join(filter(None, hindrances.values())) or None)
