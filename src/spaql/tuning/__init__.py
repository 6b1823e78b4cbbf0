"""PID controllers from a plant, a learned model or a step response: `spaql.tune`."""
