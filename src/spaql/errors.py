"""The one error a user of this library has to catch."""


class SpaqlError(ValueError):
    """Bad input: one line that says what is wrong and what to do about it."""
