"""Calibrators, one a file: each chooses a range for the values of a tensor."""
