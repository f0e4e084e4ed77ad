"""Exported models on onnxruntime: the second device, which shares no arithmetic with the first."""
