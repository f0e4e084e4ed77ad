"""Nodes run on data, in onnxruntime or onnx's evaluator, with their constants read as needed."""
