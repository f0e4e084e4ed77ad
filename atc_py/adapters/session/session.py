"""`InferenceSession`: onnxruntime's class for programs, computed on a device of atc-py."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, Unpack

from atc_py.adapters.session.compiled import CompiledModels, ShapeCompilation
from atc_py.adapters.session.errors import (
    INVALID_ARGUMENT,
    load_error,
    session_error,
    session_warning,
)
from atc_py.adapters.session.feeds import Feeder, dtype_of
from atc_py.adapters.session.options import (
    check_providers,
    select_dims,
    use_options,
    weights_folder,
)
from atc_py.adapters.session.source import (
    KnownType,
    OnnxSource,
    SessionSource,
    fitted_feeds,
    source_of,
    types_of,
    with_known_types,
)
from atc_py.adapters.session.surface import SessionSurface
from atc_py.adapters.session.values import ModelMetadata, NodeArg
from atc_py.device.guarded import find_guarded
from atc_py.diag import BAD_OPTION, NOT_IN_MODEL, SESSION_UNSUPPORTED, AtcError, Place
from atc_py.onnx_graph.reading.interface import DeclaredDims, DeclaredValue
from atc_py.options.compile_options import CompileOptions
from atc_py.options.keywords import SessionKeywords
from atc_py.options.option import keywords_of, parse_options, reject_unknown
from atc_py.options.ranges import refuse_ranges
from atc_py.system.input_files import guarded_run
from atc_py.system.memory_limit import memory_limit, parse_size
from atc_py.tensor.shapes import Shape
from atc_py.text import Text


def own_keywords(given: SessionKeywords) -> dict[str, Any]:
    """The options of `convert`.

    Raises:
        TypeError: a keyword is unknown.
    """
    reject_unknown("InferenceSession", given, SessionKeywords)
    known = keywords_of(CompileOptions)
    return {name: value for name, value in given.items() if name in known}


_SHARE = 4
"""Part of the memory limit that kept models may take by default: one in so many."""


@dataclass(frozen=True)
class OpenOptions:
    """Arguments of a session; `InferenceSession` documents them.

    Attributes:
        weights_folder: the folder of weights beside bytes; None for the current folder.
        convert: the options that are those of `convert`.
    """

    model: str | os.PathLike[str] | bytes
    soc: str
    device: str
    input_shape: str | Mapping[str, Sequence[int]]
    op_specs: str | os.PathLike[str] | None
    keep: int
    keep_memory: int | str | None
    weights_folder: str | None
    convert: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Check what the compiler does not.

        Raises:
            AtcError: BAD_OPTION; and a TypeError for what is no path and no bytes.
        """
        model: object = self.model
        if not isinstance(model, str | os.PathLike | bytes):
            kind = type(model).__name__
            message = Text("a session opens a path or bytes, found {kind}", kind=kind)
            raise session_error("TypeError", BAD_OPTION.diagnostic(message))
        keep: object = self.keep
        if not isinstance(keep, int) or keep < 1:
            message = Text("keep must be a whole number from 1, found {keep}", keep=repr(keep))
            raise session_error("ValueError", BAD_OPTION.diagnostic(message))

    @property
    def room(self) -> int:
        """Bytes that kept models may need.

        Raises:
            AtcError: BAD_OPTION for another text, or for less than 1 MiB.
        """
        size = self.keep_memory
        return memory_limit() // _SHARE if size is None else parse_size(size)

    def source(self) -> SessionSource:
        """The model.

        Raises:
            AtcError: UNKNOWN_DEVICE, options that have no meaning, what reading the model finds.
        """
        try:
            options = parse_options(
                "InferenceSession", CompileOptions, self.convert, soc=self.soc,
                input_shape=self.input_shape, op_specs=self.op_specs,
            )  # fmt: skip
            refuse_ranges(options.ranges, Text("a session compiles for the shapes that are fed"))
            _require_own_inputs(options)
            find_guarded(self.device)
            return source_of(self.model, options, self.device, self.weights_folder)
        except AtcError as error:
            raise load_error(error) from error


def _require_own_inputs(options: CompileOptions) -> None:
    """Refuse AIPP: a program feeds the inputs that the ONNX model declares."""
    if options.aipp is not None:
        raise SESSION_UNSUPPORTED.error(
            Text(
                "a session of an ONNX model takes the model's own inputs, which AIPP replaces by "
                "pictures"
            ),
            place=Place(field="aipp"),
            help=Text("convert the model with `aipp`, and open the offline model"),
        )


Array = npt.NDArray[Any]


_KEEP = 4
"""Sets of shapes whose models are kept by default."""


class InferenceSession(SessionSurface):
    """A model on the simulated NPU, used like onnxruntime's `InferenceSession`.

    A model whose dims are all known compiles in the constructor. Else it compiles for each set of
    shapes when it is first run with it. docs/inference-session.md lists every member.

    Example:
        >>> import atc_py, numpy as np
        >>> session = atc_py.InferenceSession("model.onnx", soc="Ascend310P3")
        >>> [(each.name, each.type, each.shape) for each in session.get_inputs()]
        [('x', 'tensor(float)', [1, 3, 8, 8])]
        >>> (y,) = session.run(None, {"x": np.zeros((1, 3, 8, 8), np.float32)})
        >>> y.dtype.name, y.shape
        ('float32', (1, 4, 8, 8))
    """

    def __init__(  # noqa: PLR0913  (onnxruntime's parameters, and options as keywords)
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: Any = None,
        providers: Any = None,
        provider_options: Any = None,
        *,
        soc: str = "sim",
        device: str = "sim",
        input_shape: str | Mapping[str, Sequence[int]] = "",
        op_specs: str | os.PathLike[str] | None = None,
        keep: int = _KEEP,
        keep_memory: int | str | None = None,
        **keywords: Unpack[SessionKeywords],
    ) -> None:
        """Open a model.

        Args:
            path_or_bytes: path of an .onnx or .om file, or the bytes of one. Bytes have their
                external data in the current folder, or in that which the session options name.
            sess_options: onnxruntime's; most have no meaning here, see the page.
            providers: a warning is given for others than `CPUExecutionProvider`.
            provider_options: options of providers, without meaning here.
            soc: name of the SoC; `sim` is the generic device.
            device: name of the device that runs the model.
            input_shape: dims for inputs, by name, or the text form `"x:1,3,224,224;y:..."`.
            op_specs: folder of specifications that override the built-in ones.
            keep: how many sets of shapes stay compiled; the one used longest ago goes first.
            keep_memory: memory that they may need on the device together, in bytes or as `512M`.
            **keywords: passes, precision mode and finer controls as `convert` has them.

        Raises:
            TypeError: a keyword is unknown.
            AtcError: with every finding; also of the class that onnxruntime raises.
        """
        options = own_keywords(keywords)
        check_providers(providers, provider_options)
        use_options(sess_options)
        self._sess_options = sess_options
        folder = weights_folder(sess_options)
        shown = soc, device, input_shape, op_specs, keep, keep_memory
        self._open(
            OpenOptions(path_or_bytes, *shown, folder, options),
            partial(select_dims, sess_options),
        )

    @guarded_run()
    def _open(
        self,
        options: OpenOptions,
        choose: Callable[[Sequence[DeclaredValue]], Mapping[str, DeclaredDims]],
    ) -> None:
        """Open a model; `choose` returns the dims that session options give the inputs."""
        self._options = options
        # Programs written for onnxruntime read these two names.
        self._model_bytes = options.model if isinstance(options.model, bytes) else None
        self._model_path = None if isinstance(options.model, bytes) else os.fspath(options.model)
        source = self._source = options.source()
        if isinstance(source, OnnxSource):
            source.choose(choose(source.declared.inputs))
            for each in source.padding_warnings():
                warning = session_warning(each.message, each.help, each.code)
                warnings.warn(warning, stacklevel=4)
        interface = source.interface
        self._feeder = Feeder(interface, source.bound)
        self._models = CompiledModels(
            self._feeder.open_names, source.build, options.keep, options.room
        )
        outputs = with_known_types(interface, self._known_types())
        self._inputs = [NodeArg.of(each) for each in interface.inputs]
        self._outputs = [NodeArg.of(each) for each in outputs]
        self._overridable = [NodeArg.of(each) for each in interface.overridable]
        self._metadata = ModelMetadata(interface.metadata)
        self._names = [each.name for each in outputs]
        self._dtypes = {each.name: dtype_of(each.type) for each in outputs}

    def _known_types(self) -> Mapping[str, KnownType]:
        """Known facts of outputs; a model without open dims is compiled for them."""
        if not self._feeder.open_names:
            return types_of(self._models.prepare(()))
        try:
            return self._source.known_outputs()
        except AtcError as error:
            raise load_error(error) from error

    @guarded_run()
    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: Any = None,
    ) -> list[Any]:
        """Outputs in the order of their names.

        Args:
            output_names: the outputs; all of them for None or an empty list.
            input_feed: arrays, lists or OrtValues by the names of the inputs.
            run_options: onnxruntime's; only `terminate` has a meaning here.

        Raises:
            AtcError: MISSING_RUN_INPUT, also a ValueError; BAD_RUN_INPUT and NOT_IN_MODEL, also
                onnxruntime's InvalidArgument; what compilation finds; DEVICE_FAILED.
        """
        if getattr(run_options, "terminate", False):
            found = BAD_OPTION.diagnostic(Text("the run was terminated by its own options"))
            raise session_error("Fail", found)
        names = self._wanted(output_names) if output_names else self._names
        key, feeds = self._feeder.read(input_feed)
        gears = self._source.gears
        if gears is None:
            results = self._models.run(key, feeds)
        else:
            fitting = fitted_feeds(gears, feeds)
            shapes = gears.fed_shapes_of(fitting.gear)
            key = tuple(shapes[name] for name in self._feeder.open_names)
            results = fitting.cut(self._models.run(key, fitting.feeds))
        return [_as_declared(results[name], self._dtypes[name]) for name in names]

    @property
    def compilations(self) -> tuple[ShapeCompilation, ...]:
        """Every compilation so far: its shapes, its time, the memory that the model needs."""
        return tuple(self._models.compilations)

    @property
    def kept(self) -> tuple[Mapping[str, Shape], ...]:
        """The shapes that are compiled now, the ones used last at the end."""
        return self._models.kept

    @property
    def runs(self) -> int:
        """Number of runs so far."""
        return self._models.runs

    @property
    def run_seconds(self) -> float:
        """Time of all runs so far, without compilation."""
        return self._models.run_seconds

    def close(self) -> None:
        """Release the device and all memory; the session runs no more."""
        self._models.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> tuple[OpenOptions, Mapping[str, DeclaredDims]]:
        """Constructor and arguments for another process; it compiles again there."""
        dims = self._source.dims if isinstance(self._source, OnnxSource) else {}
        return self._options, dict(dims)

    def __setstate__(self, state: tuple[OpenOptions, Mapping[str, DeclaredDims]]) -> None:
        """Open the session again; it has no session options any more."""
        self._sess_options = None
        self._open(state[0], lambda _inputs: state[1])

    def _wanted(self, names: Sequence[str]) -> Sequence[str]:
        if isinstance(names, str):
            message = Text("output_names must be a list of names, found {names}", names=repr(names))
            raise session_error("TypeError", BAD_OPTION.diagnostic(message))
        unknown = [each for each in names if each not in self._dtypes]
        if unknown:
            message = Text(
                "the model has no output {unknown}", unknown=", ".join(map(repr, unknown))
            )
            hint = Text("its outputs are: {names}", names=", ".join(self._names))
            raise session_error(INVALID_ARGUMENT, NOT_IN_MODEL.diagnostic(message, help=hint))
        return names


def _as_declared(array: Array, dtype: np.dtype[Any] | None) -> Array:
    return array if dtype is None or array.dtype == dtype else array.astype(dtype)
