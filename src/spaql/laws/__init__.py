"""The search for small trees of affine laws."""
