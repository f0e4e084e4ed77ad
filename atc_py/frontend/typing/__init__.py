"""Type inference: onnx's own, and corrections where it is wrong or incomplete."""
