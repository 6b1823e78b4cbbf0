"""The learners: what each of them has learned, how it acts, and how one step changes it."""
