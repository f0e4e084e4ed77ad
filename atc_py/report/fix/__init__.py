"""Reports of `fix`."""
