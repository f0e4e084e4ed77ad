"""Codes of family 5: offline models."""

from atc_py.diag.codes.table import add_code
from atc_py.diag.diagnostic import ExitCode

NOT_OM = add_code(
    5001,
    "not-an-offline-model",
    ExitCode.FILE,
    "The file is not an offline model of atc-py: it has another format, or is truncated. Offline "
    "models of Huawei's own atc have a different format and cannot be read.",
    "Convert the ONNX model with `atc-py convert`.",
)
OM_VERSION = add_code(
    5002,
    "offline-model-version",
    ExitCode.FILE,
    "The offline model was written in a version of the format that this atc-py does not read.",
    "Convert the ONNX model again with this atc-py, or use the atc-py that wrote it.",
)
OM_MEMBER = add_code(
    5003,
    "offline-model-member",
    ExitCode.FILE,
    "A member of the offline model is damaged: its bytes are not the ones that were written.",
    "Copy the file again, or convert the ONNX model again.",
)
OM_CONTENT = add_code(
    5004,
    "offline-model-content",
    ExitCode.FILE,
    "The offline model's description contradicts itself. It may also name something that the file "
    "does not contain.",
    "Convert the ONNX model again; if that does not help, report it as a bug.",
)
OM_PLAN = add_code(
    5005,
    "offline-model-memory-plan",
    ExitCode.FILE,
    "The offline model's memory plan is invalid. Tensors that are needed at the same time "
    "overlap, a tensor is outside the arena or at an impossible offset, or a size does not follow "
    "from the plan.",
    "Convert the ONNX model again; if that does not help, report it as a bug.",
)
