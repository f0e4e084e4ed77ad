"""Quantization of float models: samples, their run, ranges of tensors, models with layers on int8."""
