"""Gaussian-process models of a plant from a few hundred samples."""
