"""The names of ais_bench's module `aclruntime`, which scripts use beside `InferSession`."""

from __future__ import annotations

from atc_py.ais_bench.runtime import RuntimeSession, SessionOptions
from atc_py.ais_bench.tensors import AclTensor, TensorDesc, dtype

__all__ = ["InferenceSession", "Tensor", "dtype", "session_options", "tensor_desc"]

InferenceSession = RuntimeSession
Tensor = AclTensor
session_options = SessionOptions
tensor_desc = TensorDesc
