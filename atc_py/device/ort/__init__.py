"""A compiled graph as a plain ONNX model that computes what the device computes.

Arithmetic is written anew from the operators' definitions: nothing of the simulator is imported, so
that a result that both agree on has been computed twice.
"""
