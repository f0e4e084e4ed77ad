"""Reports of the operator list."""
