"""Dims for what a model leaves open: proposals that are tried, and what fits nearest to the user's."""
