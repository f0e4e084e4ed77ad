"""Programs that run unmodified, with onnxruntime's sessions on the simulated NPU.

`launch` starts the program; `startup` is in PYTHONPATH of all its processes; `replacement` and what
it imports work in these, and leave records that `gather` reads when the program has ended.
"""
