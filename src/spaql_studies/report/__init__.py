"""The page of `spaql reproduce`."""
