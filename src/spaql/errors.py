"""The one error a user of this library has to catch, and the one warning."""


class SpaqlWarning(UserWarning):
    """What was made is poorer than it could be: one line that says by how much and what to do about it."""


class SpaqlError(ValueError):
    """Bad input: one line that says what is wrong and what to do about it."""
