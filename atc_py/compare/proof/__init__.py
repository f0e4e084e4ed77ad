"""Proof that a fixed model computes what the original does."""
