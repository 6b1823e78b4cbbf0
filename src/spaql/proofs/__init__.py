"""Theorems about learned controllers on plants with known equations, and a checker that trusts none
of it."""
