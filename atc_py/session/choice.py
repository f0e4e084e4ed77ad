"""Choices of a program that opens a session: the model and the options, as values to pickle."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from atc_py.device.guarded import find_guarded
from atc_py.diag import AtcError, Place
from atc_py.diag.codes import BAD_OPTION, SESSION_UNSUPPORTED
from atc_py.options.choices import ConvertChoice, optional_path, reject_unknown
from atc_py.options.compile_options import CompileOptions
from atc_py.options.ranges import refuse_ranges
from atc_py.pipeline.convert import compile_options
from atc_py.session.errors import load_error, session_error
from atc_py.session.source import SessionSource, source_of
from atc_py.system.memory_limit import memory_limit, parse_size
from atc_py.system.structs import replace
from atc_py.text import Text


class SessionKeywords(ConvertChoice, total=False):
    """Options of a session that `convert` has, too, and keywords of onnxruntime without meaning here.

    Attributes:
        enable_fallback: whether onnxruntime tries another provider.
        read_config_from_model: whether onnxruntime takes options from the model.
        disabled_optimizers: names of onnxruntime's passes.
    """

    enable_fallback: object
    read_config_from_model: object
    disabled_optimizers: object


def own_options(given: SessionKeywords) -> ConvertChoice:
    """Return the options of `convert`.

    Raises:
        TypeError: a keyword is unknown.
    """
    reject_unknown("InferenceSession", given, SessionKeywords)
    known = ConvertChoice.__annotations__
    return cast("ConvertChoice", {name: each for name, each in given.items() if name in known})


_SHARE = 4
"""Part of the memory limit that kept models may take by default: one in so many."""


@dataclass(frozen=True)
class SessionChoice:
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
    convert: ConvertChoice

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
        """Return the model.

        Raises:
            AtcError: UNKNOWN_DEVICE, options that have no meaning, what reading the model finds.
        """
        try:
            options = compile_options("InferenceSession", self.convert, self.soc, self.input_shape)
            options = replace(options, op_specs=optional_path(self.op_specs))
            refuse_ranges(options.ranges, Text("a session compiles for the shapes that are fed"))
            _require_own_inputs(options)
            find_guarded(self.device)
            return source_of(self.model, options, self.device, self.weights_folder)
        except AtcError as error:
            raise load_error(error) from error


def _require_own_inputs(options: CompileOptions) -> None:
    """Refuse AIPP: a program feeds the inputs that the ONNX model declares.

    Raises:
        AtcError: SESSION_UNSUPPORTED.
    """
    if options.aipp is not None:
        raise SESSION_UNSUPPORTED.error(
            "a session of an ONNX model has the model's own inputs, which AIPP replaces by pictures",
            place=Place(field="aipp"),
            help="convert the model with `aipp`, and open the offline model",
        )
