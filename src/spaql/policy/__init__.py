"""What is played where, and why: tables, exact trees, words."""
