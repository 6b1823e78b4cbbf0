"""Runs and where they are kept: one run, its key, the store, who computes it. Knows no study."""
