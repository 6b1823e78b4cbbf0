"""What all folders stand on: errors, checks, compiling, random streams, files, progress, signals."""
