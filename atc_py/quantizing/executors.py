"""Engines that run a float model and show its inner values: onnxruntime, and the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from atc_py.device.sim.execution.kept_results import KeptResults, SparingModel
from atc_py.device.sim.execution.session import SimModel
from atc_py.diag import BAD_OPTION, NO_ONNXRUNTIME, REFERENCE_FAILED, AtcError, Place
from atc_py.package.reader import OfflineModel, open_model
from atc_py.pipeline.running.samples import Feeds
from atc_py.quantizing.layers.measured import write_watched
from atc_py.system.process import granted_threads
from atc_py.text import Text

EXECUTORS = ("auto", "ort", "sim")
"""Names of engines; `auto` is onnxruntime where it is installed, else the simulator."""

_ERRORS = 3
"""Severity of onnxruntime's log messages that are shown."""


_FLOAT32 = "must_keep_origin_dtype"


def engine_of(choice: str) -> str:
    """The engine, `ort` or `sim`, that one of EXECUTORS stands for."""
    if choice not in EXECUTORS:
        raise BAD_OPTION.error(
            Text("no executor is called {choice}", choice=repr(choice)),
            help=Text("executors are {executors}", executors=", ".join(EXECUTORS)),
        )
    installed = find_spec("onnxruntime") is not None
    if choice == "ort" and not installed:
        raise NO_ONNXRUNTIME.error(
            Text("the executor `ort` needs onnxruntime, which is not installed"),
            help=Text('install it with `pip install "atc-py[ort]"`, or use the executor `sim`'),
        )
    return "ort" if installed and choice != "sim" else "sim"


def start_executor(
    choice: str,
    model: Path,
    names: Sequence[str],
    inputs: Sequence[str],
    mark: str = "",
    kept: KeptResults | None = None,
) -> Executor:
    """An engine, one of EXECUTORS, with a model on it; it gives the values called `names`.

    `model` is a file that atc-py wrote, in a folder for temporary files; `mark` is part of the
    names of files that the engine writes beside it, so that several processes can run it; `kept`
    are results that the simulator shares between runs.
    """
    fed = [name for name in names if name in inputs]
    made = [name for name in names if name not in inputs]
    if engine_of(choice) == "sim":
        return _Simulated(model, made, fed, mark, kept)
    return _Onnxruntime(model, made, fed, mark)


class _Onnxruntime:
    """onnxruntime without optimizations, as its own quantizer runs it for calibration."""

    name = "ort"

    def __init__(self, model: Path, made: Sequence[str], fed: Sequence[str], mark: str) -> None:
        import onnxruntime

        self._names, self._fed, self._path = list(made), tuple(fed), model
        watched = model.with_name(f"{model.stem}{mark}.watched.onnx")
        write_watched(model, watched, made)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _ERRORS
        options.intra_op_num_threads = granted_threads()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self._session: Any = None
        if made:
            try:
                self._session = onnxruntime.InferenceSession(
                    str(watched), options, providers=["CPUExecutionProvider"]
                )
            except Exception as error:
                raise _failure(model, error) from error

    def run(self, feeds: Feeds) -> dict[str, NDArray[Any]]:
        results = {name: np.asarray(feeds[name]) for name in self._fed}
        if self._session is None:
            return results
        try:
            made = self._session.run(self._names, dict(feeds))
        except Exception as error:
            raise _failure(self._path, error) from error
        return {**results, **dict(zip(self._names, made, strict=True))}

    def close(self) -> None:
        self._session = None


class _Simulated:
    """The simulator in float32 if it can be, compiled for each list of input shapes that comes."""

    name = "sim"

    def __init__(
        self,
        model: Path,
        made: Sequence[str],
        fed: Sequence[str],
        mark: str,
        kept: KeptResults | None,
    ) -> None:
        self._made, self._fed, self._kept = tuple(made), tuple(fed), kept
        self._watched = model.with_name(f"{model.stem}{mark}.watched.onnx")
        write_watched(model, self._watched, made)
        self._models: dict[tuple[Any, ...], tuple[OfflineModel, SimModel]] = {}

    def run(self, feeds: Feeds) -> dict[str, NDArray[Any]]:
        results = {name: np.asarray(feeds[name]) for name in self._fed}
        if not self._made:
            return results
        model = self._model({name: array.shape for name, array in feeds.items()})
        taken = {port.name: feeds[port.name] for port in model.description.inputs}
        return {**results, **model.run(taken)}

    def close(self) -> None:
        for package, model in self._models.values():
            model.close()
            package.close()
        self._models.clear()

    def _model(self, shapes: Mapping[str, tuple[int, ...]]) -> SimModel:
        key = tuple(sorted(shapes.items()))
        if key not in self._models:
            path = self._watched.with_name(f"{self._watched.stem}.{len(self._models)}.om")
            self._convert(path, shapes)
            package = open_model(path)
            kept = self._kept
            model = SimModel(package) if kept is None else SparingModel(package, kept)
            self._models[key] = package, model
        return self._models[key][1]

    def _convert(self, path: Path, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Compile the model in float32, or in float16 where the operator list has no float32."""
        from atc_py.pipeline.convert import convert

        with suppress(AtcError):
            convert(self._watched, path, input_shape=shapes, precision_mode=_FLOAT32)
            return
        convert(self._watched, path, input_shape=shapes)


Executor: TypeAlias = _Onnxruntime | _Simulated
"""An engine with a model on it, whose `run` gives the values that it was started for, by name."""


def _failure(model: Path, error: Exception) -> Exception:
    with suppress(Exception):
        text = " ".join(str(error).split())[:300]
        return REFERENCE_FAILED.error(
            Text("onnxruntime does not run the float model: {text}", text=text),
            place=Place(str(model)),
            help=Text("check that the samples fit the model, or calibrate with --executor sim"),
        )
    return error
