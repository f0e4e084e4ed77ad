"""Checking: a source model compared with the operator specifications."""
