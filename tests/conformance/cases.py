"""ONNX's conformance cases through the whole compiler: right, refused, wrong, or not yet."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi import onnxruntime_pybind11_state as ort

import atc_py
from atc_py.check.findings import Finding, Standing
from atc_py.diag import AtcError
from atc_py.diag.codes import NOT_LOWERED, UNKNOWN_SHAPE, UNSUPPORTED_FORM
from atc_py.options.compile_options import ANY_LIST, FIRST_LIST
from atc_py.tensor.dtypes import DType
from tests.end_to_end import run_with_onnxruntime

Array = npt.NDArray[Any]


class Same(Protocol):
    """A comparison such as `agrees`."""

    def __call__(self, found: Array, expected: Array, *, narrow: bool) -> bool:
        """Return True if a result is the expected one."""


SUITE = Path(__file__).resolve().parents[2] / ".." / "shared" / "onnx_suite"
MODES = ("allow_fp32_to_fp16", "force_fp16")


class Verdict(Enum):
    """The result of a case.

    RIGHT: every output of every data set agrees. REFUSED: a rule of the list refuses it.
    NOT_YET: the list allows it, and atc-py does not compile it. WRONG: an output differs.
    """

    RIGHT = "right"
    REFUSED = "refused"
    NOT_YET = "not yet"
    WRONG = "wrong"


@dataclass(frozen=True)
class Outcome:
    """The result of a case, and the reason for it.

    Attributes:
        verdict: what became of it.
        reasons: rules that refuse it with their places, or what differs.
    """

    verdict: Verdict
    reasons: tuple[str, ...] = ()


def cases() -> list[Path]:
    """Return the folders of all cases, by name."""
    return sorted(path.parent for path in SUITE.glob("*/*/model.onnx"))


def outcome_of(case: Path, mode: str, operator_list: str = FIRST_LIST) -> Outcome:
    """Check and compile the model of a case and run its data sets; anything unforeseen raises.

    A list that is named counts to the letter.
    """
    path = case / "model.onnx"
    strict = operator_list != ANY_LIST
    report = atc_py.check_models(
        path, precision_mode=mode, operator_list=operator_list, strict_list=strict
    )
    (check,) = report.models
    errors = [each for each in check.findings if each.standing is Standing.ERROR]
    listed = [f"{each.rule} [{each.source}]" for each in errors if not _is_of_compiler(each)]
    if listed:
        return Outcome(Verdict.REFUSED, tuple(dict.fromkeys(listed)))
    if errors:
        return Outcome(Verdict.NOT_YET, tuple(dict.fromkeys(each.message.en for each in errors)))
    return compiled_outcome(case, path, mode, _as_they_are, operator_list)


def _is_of_compiler(finding: Finding) -> bool:
    """Return True if no line of the list refuses a node, but the compiler."""
    return not finding.source and any(f"/{kind}/" in finding.rule for kind in _OF_COMPILER)


def compiled_outcome(  # noqa: PLR0913  (a case, a form of it, and options)
    case: Path,
    path: Path,
    mode: str,
    prepare: Callable[[dict[str, Array]], dict[str, Array]],
    operator_list: str = FIRST_LIST,
    *,
    clip: bool = True,
    same: Same | None = None,
) -> Outcome:
    """Compile the model at `path`, a form of the one of `case`, and run the data sets of that.

    Args:
        case: the folder of the case.
        path: the model.
        mode: the precision mode.
        prepare: makes what is fed from the inputs of a data set.
        operator_list: the list.
        clip: clamp constants that float16 does not hold, as `convert` does by default.
        same: whether a result is the expected one, given if float16 was on the way; `agrees`.
    """
    with tempfile.TemporaryDirectory() as folder:
        om = Path(folder) / "model.om"
        try:
            atc_py.convert(
                path,
                om,
                precision_mode=mode,
                operator_list=operator_list,
                strict_list=operator_list != ANY_LIST,
                is_weight_clip=clip,
                verify=True,
            )
        except AtcError as error:
            if {each.code for each in error.diagnostics} <= _NOT_YET:
                return Outcome(Verdict.NOT_YET, tuple(each.message for each in error.diagnostics))
            raise
        with atc_py.load(om) as model:
            wrong = list(_differences(model, case, prepare, same or agrees))
    return Outcome(Verdict.WRONG if wrong else Verdict.RIGHT, tuple(wrong))


def _as_they_are(feeds: dict[str, Array]) -> dict[str, Array]:
    """Return the inputs alone."""
    return feeds


ORT_REFUSALS = (RuntimeError, ort.Fail, ort.InvalidArgument, ort.InvalidGraph, ort.NotImplemented)
"""What onnxruntime raises for what it does not take."""

_OF_COMPILER = ("compiled", "kernel")
"""What the rule of a finding is named that says what the compiler or the device lacks."""

_NOT_YET = {UNKNOWN_SHAPE, NOT_LOWERED, UNSUPPORTED_FORM}
"""What the list allows and the compiler does not do so far."""


def _differences(
    model: atc_py.Model,
    case: Path,
    prepare: Callable[[dict[str, Array]], dict[str, Array]],
    same: Same,
) -> Iterator[str]:
    """Return the differences between outputs of the case's data sets."""
    proto = onnx.load(case / "model.onnx", load_external_data=False)
    weights = {tensor.name for tensor in proto.graph.initializer}
    names = [value.name for value in proto.graph.input if value.name not in weights]
    narrow = any(tensor.dtype == "float16" for tensor in model.description.tensors)
    dtypes = {port.name: port.dtype for port in (*model.inputs, *model.outputs)}
    for data in sorted(case.glob("test_data_set_*")):
        stored = zip(names, arrays_of(data, "input"), strict=False)
        feeds = {name: _typed(array, dtypes[name]) for name, array in stored}
        found = model.run(prepare(feeds))
        for output, array in zip(proto.graph.output, arrays_of(data, "output"), strict=True):
            expected = _typed(array, dtypes[output.name])
            result = found[output.name]
            if same(result, expected, narrow=narrow):
                continue
            again = recomputed(proto, feeds, output.name, narrow)
            if result.dtype.kind in "iu" and result.shape == expected.shape == again.shape:
                # Of an infinity, onnxruntime makes the lowest code, not the one that it saturates to.
                again = np.where(result == expected, expected, again)
            if not same(result, again, narrow=narrow):
                yield f"{data.name} {output.name}"


def _typed(array: Array, dtype: DType) -> Array:
    """Return the array in the dtype of the model: files store bfloat16 as its bits."""
    return array.view(dtype.numpy) if dtype is DType.BFLOAT16 else array


def recomputed(
    proto: onnx.ModelProto, feeds: Mapping[str, Array], output: str, narrow: bool
) -> Array:
    """Return the output by onnxruntime, else ONNX's reference; in float16 as the device.

    Stored outputs are not always the answer: some were printed with four digits (RoiAlign), some
    made by a reference that cut bfloat16 off instead of rounding it, and where float16 cannot hold
    what goes in or comes out (10001, or 1e5), what it makes of it is the right answer.
    """
    through = _through_float16 if narrow else np.asarray
    rounded = {name: through(array) for name, array in feeds.items()}
    return through(exact_results(proto, rounded)[output])


def exact_results(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Return the outputs by onnxruntime, or by ONNX's reference where that refuses the model."""
    try:
        return run_with_onnxruntime(model, feeds)
    except ORT_REFUSALS:
        names = [output.name for output in model.graph.output]
        with np.errstate(all="ignore"):
            results: Any = ReferenceEvaluator(model).run(names, dict(feeds))
        return dict(zip(names, map(np.asarray, results), strict=True))


def _through_float16(array: Array) -> Array:
    """Return the array rounded to float16, in its own dtype."""
    if array.dtype.kind != "f":
        return array
    with np.errstate(over="ignore"):
        return array.astype(np.float16).astype(array.dtype)


def arrays_of(folder: Path, kind: str) -> list[Array]:
    """Return the inputs or outputs of a data set, in order."""
    paths = sorted(folder.glob(f"{kind}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    return [numpy_helper.to_array(onnx.load_tensor(path)) for path in paths]


# Tolerances -------------------------------------------------------------------------------------

FLOAT32 = (1e-5, 1e-6)
"""(share of the element, share of the range): float32 sums in another order."""

FLOAT16 = (4e-3, 4e-3)
"""The same where results pass through float16: four units in the last place (2^-10) of each."""


def agrees(found: Array, expected: Array, *, narrow: bool) -> bool:
    """Return True if an output is the expected one: to the bit unless it is of floats.

    Args:
        found: the output.
        expected: what it should be.
        narrow: whether a value passed through float16 on the way.
    """
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if expected.dtype.kind in "iub":
        return bool(np.array_equal(found, expected))
    wide, reference = found.astype(np.float64), expected.astype(np.float64)
    if expected.dtype.kind != "f":  # bfloat16, which is only ever cast to
        return bool(np.array_equal(wide, reference, equal_nan=True))
    relative, of_range = FLOAT16 if narrow else FLOAT32
    finite = np.isfinite(reference)
    reach = float(np.abs(reference[finite]).max(initial=0.0))
    if not np.array_equal(wide[~finite], reference[~finite], equal_nan=True):
        return False
    allowed = relative * np.abs(reference[finite]) + of_range * reach
    return bool((np.abs(wide[finite] - reference[finite]) <= allowed).all())
