"""Codes of family 7: the device."""

from __future__ import annotations

from atc_py.diag.codes.table import add_code
from atc_py.diag.diagnostic import ExitCode, Severity

__all__ = [
    "BELOW_TARGET",
    "DEVICE_FAILED",
    "DEVICE_MEMORY",
    "DEVICE_TIMEOUT",
    "KERNEL_DIFFERS",
    "KERNEL_FAULT",
    "KERNEL_NOT_BUILT",
    "NOT_FINITE",
    "NO_COMPILER",
    "OUTPUT_MISMATCH",
    "REFERENCE_FAILED",
    "UNKNOWN_DEVICE",
]

UNKNOWN_DEVICE = add_code(
    7001,
    "unknown-device",
    ExitCode.USAGE,
    "No device back end of that name is installed.",
    "Use `sim`, or install the package that provides the back end.",
)
DEVICE_FAILED = add_code(
    7002,
    "device-run-failed",
    ExitCode.DEVICE,
    "The device stopped while it ran the model.",
    "The message names the kernel; run with --random to see whether it depends on the data.",
)
OUTPUT_MISMATCH = add_code(
    7003,
    "output-mismatch",
    ExitCode.DEVICE,
    "An output of the run differs from the expected data by more than the tolerance.",
    "Try --precision-mode must_keep_origin_dtype to see whether float16 is the cause.",
)

NOT_FINITE = add_code(
    7004,
    "output-not-finite",
    ExitCode.DONE,
    "An output of the run holds infinities or NaN although its inputs do not. With float16 the "
    "usual cause is a value beyond 65504 on the way.",
    "Convert with --precision-mode must_keep_origin_dtype and run again; if that is finite, "
    "float16 is the cause.",
    Severity.WARNING,
)
REFERENCE_FAILED = add_code(
    7005,
    "reference-run-failed",
    ExitCode.DEVICE,
    "The original ONNX model could not be run to compare with: neither onnxruntime nor onnx's own "
    "evaluator runs some of its operators, or they refuse the data.",
    "Install onnxruntime, give inputs that fit the model with --input, and see whether "
    "onnxruntime runs the model alone.",
)
BELOW_TARGET = add_code(
    7006,
    "comparison-below-target",
    ExitCode.DEVICE,
    "An output of the compiled model is further from the original's than --fail-under allows, it "
    "could not be compared, or --suggest found that no nodes reach the target.",
    "The report names the first layer that goes wrong; try another --precision-mode.",
)

NO_COMPILER = add_code(
    7011,
    "no-cpp-compiler",
    ExitCode.DEVICE,
    "Kernels can only be compared with the simulator where a C++ compiler builds them for the "
    "host, and none was found.",
    "Install g++ or clang++, or name one in the environment variable CXX.",
)
KERNEL_NOT_BUILT = add_code(
    7012,
    "kernel-not-built",
    ExitCode.DEVICE,
    "The C++ compiler refuses a kernel, or takes longer than it may.",
    "The message has the compiler's first line. With --templates the fault is most likely in the "
    "template; `atc-py kernels MODEL -o DIR` writes the kernels to look at.",
)
KERNEL_FAULT = add_code(
    7013,
    "kernel-fault",
    ExitCode.DEVICE,
    "A kernel does on the host what the hardware would punish, such as a misaligned copy or a "
    "buffer overrun, or it stops the program that runs it.",
    "The message has the kernel's file and line, and what it did there.",
)
KERNEL_DIFFERS = add_code(
    7014,
    "kernel-differs",
    ExitCode.DEVICE,
    "A kernel computes on the host other numbers than the simulator does.",
    "Integers, data movement and what is rounded once must be equal in all bits; everything else "
    "within 2 units in the last place of float16.",
)
DEVICE_MEMORY = add_code(
    7020,
    "device-memory",
    ExitCode.DEVICE,
    "A run would take more memory than --max-memory allows, or than there is: results, constants "
    "as the simulated device holds them, and what a kernel works in.",
    "Raise --max-memory, run on a machine with more memory, or convert with a smaller input shape.",
)
DEVICE_TIMEOUT = add_code(
    7021,
    "device-timeout",
    ExitCode.DEVICE,
    "The device did not answer within the time that --timeout gives it, and was stopped.",
    "Give it more time with --timeout SECONDS, or none to wait for with --timeout 0; if it hangs, "
    "ask who provides the back end.",
)
