"""What tables and figures call the problems."""

from spaql.plants.catalog import CATALOG

TITLES = {name: entry.title for name, entry in CATALOG.items()}
