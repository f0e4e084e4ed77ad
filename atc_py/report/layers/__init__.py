"""Reports of a comparison, layer by layer."""
