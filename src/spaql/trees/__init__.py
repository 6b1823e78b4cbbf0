"""Decision trees in flat arrays."""
