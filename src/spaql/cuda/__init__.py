"""Episodes on a graphics card, one thread each: `device="cuda"` (extra `cuda`)."""
