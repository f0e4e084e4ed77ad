"""Passes on quantisation: offsets brought to their layers, chains of quantising nodes shortened."""
