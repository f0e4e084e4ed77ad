"""Reports of a check, a file for each format."""
