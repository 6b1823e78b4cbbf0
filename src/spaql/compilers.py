"""Processes that compile side by side: what one has made, the others find on the disk."""

from spaql.linking import Reference


def begin(reference: Reference) -> None:
    pass


def finish(reference: Reference) -> None:
    reference.unit().code.compile(reference.signature)
