"""The plants of the catalog, one file each; every file in this folder ends with the problems it gives (`PROBLEMS`)."""
