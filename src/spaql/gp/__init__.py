"""Gaussian-process models of a plant, and controllers that are found in them: for a few hundred samples."""
