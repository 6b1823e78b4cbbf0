"""Small trees that earn what a table earns: the search, on a plant, in an environment or in a learned model."""
