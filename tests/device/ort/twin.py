"""A pytest plugin: every run of a model on the simulator runs on onnxruntime, too, and must agree.

    python -m pytest tests/device -p tests.device.ort.twin

Floats may differ by what `run --expect` allows for the model's own arithmetic, all else must be equal.
Where they differ by more, sums at a tie are first taken as onnxruntime rounds them.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from atc_py.device.backend import LoadedModel
from atc_py.device.ort.backend import OrtBackend, held
from atc_py.device.ort.model import emulate
from atc_py.device.ort.writing import model_bytes
from atc_py.device.sim.backend import SimBackend
from atc_py.device.sim.execution.session import SimModel
from atc_py.diag import AtcError
from atc_py.diag.codes import NO_ONNX_FORM
from atc_py.results.comparison import compare, explained_share
from atc_py.tensor.dtypes import DType
from tests.device.ort.ties import run_at_ties

Arrays = dict[str, NDArray[Any]]

_NOISE = 2.0**-19
"""Share of the largest magnitude that sums in another order may move a float32: where all values are
the same, but for that, their range says nothing."""


REFUSED: dict[str, set[str]] = {}
"""Reasons for which models have no ONNX form, by operator."""


def run_on_ort(model: LoadedModel, inputs: Mapping[str, NDArray[Any]]) -> Arrays | None:
    """Return the outputs of a model on onnxruntime, or None where it has no ONNX form."""
    device = OrtBackend()
    device.open()
    try:
        return device.run(device.load(model), inputs)
    except AtcError as error:
        if any(each.code is not NO_ONNX_FORM for each in error.diagnostics):
            raise
        for each in error.diagnostics:
            op = (each.place.op_type if each.place else None) or "control flow"
            REFUSED.setdefault(op, set()).add(each.message)
        return None
    finally:
        device.close()


def run_functions(model: LoadedModel, inputs: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return the outputs of the form with functions, which must be a valid ONNX model.

    Outputs in bfloat16, of which onnxruntime gives no arrays, are left out.
    """
    import onnxruntime

    written = onnx.ModelProto.FromString(model_bytes(emulate(model, flat=False), "model"))
    onnx.checker.check_model(written, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        written.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    value = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type
    types = {port.name: model.description.tensors[port.tensor] for port in model.description.inputs}
    feeds = {
        name: value(*held(np.asarray(array), DType(types[name].dtype)))
        for name, array in inputs.items()
    }
    shown = {
        port.name: DType(model.description.tensors[port.tensor].dtype)
        for port in model.description.outputs
        if model.description.tensors[port.tensor].dtype != "bfloat16"
    }
    found = session.run_with_ort_values([*shown], feeds) if shown else []
    return {
        name: each.numpy().astype(dtype.numpy, copy=False)
        for (name, dtype), each in zip(shown.items(), found, strict=True)
    }


def differences(
    model: LoadedModel, found: Mapping[str, NDArray[Any]], expected: Mapping[str, NDArray[Any]]
) -> list[str]:
    """Return the outputs that differ by more than the model's arithmetic explains."""
    wrong: list[str] = []
    for name, array in expected.items():
        if (found[name].dtype, found[name].shape) != (array.dtype, array.shape):
            wrong.append(
                f"{name} is {found[name].dtype} {found[name].shape}, not {array.dtype} {array.shape}"
            )
        elif array.dtype.kind in "iub" or array.dtype.name == "int4":
            count = int((found[name] != array).sum())
            if count:
                wrong.append(f"{count} of {array.size} elements of {name} differ")
        elif array.size:
            row = compare(name, found[name], array, explained_share(model.description, name, array))
            if not row.passed and row.max_error > _NOISE * np.abs(array.astype(np.float64)).max():
                wrong.append(f"{name} differs by {row.range_error:.2e} > {row.tolerance:.2e}")
    return wrong


def _require_same(model: LoadedModel, fed: Arrays, found: Arrays, expected: Arrays) -> None:
    """Raise an error that says which outputs differ; a plain assertion would not where pytest is not."""
    wrong = differences(model, found, {name: expected[name] for name in found})
    if wrong:
        expected = run_at_ties(model, fed)
        wrong = differences(model, found, {name: expected[name] for name in found})
    assert not wrong, "; ".join(wrong)


@contextmanager
def twinned() -> Iterator[None]:
    """Have the simulator's runs repeated in onnxruntime within the block; outputs must agree."""
    make, run = SimModel.__init__, SimBackend.run

    def made(self: SimModel, model: LoadedModel, *, merged: bool = True) -> None:
        make(self, model, merged=merged)
        self.twin_source = model  # type: ignore[attr-defined]

    def ran(self: SimBackend, handle: Any, inputs: Mapping[str, Any]) -> Arrays:
        fed = {name: np.array(array) for name, array in inputs.items()}
        expected = run(self, handle, inputs)
        model = getattr(handle, "twin_source", None)
        if model is not None:
            found = run_on_ort(model, fed)
            if found is not None:
                _require_same(model, fed, found, expected)
                # onnxruntime 1.32 ends the process where it loads Add in a function of nothing.
                if all(array.size for array in fed.values()):
                    called = run_functions(model, fed)
                    _require_same(model, fed, called, expected)
        return expected

    SimModel.__init__, SimBackend.run = made, ran  # type: ignore[method-assign]
    try:
        yield
    finally:
        SimModel.__init__, SimBackend.run = make, run  # type: ignore[method-assign]


def pytest_configure(config: Any) -> None:
    """Repeat the runs of the whole session."""
    stack = ExitStack()
    stack.enter_context(twinned())
    config.add_cleanup(stack.close)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show what had no ONNX form."""
    for op, reasons in sorted(REFUSED.items()):
        for reason in sorted(reasons):
            terminalreporter.write_line(f"no ONNX form: {op}: {reason}")
