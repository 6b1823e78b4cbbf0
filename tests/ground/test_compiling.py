"""Compiled code on disk is used only as long as nothing it was made from has changed."""

from spaql.compiling import compiled_sources


def test_the_fingerprint_covers_kernels_and_the_records_they_read():
    found = compiled_sources()
    assert {"compiling.py", "training/kernels.py", "learners/history.py", "plants/space.py"} <= set(found)
    assert "errors.py" not in found
