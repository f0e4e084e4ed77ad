"""One model through `fix`: a result that computes the same, or a coded refusal and no file."""

import json
import multiprocessing
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from atc_py.onnx_graph.reading.nodes import nodes_within
from atc_py.onnx_graph.running.engines import start_onnx_reference, start_onnxruntime
from tests.fuzz.trial import Outcome, Step, run_command

Arrays = dict[str, npt.NDArray[Any]]


_SECONDS = 20
_LARGEST = 2**22
"""Elements of an input; a model that wants more is not run."""

_FAULTS = {"ATC7030", "ATC7031"}
"""Codes of `fix` that say that a rule is wrong."""

_UNPROVED = "ATC7005"
"""Code of `fix` where one of the two models does not run."""

_DRAWING = frozenset(
    {"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"}
    | {"RandomUniformLike"}
)
"""Operators whose results differ from run to run; models with them are not run."""

_COMPARED = 1 << 26
"""Elements of an output above which comparing it takes more memory than a trial has."""

_SHARE = 1e-4
"""Largest difference of floats, as a part of the range; rules state bounds below it."""

_NARROW = 2**-6
"""The same where floats of 16 bits are among the values: every step rounds them."""

_HALVES = frozenset({onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16})


def try_fix(path: Path, operator_list: str) -> Outcome:
    """Fix the file at `path`, which is alone in its folder, and compare what comes of it.

    The last step is `fix` where nothing was written, else `compared`; `skipped` where the original
    does not run, and `quantized` where Ascend's quantized operators were written, which no engine
    knows.
    """
    fixed, report = path.with_name("fixed.onnx"), path.with_name("report.json")
    command = ["fix", str(path), "-o", str(fixed), "--list", operator_list, "--json"]
    command += ["--report", str(report)]
    step = run_command(*command)
    if _UNPROVED in step.codes:
        # Data that fit no index of the model, for one; those here may.
        step = run_command(*command, "--seeds", "0")
    if _FAULTS.intersection(step.codes):
        step = replace(step, failure=f"a rule is wrong: {', '.join(step.codes)}")
    strange = {each.name for each in path.parent.iterdir()} - {path.name, fixed.name, report.name}
    if strange:
        step = replace(step, failure=f"left over: {', '.join(sorted(strange))}")
    if step.failure or not fixed.exists():
        return Outcome((step,))
    if any(node.op_type.startswith("Ascend") for node in onnx.load(fixed).graph.node):
        return Outcome((step, Step("quantized", 0, ())))
    return Outcome((step, _compared(path, fixed, _limit(report))))


def _limit(report: Path) -> float:
    """Return the largest difference that the rules allow, by the report."""
    rewrites = json.loads(report.read_text(encoding="utf-8"))["rewrites"]
    return max(_SHARE, sum(float(each["limit"] or 0) for each in rewrites))


def _compared(path: Path, fixed: Path, limit: float) -> Step:
    """Run both files on the same data, on one engine where it runs both."""
    strict = _results(path, path, _by_onnxruntime)
    own, other = (_by_onnxruntime, _by_onnx) if strict is not None else (_by_onnx, _by_onnxruntime)
    wanted = _results(path, path, own) if strict is None else strict
    if wanted is None or any(array.size > _COMPARED for array in wanted.values()):
        return Step("skipped", 0, ())
    found = _results(fixed, path, own, other)
    if found is None:  # onnxruntime does not look whether its own operators' indices fit
        wanted = _results(path, path, own, zeros=True)
        found = _results(fixed, path, own, other, zeros=True)
    if wanted is None or (found is None and strict is None):
        return Step("skipped", 0, ())  # onnx's reference runs the original, and not every operator
    if found is None:
        return Step("compared", 1, (), "the original runs, what was written does not")
    narrow = _is_narrow(path)
    for (name, array), result in zip(wanted.items(), found.values(), strict=False):
        if not _is_same(array, result, limit, narrow=narrow):
            return Step("compared", 1, (), f"output {name} differs:\n{array}\n{result}")
    same = list(wanted) == list(found)
    return Step("compared", 0, (), "" if same else f"outputs {list(wanted)} became {list(found)}")


def _is_narrow(path: Path) -> bool:
    """Return True if a model reads, holds or makes floats of 16 bits."""
    graph = onnx.load(path).graph
    kinds = {each.type.tensor_type.elem_type for each in (*graph.input, *graph.output)}
    kinds.update(each.data_type for each in graph.initializer)
    casts = (each for node in graph.node for each in node.attribute if each.name == "to")
    return not _HALVES.isdisjoint({*kinds, *(each.i for each in casts)})


def _is_same(
    wanted: npt.NDArray[Any], found: npt.NDArray[Any], limit: float, *, narrow: bool
) -> bool:
    """Return True if results agree: integers to the bit, floats nearly."""
    if wanted.dtype != found.dtype or wanted.shape != found.shape:
        return False
    if wanted.dtype.kind in "iubO":
        return bool(np.array_equal(wanted, found))
    a, b = wanted.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    reach = float(np.abs(a[finite]).max(initial=0.0))
    share = max(limit, _NARROW if narrow else 0.0)
    return bool((np.abs(a[finite] - b[finite]) <= share * reach).all())


def _results(
    path: Path, declared: Path, *engines: Callable[..., Arrays], zeros: bool = False
) -> Arrays | None:
    """Return the outputs of a model in a process of its own; None where it does not run.

    Args:
        path: the model.
        declared: the model whose inputs say what is fed.
        engines: those that may run it, in their order.
        zeros: feed integers that are 0.
    """
    for engine in engines:
        found = _in_process(engine, path, declared, zeros)
        if found is not None:
            return found
    return None


def _in_process(
    engine: Callable[..., Arrays], path: Path, declared: Path, zeros: bool
) -> Arrays | None:
    """Return the outputs of a model that an engine runs in a process of its own; None if it fails."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(engine, path, declared, theirs, zeros))
    process.start()
    theirs.close()
    try:
        found: Arrays | None = pickle.loads(ours.recv_bytes()) if ours.poll(_SECONDS) else None  # noqa: S301
    except EOFError:
        found = None
    if process.is_alive():
        process.kill()
    process.join()
    return found


def _run(engine: Callable[..., Arrays], path: Path, declared: Path, out: Any, zeros: bool) -> None:
    """Send the outputs of a model; nothing where it does not run."""
    try:
        model = onnx.load(path)
        called = {(node.domain, node.op_type) for node in nodes_within(model.graph.node)}
        if any(operator in _DRAWING for _, operator in called):
            sys.exit(1)
        if called.isdisjoint((each.domain, each.name) for each in model.functions):
            del model.functions[:]  # onnxruntime refuses models for functions that nothing calls
        out.send_bytes(pickle.dumps(engine(model, _feeds(onnx.load(declared), 1 if zeros else 3))))
    except BaseException:  # noqa: BLE001  (as above)
        sys.exit(1)


def _by_onnxruntime(model: onnx.ModelProto, feeds: Arrays) -> Arrays:
    """Return the outputs by onnxruntime without its optimizations."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    names = [each.name for each in model.graph.output]
    known = {each.name for each in model.graph.initializer}
    fed = [each.name for each in model.graph.input if each.name not in known]
    engine = start_onnxruntime(model, tuple(names), threads=1)
    return engine.run({name: feeds[name] for name in fed if name in feeds})


def _by_onnx(model: onnx.ModelProto, feeds: Arrays) -> Arrays:
    """Return the outputs by onnx's evaluator."""
    names = [each.name for each in model.graph.output]
    return start_onnx_reference(model, tuple(names)).run(feeds)


def _feeds(model: onnx.ModelProto, most: int) -> Arrays:
    """Return random data for the inputs, integers below `most`, open dims being 1."""
    random = np.random.default_rng(7)
    known = {tensor.name for tensor in model.graph.initializer}
    feeds: Arrays = {}
    for each in model.graph.input:
        if each.name in known:
            continue
        tensor = each.type.tensor_type
        shape = [dim.dim_value if dim.HasField("dim_value") else 1 for dim in tensor.shape.dim]
        if np.prod([float(dim) for dim in shape]) > _LARGEST:
            raise ValueError(shape)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        drawn = random.normal(size=shape) if dtype.kind in "fV" else random.integers(0, most, shape)
        feeds[each.name] = np.asarray(drawn).astype(dtype)
    return feeds
