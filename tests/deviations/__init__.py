"""Deviations of CANN from ONNX: one case that meets each row, and one that nearly does."""
