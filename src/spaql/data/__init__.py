"""Logs of a plant: writing, reading and judging them, and learning from them."""
