"""Rewriting ONNX models: quantized forms and the streaming writer."""
