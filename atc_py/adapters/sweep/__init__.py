"""Sweeps: a grid of models, SoCs, precision modes and operator lists, one row a combination."""
