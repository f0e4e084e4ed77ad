"""Passes on quantization: offsets brought to their layers, chains of quantizing nodes shortened."""
