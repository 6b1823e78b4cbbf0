"""Places that cannot be written to, and disks that are full: real ones where this machine allows it."""

import contextlib
import os
import resource
import signal
import subprocess

import pytest


@contextlib.contextmanager
def no_room(size=0):
    """No file of this process and of those it starts can grow beyond so many bytes."""
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


@contextlib.contextmanager
def small_disk(folder, options):
    """A file system of its own in `folder`, in memory, with the options of mount, such as size=64k or ro."""
    folder.mkdir(exist_ok=True)
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, text=True, check=False) if os.geteuid() == 0 else None
    if made is None or made.returncode != 0:
        pytest.skip(f"a file system with {options} cannot be mounted here: {'not root' if made is None else made.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def resized(folder, size):
    subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)
