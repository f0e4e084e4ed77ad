"""Choices for dims that a model leaves open: proposals, and what fits nearest to the user's."""
