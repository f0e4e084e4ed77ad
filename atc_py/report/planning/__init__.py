"""Reports of plans of dtypes."""
