"""Learning on real machines, trial by trial; see docs/rig.md."""
