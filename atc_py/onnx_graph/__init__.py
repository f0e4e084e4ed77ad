"""The way in: ONNX files become a `SourceModel`; the only package of the core that imports onnx."""
