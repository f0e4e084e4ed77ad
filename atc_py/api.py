"""The Python interface: `convert` a model, `load` an offline model and run it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, final

from atc_py.config import CheckOptions, CompileOptions, PrecisionMode, PrecisionOptions
from atc_py.diag.codes import BAD_OPTION, BAD_RUN_INPUT, OPTIONS_EXCLUDE
from atc_py.dtypes import DType
from atc_py.input_shapes import parse_input_shapes
from atc_py.output_paths import default_output, output_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Unpack

    from atc_py.check.findings import CheckReport
    from atc_py.device.backend import NodeProfile
    from atc_py.package.schema import OmModel, OmPort
    from atc_py.report.conversion import Conversion
    from atc_py.report.quantised_files import Quantisation
    from atc_py.shapes import Dims, Shape

__all__ = [
    "Model",
    "Port",
    "PrecisionChoice",
    "PrecisionSettings",
    "check_models",
    "convert",
    "load",
    "quantize_model",
]


class PrecisionSettings(TypedDict, total=False):
    """ATC's finer controls of precision.

    Attributes:
        precision_mode_v2: the mode by ATC's second names, in place of `precision_mode`.
        keep_dtype: file of nodes that keep the model's dtypes, in ATC's format like the next two.
        customize_dtypes: file of dtypes by node or operator.
        modify_mixlist: file that moves operators between the lists of the mixed modes.
        input_fp16_nodes: inputs that are fed as float16, joined by `;`.
        output_type: `FP32` or another for all outputs, or `node:index:TYPE` joined by `;`.
        op_precision_mode: file of implementation modes by operator and node.
        is_weight_clip: clamp weights that become narrower to finite values.
    """

    precision_mode_v2: str | None
    keep_dtype: str | os.PathLike[str] | None
    customize_dtypes: str | os.PathLike[str] | None
    modify_mixlist: str | os.PathLike[str] | None
    input_fp16_nodes: str
    output_type: str
    op_precision_mode: str | os.PathLike[str] | None
    is_weight_clip: bool


class PrecisionChoice(PrecisionSettings, total=False):
    """The precision mode and what refines it, as `convert` and `check_models` take them.

    Attributes:
        precision_mode: any of ATC's modes; `force_fp16` by default.
    """

    precision_mode: str | None


class ConvertChoice(PrecisionChoice, total=False):
    """What `convert` takes beside files and the SoC: the passes and what refines the precision.

    Attributes:
        disable_pass: names of optional passes that do not run.
        fusion_switch_file: ATC's file that switches passes on and off, as lines or as JSON.
        dump_ir: folder for the text form of the graph after each stage.
        verify: check the graph after every pass.
        disable_reuse_memory: give every value an address of its own.
    """

    disable_pass: Iterable[str]
    fusion_switch_file: str | os.PathLike[str] | None
    dump_ir: str | os.PathLike[str] | None
    verify: bool
    disable_reuse_memory: bool


def check_models(
    models: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    soc: str = "sim",
    input_shape: str | Mapping[str, Sequence[int]] = "",
    op_specs: str | os.PathLike[str] | None = None,
    **precision: Unpack[PrecisionChoice],
) -> CheckReport:
    """Hold every node of ONNX models against the operator list, and its dtypes against kernels.

    Args:
        models: path of an .onnx file, or paths of several.
        soc: name of the SoC; `sim` is the generic device.
        input_shape: extents for inputs, by name, or the text form `"x:1,3,224,224;y:..."`. What
            the models leave open and no shape fixes is not guessed: rules on it are undecided.
        op_specs: folder of specifications that lie over the built-in ones.
        **precision: as in `convert`. Of several models, one at least must have each name that the
            finer controls use.

    Returns:
        Every finding of every model. A file that cannot be read is a model with faults.

    Raises:
        AtcError: an option has no meaning, or a user's specification has a fault.
    """
    from atc_py.checking import check_files

    options = CheckOptions(
        soc=soc,
        precision_mode=_chosen_mode(precision),
        input_shapes=_shapes(input_shape),
        op_specs=None if op_specs is None else Path(op_specs),
        precision=_precision_options(precision),
    )
    paths = [models] if isinstance(models, str | os.PathLike) else models
    return check_files([Path(path) for path in paths], options)


def convert(  # noqa: PLR0913  (the options of the tool's main job)
    model: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    soc: str = "sim",
    input_shape: str | Mapping[str, Sequence[int]] = "",
    kernels: str | os.PathLike[str] | None = None,
    templates: str | os.PathLike[str] | None = None,
    op_specs: str | os.PathLike[str] | None = None,
    on_stage: Callable[[str], None] | None = None,
    **choice: Unpack[ConvertChoice],
) -> Conversion:
    """Compile an ONNX model to an offline model.

    Args:
        model: path of the .onnx file.
        output: path of the offline model; `.om` is appended where it is missing. By default the
            model's name with the suffix `.om` in the current folder.
        soc: name of the SoC; `sim` is the generic device.
        input_shape: extents for inputs, by name, or the text form `"x:1,3,224,224;y:..."`.
        kernels: folder for a copy of the kernel stubs.
        templates: folder of kernel templates that replace or extend atc-py's own.
        op_specs: folder of specifications that lie over the built-in ones.
        on_stage: called with the name of each stage as it begins.
        **choice: passes, precision mode and ATC's finer controls, see `ConvertChoice`.

    Returns:
        The record of the conversion: files, stages, operators before and after, sizes.

    Raises:
        AtcError: with every finding of the stage that could not be passed.
    """
    from atc_py.driver import compile_model

    switches, dump_ir = choice.get("fusion_switch_file"), choice.get("dump_ir")
    options = CompileOptions(
        soc=soc,
        precision_mode=_chosen_mode(choice),
        input_shapes=_shapes(input_shape),
        disabled_passes=frozenset(choice.get("disable_pass", ())),
        fusion_switch_file=None if switches is None else Path(switches),
        dump_ir=None if dump_ir is None else output_folder("dump_ir", dump_ir),
        kernels=None if kernels is None else output_folder("kernels", kernels),
        templates=None if templates is None else Path(templates),
        verify=choice.get("verify", False),
        reuse_memory=not choice.get("disable_reuse_memory", False),
        op_specs=None if op_specs is None else Path(op_specs),
        precision=_precision_options(choice),
    )
    return compile_model(Path(model), default_output(Path(model), output), options, on_stage)


def quantize_model(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    format: str = "ascend",  # noqa: A002  (the option's name)
    external_data: bool = False,
    on_stage: Callable[[str], None] | None = None,
) -> Quantisation:
    """Write a quantised ONNX model in another form; it quantises nothing that is not quantised.

    Args:
        model: path of the .onnx file.
        output: path of the .onnx file to write; by default `NAME.FORMAT.onnx` beside the model.
        format: `ascend`, the form that Ascend's toolkit takes, or `qdq`, that of ONNX runtimes.
        external_data: put weights into a file beside the output, as is done from 1.8 GB on anyway.
        on_stage: called with the name of each stage as it begins.

    Returns:
        The record of the rewrite: files and their sizes, which layers run on int8, which do not
        and why.

    Raises:
        AtcError: the model has nothing to rewrite, or a form that the other cannot say.
    """
    from atc_py.quantize import rewrite_quantised

    return rewrite_quantised(Path(model), output, format, external=external_data, on_stage=on_stage)


def load(
    path: str | os.PathLike[str],
    *,
    device: str = "sim",
    storage: str = "logical",
    timeout: float | None = None,
) -> Model:
    """Open an offline model on a device, ready to run.

    Args:
        path: the offline model.
        device: name of the back end.
        storage: `exact` keeps every tensor in its storage format and true dtype at its place of
            the memory plan, byte by byte; `logical` leaves that to the device. Results are the
            same.
        timeout: seconds that the device may take for each answer, 0 for any time. Where it is
            given, the device has a process of its own: it may die or hang, and the run ends with
            DEVICE_FAILED or DEVICE_TIMEOUT.

    Raises:
        AtcError: the file is not a sound offline model, or no such device is installed, or it does
            not have that way to store.
    """
    return Model(Path(path), device, storage, timeout)


@dataclass(frozen=True, slots=True)
class Port:
    """A model input or output: its name, element type and shape.

    An extent of an output is None where only the run knows it.
    """

    name: str
    dtype: DType
    shape: Dims


@final
class Model:
    """An offline model on a device; use it in a `with` block or call `close`.

    Attributes:
        inputs: what `run` takes.
        outputs: what `run` returns.
    """

    def __init__(
        self,
        path: Path,
        device: str = "sim",
        storage: str = "logical",
        timeout: float | None = None,
    ) -> None:
        from atc_py.device.backend import load_stored
        from atc_py.device.supervised import backend_for
        from atc_py.package.reader import open_model

        self._backend = backend_for(device, timeout)
        self._package = open_model(path)
        try:
            self._backend.open()
            self._handle = load_stored(self._backend, self._package, storage)
        except BaseException:
            self.close()
            raise
        description = self._package.description
        self.inputs = _ports(description, description.inputs)
        self.outputs = _ports(description, description.outputs)

    @property
    def description(self) -> OmModel:
        """The offline model's own description."""
        return self._package.description

    def run(
        self, inputs: Mapping[str, npt.NDArray[np.generic]]
    ) -> dict[str, npt.NDArray[np.generic]]:
        """Run once; arrays must have the dtypes and shapes of `inputs`.

        Raises:
            AtcError: an input is missing or does not fit, or the device failed.
        """
        given: object = inputs
        if not isinstance(given, Mapping):
            raise BAD_RUN_INPUT.error(
                f"inputs must be a mapping of names to arrays, found {type(given).__name__}",
                help=f"the model's inputs are {', '.join(port.name for port in self.inputs)}",
            )
        return self._backend.run(self._handle, inputs)

    def profile(self) -> Sequence[NodeProfile]:
        """What each node of the last run took."""
        return self._backend.profile(self._handle)

    def close(self) -> None:
        """Give back the device and the file."""
        try:
            self._backend.close()
        finally:
            self._package.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _ports(description: OmModel, ports: Sequence[OmPort]) -> tuple[Port, ...]:
    """The ports with the types of their tensors."""
    tensors = description.tensors
    return tuple(
        Port(port.name, DType(tensors[port.tensor].dtype), tuple(tensors[port.tensor].shape))
        for port in ports
    )


def _precision_options(given: PrecisionSettings) -> PrecisionOptions:
    """The finer controls of precision, paths as paths."""

    def path(file: str | os.PathLike[str] | None) -> Path | None:
        return None if file is None else Path(file)

    return PrecisionOptions(
        keep_dtype=path(given.get("keep_dtype")),
        customize_dtypes=path(given.get("customize_dtypes")),
        modify_mixlist=path(given.get("modify_mixlist")),
        input_fp16_nodes=given.get("input_fp16_nodes", ""),
        output_type=given.get("output_type", ""),
        op_precision_mode=path(given.get("op_precision_mode")),
        is_weight_clip=given.get("is_weight_clip", True),
    )


def _chosen_mode(given: PrecisionChoice) -> PrecisionMode:
    """The mode that one of two options names; force_fp16 where neither does.

    Raises:
        AtcError: OPTIONS_EXCLUDE where both do, BAD_OPTION for a name that is none.
    """
    first, second = given.get("precision_mode"), given.get("precision_mode_v2")
    if first is not None and second is not None:
        raise OPTIONS_EXCLUDE.error(
            f"--precision-mode {first} and --precision-mode-v2 {second} both name a mode",
            help="give one of them",
        )
    if second is None:
        return _precision_mode(first or PrecisionMode.FORCE_FP16.value, tuple(PrecisionMode))
    known = PrecisionMode.second_names()
    if second not in known:
        raise BAD_OPTION.error(
            f"no precision mode is called {second!r} here", help=f"modes are {', '.join(known)}"
        )
    return known[second]


def _precision_mode(name: str, allowed: Sequence[PrecisionMode]) -> PrecisionMode:
    """The one of the `allowed` precision modes that is called `name`."""
    mode = next((mode for mode in allowed if mode.value == name), None)
    if mode is None:
        known = ", ".join(mode.value for mode in allowed)
        raise BAD_OPTION.error(
            f"no precision mode is called {name!r} here", help=f"modes are {known}"
        )
    return mode


def _shapes(given: str | Mapping[str, Sequence[int]]) -> dict[str, Shape]:
    """Input shapes from either form."""
    if isinstance(given, str):
        return parse_input_shapes(given) if given else {}
    return {name: tuple(int(extent) for extent in shape) for name, shape in given.items()}
