"""Pages are short, and so are their sentences: a page is for one reader and one question."""

import re

import pytest

from pages import PAGES, ROOT

MOST_WORDS, MOST_IN_A_SENTENCE, MOST_IN_ALL = 2000, 40, 38_000
CODE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def sentences_of(text):
    """Of the prose: without code, tables, comments; an item of a list, or a heading, ends where the next one begins."""
    text = re.sub(r"<!--.*?-->", "", CODE.sub("\n\n", text), flags=re.DOTALL)
    lines = ["" if line.lstrip().startswith("|") or line.startswith("    ") else line for line in text.splitlines()]
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)|\n(?=#)", "\n".join(lines))
    for block in blocks:
        plain = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "code", " ".join(block.split())))
        yield from re.split(r"(?<=[.!?:;])\s+(?=[A-Z\"*(\[`])", plain)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_read_in_one_sitting(page):
    assert len(page.read_text().split()) <= MOST_WORDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_sentence_has_one_thought(page):
    long = [one for one in sentences_of(page.read_text()) if len(one.split()) > MOST_IN_A_SENTENCE]
    assert long == []


def test_all_pages_together_are_read_in_an_afternoon():
    assert sum(len(page.read_text().split()) for page in PAGES if page.parent != ROOT) <= MOST_IN_ALL
