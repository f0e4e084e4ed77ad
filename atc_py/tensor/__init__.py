"""Tensors as data: dtypes, formats, shapes, storage and packed bytes."""
