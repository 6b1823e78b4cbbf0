"""The research around `spaql`: the paper and the benchmarks as studies, their runs, sweeps, and the report.

This package builds on the library. The library knows it by a few doors: its commands, `spaql.sweep`, and the runs of
rivals. No code stands here, because every module of the package loads this file, also those that decide about a run.
"""
