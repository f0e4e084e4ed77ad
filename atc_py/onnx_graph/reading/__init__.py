"""Reading ONNX files: the wire format, tensors, signatures and the operators' history."""
