"""Which action is applied where, and why: tables, exact trees, words."""
