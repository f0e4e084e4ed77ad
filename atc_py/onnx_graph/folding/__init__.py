"""Binding of input shapes, constant folding, and the translation to a source model."""
