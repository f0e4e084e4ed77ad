"""A session on the simulated NPU with the surface of onnxruntime's `InferenceSession`."""
