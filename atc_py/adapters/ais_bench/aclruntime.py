"""The names of ais_bench's module `aclruntime`, which scripts use beside `InferSession`."""

from atc_py.adapters.ais_bench.runtime import RuntimeSession, SessionOptions
from atc_py.adapters.ais_bench.tensors import AclTensor, TensorDesc
from atc_py.adapters.ais_bench.tensors import dtype as dtype

InferenceSession = RuntimeSession
Tensor = AclTensor
session_options = SessionOptions
tensor_desc = TensorDesc
