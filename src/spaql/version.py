"""The version of the package, where every folder can reach it."""

__version__ = "0.2.0"
