"""The paper as data."""
