"""Emulations of target operators in ONNX, grouped like their rows; each registers itself."""
