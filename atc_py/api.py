"""The Python interface: `convert` a model, `load` an offline model and run it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack

from atc_py.options.compile_options import AUTO, CheckOptions
from atc_py.options.keywords import CheckKeywords, FixKeywords, QuantizeKeywords, RuleKeywords
from atc_py.options.option import optional_path, parse_options, reject_unknown
from atc_py.pipeline.convert import convert as convert
from atc_py.pipeline.running.model import Model as Model
from atc_py.system.input_files import guarded_run

if TYPE_CHECKING:
    from atc_py.check.findings import CheckReport
    from atc_py.onnx_graph.source import FileGraph
    from atc_py.results.fixing import Fixing
    from atc_py.results.quantization import FloatQuantization, Quantization


@guarded_run()
def check_models(  # noqa: PLR0913  (keywords, each of them an option)
    models: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    soc: str = "sim",
    input_shape: str | Mapping[str, Sequence[int]] = "",
    op_specs: str | os.PathLike[str] | None = None,
    processes: int | None = 1,
    on_stage: Callable[[str], None] | None = None,
    outlines: dict[str, FileGraph] | None = None,
    **keywords: Unpack[CheckKeywords],
) -> CheckReport:
    """Check every node of ONNX models against the operator list, and its dtypes against kernels.

    Args:
        models: path of an .onnx file, or paths of several.
        soc: name of the SoC; `sim` is the generic device.
        input_shape: dims for inputs, by name, or the text form `"x:1,3,224,224;y:..."`. What
            the models leave open and no shape fixes is not guessed: rules on it are undecided.
        op_specs: folder of specifications that replace or extend the built-in ones.
        processes: how many processes may share several models; None for as many as pay. They start
            the program's main module anew, which must therefore do its work under
            `if __name__ == "__main__"`.
        on_stage: called with the number of models that are done, where there are several.
        outlines: takes the graph of each file that can be read, by its path; reports draw it.
        **keywords: as in `convert`. Of several models, one must have each name that they use.

    Returns:
        Every finding of every model. A file that cannot be read is a model with faults.

    Raises:
        TypeError: a keyword is unknown.
        AtcError: an option has no meaning, or a user's specification has a fault.

    Example:
        >>> import atc_py
        >>> report = atc_py.check_models(["model.onnx", "refused.onnx"], soc="Ascend310P3")
        >>> [model.standing.value for model in report.models]
        ['supported', 'error']
        >>> finding = report.models[1].findings[0]
        >>> finding.code.id, finding.place.node_name, finding.message.en
        ('ATC3001', 'mish', 'Mish is not on the operator list')
    """
    from atc_py.pipeline.check import check_files

    reject_unknown("check_models", keywords, CheckKeywords)
    options = parse_options(
        "check_models", CheckOptions, keywords, soc=soc, input_shape=input_shape, op_specs=op_specs
    )
    paths = map(Path, [models] if isinstance(models, str | os.PathLike) else models)
    return check_files(list(paths), options, processes, on_stage, file_graphs=outlines)


@guarded_run()
def quantize_model(  # noqa: PLR0913  (keywords, each of them an option)
    model: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    format: str = "ascend",  # noqa: A002  (the option's name)
    external_data: bool = False,
    quant_bias: str = AUTO,
    operator_list: str | None = None,
    strict_list: bool = False,
    fix: RuleKeywords | None = None,
    on_stage: Callable[[str], None] | None = None,
) -> Quantization:
    """Write a quantized ONNX model in another form; it quantizes nothing that is not quantized.

    Args:
        model: path of the .onnx file.
        output: path of the .onnx file to write; by default `NAME.FORMAT.onnx` beside the model.
        format: `ascend`, the form that Ascend's toolkit takes, or `qdq`, that of ONNX runtimes.
        external_data: put weights into a separate file, which is always done for 1.8 GB or more.
        quant_bias: as in `convert`, of a model in the form `ascend`.
        operator_list: the list whose rules what is written is compared with, which fails nothing;
            by default as in `convert`.
        strict_list: let rules that boards contradict count like any other.
        fix: as in `convert`: the rules that replace what the list refuses first.
        on_stage: called with the name of each stage as it begins.

    Returns:
        The record of the rewrite: files and their sizes, which layers run on int8, which do not
        and why.

    Raises:
        AtcError: the model has nothing to rewrite, or a form that the other cannot say.

    Example:
        >>> import atc_py
        >>> done = atc_py.quantize_model("int8.onnx", "ascend.onnx")
        >>> done.output.stem, done.layers
        ('ascend', 1)
    """
    from atc_py.options.command_options import RewriteOptions
    from atc_py.pipeline.quantize import rewrite_quantized

    options = parse_options(
        "quantize_model", RewriteOptions, {}, format=format, external_data=external_data, fix=fix,
        quant_bias=quant_bias, operator_list=operator_list, strict_list=strict_list,
    )  # fmt: skip
    return rewrite_quantized(Path(model), output, options, on_stage)


@guarded_run()
def quantize(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    data: str
    | os.PathLike[str]
    | Sequence[str | os.PathLike[str]]
    | Sequence[Mapping[str, npt.NDArray[np.generic]]] = (),
    format: str = "ascend",  # noqa: A002  (the option's name)
    on_stage: Callable[[str], None] | None = None,
    **keywords: Unpack[QuantizeKeywords],
) -> FloatQuantization:
    """Quantize a float ONNX model: run it over samples, and write it with its layers on int8.

    Args:
        model: path of the .onnx file.
        output: path of the .onnx file to write; by default `NAME.FORMAT.onnx` beside the model. Of
            both forms, the other one goes beside it, as `NAME.qdq.onnx`.
        data: the samples: a folder with a file for each, an array file with the samples along the
            first axis, `NAME=PATH` of each input, or the arrays of each sample by input.
        format: `ascend`, the form that Ascend's toolkit takes, `qdq`, that of ONNX runtimes, or `both`.
        on_stage: called with the progress.
        **keywords: other samples, how ranges and scales are chosen, and which layers stay in floats;
            see `QuantizeKeywords`.

    Returns:
        The record: files, layers with their numbers, layers in floats with the reason.

    Raises:
        TypeError: a keyword is unknown.
        AtcError: samples do not fit the model, have NaN or never reach a layer, the model is
            quantized already, or a file cannot be written. Nothing is written then.

    Example:
        >>> import atc_py, numpy as np
        >>> images = [{"x": np.full((1, 3, 8, 8), n, np.float32)} for n in (-1, 0, 2)]
        >>> done = atc_py.quantize("model.onnx", "int8.onnx", data=images)
        >>> done.samples
        3
    """
    from atc_py.quantizing.options import QuantizeOptions
    from atc_py.quantizing.quantize_float import quantize_float

    reject_unknown("quantize", keywords, QuantizeKeywords)
    samples = (data,) if isinstance(data, str | os.PathLike) else tuple(data)
    options = parse_options("quantize", QuantizeOptions, keywords, data=samples, format=format)
    return quantize_float(Path(model), output, options, on_stage)


@guarded_run()
def fix_model(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    soc: str = "sim",
    input_shape: str | Mapping[str, Sequence[int]] = "",
    op_specs: str | os.PathLike[str] | None = None,
    **keywords: Unpack[FixKeywords],
) -> Fixing:
    """Write an ONNX model in an equivalent form that the operator list takes, as far as rules can.

    Args:
        model: path of the .onnx file.
        output: path of the .onnx file to write; by default `NAME.fixed.onnx` beside the model.
        soc: as in `check_models`, and so are the next two.
        input_shape: dims for inputs; others that the model leaves open are those of `data`.
        op_specs: folder of specifications.
        **keywords: the rules, the proof, and the options of `check_models`; see `FixKeywords`.

    Returns:
        The record: each rewritten node with its rules and its error, and the findings that are left.

    Raises:
        TypeError: a keyword is unknown.
        AtcError: a file cannot be read or written; FIX_DIFFERS where a rewrite differs from the
            original.

    Example:
        >>> import atc_py
        >>> done = atc_py.fix_model("refused.onnx", "fixed.onnx")
        >>> [rule for each in done.rewrites for rule in each.rules]
        ['function-body']
        >>> atc_py.check_models("fixed.onnx").standing.value
        'rewrite'
    """
    from atc_py.compare.proof.fix_file import fix_file
    from atc_py.options.command_options import FixOptions

    reject_unknown("fix_model", keywords, FixKeywords)
    dims = input_shape
    if data := keywords.get("data"):
        from atc_py.compare.dims_of_data import shapes_with_data

        dims = shapes_with_data(model, input_shape, data, 1, {})
    options = parse_options(
        "fix_model", FixOptions, keywords, soc=soc, input_shape=dims, op_specs=op_specs
    )
    return fix_file(Path(model), output, options)


@guarded_run()
def load(
    path: str | os.PathLike[str],
    *,
    device: str = "sim",
    storage: str = "logical",
    timeout: float | None = None,
    like: str | os.PathLike[str] | None = None,
    submodel: str | None = None,
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
        like: the ONNX file that an offline model of Huawei's atc was made of, for what that lost.
        submodel: the model of such a file with several, by position or name.

    Raises:
        AtcError: the file is not a sound offline model, or no such device is installed, or it does
            not have that way to store.

    Example:
        >>> import atc_py
        >>> done = atc_py.convert("model.onnx", "model.om")
        >>> with atc_py.load("model.om") as model:
        ...     [(port.name, port.dtype.value, port.shape) for port in model.inputs]
        [('x', 'float32', (1, 3, 8, 8))]
    """
    origin = optional_path(like), submodel
    return Model(Path(path), device, storage, timeout, origin=origin)
