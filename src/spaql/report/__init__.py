"""The pages: one shell, one style sheet, the same small scripts."""
