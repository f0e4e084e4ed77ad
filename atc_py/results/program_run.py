"""The record of a program under `atc-py exec`: which models ran where, and what differed."""

from typing import Annotated, Any, TypeAlias

import msgspec

VERSION = 1
"""Version of the JSON form; it changes where a reader of the old one would go wrong."""

PLACES = ("npu", "onnxruntime", "both", "none")

_Version: TypeAlias = Annotated[int, msgspec.Meta(extra_json_schema={"const": VERSION})]
_Where: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(PLACES)})]


class _ProgramPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the record."""


class ProgramUse(_ProgramPart, frozen=True, kw_only=True):
    """Runs in one place.

    Attributes:
        runs: how many there were.
        seconds: their time together.
    """

    runs: int
    seconds: float


class ProgramCompilation(_ProgramPart, frozen=True, kw_only=True):
    """A compilation.

    Attributes:
        shapes: dims of the inputs that the model leaves open, by name.
        times: how often it was compiled for them, in all processes.
        seconds: the time that it took together.
    """

    shapes: dict[str, list[int]]
    times: int
    seconds: float


class ProgramOutput(_ProgramPart, frozen=True, kw_only=True):
    """Comparison of an output on the simulated NPU with onnxruntime's, over all runs.

    Attributes:
        name: the output.
        npu_dtype: dtype of the simulated NPU's result.
        onnxruntime_dtype: dtype of onnxruntime's.
        runs: runs that were compared.
        other_shapes: runs with results of different shapes, or of no numbers; nothing else of them
            counts.
        cosine: cosine similarity of all values of all runs as one vector.
        least_cosine: the lowest cosine similarity of one run.
        largest_error: the largest absolute difference; null where only one side is finite.
        equal_argmax: share of rows along the last axis whose largest element is the same; null
            where rows have one element.
    """

    name: str
    npu_dtype: str
    onnxruntime_dtype: str
    runs: int
    other_shapes: int
    cosine: float | None
    least_cosine: float | None
    largest_error: float | None
    equal_argmax: float | None


class ProgramFallback(_ProgramPart, frozen=True, kw_only=True):
    """A reason why a model ran in onnxruntime.

    Attributes:
        code: code of the first finding.
        message: its message.
        codes: how many findings have each code.
        shapes: shapes of the inputs that were refused; null for the whole model.
        processes: processes that met it.
        findings: all findings.
    """

    code: str
    message: str
    codes: dict[str, int]
    shapes: dict[str, list[int]] | None
    processes: int
    findings: list[dict[str, Any]]


class ProgramModel(_ProgramPart, frozen=True, kw_only=True):
    """A model of which the program made sessions.

    Attributes:
        file: the file's path; empty where the program gave bytes.
        name: name of the graph.
        digest: SHA-256 of the file or the bytes.
        bytes: their number.
        where: npu, onnxruntime, or both; none where no session ran and none was compiled.
        sessions: sessions that were made.
        processes: processes that made them.
        npu: runs on the simulated NPU.
        onnxruntime: runs in onnxruntime instead.
        shadow: runs in onnxruntime beside the NPU, of --shadow.
        compile_seconds: time of all compilations.
        compilations: by shapes.
        outputs: comparisons of --shadow.
        fallbacks: why it ran in onnxruntime.
        remarks: which session options and providers of the program have no effect.
    """

    file: str
    name: str
    digest: str
    bytes: int
    where: _Where
    sessions: int
    processes: int
    npu: ProgramUse
    onnxruntime: ProgramUse
    shadow: ProgramUse
    compile_seconds: float
    compilations: list[ProgramCompilation]
    outputs: list[ProgramOutput]
    fallbacks: list[ProgramFallback]
    remarks: list[str]


class ProgramProcess(_ProgramPart, frozen=True, kw_only=True):
    """A process that made a session.

    Attributes:
        pid: its number.
        parent: the number of the process that started it.
        command: its command line.
        python: version of its Python.
        sessions: sessions that it made.
        runs: runs of these, wherever.
    """

    pid: int
    parent: int
    command: list[str]
    python: str
    sessions: int
    runs: int


class ProgramRun(_ProgramPart, frozen=True, kw_only=True):
    """A program that ran under `atc-py exec`.

    Attributes:
        version: version of this form.
        tool: name and version of atc-py.
        command: the program's command line.
        status: the exit status.
        seconds: how long it ran.
        options: the options that concern sessions, by name.
        models: the models, in the order in which they were met.
        processes: the processes with sessions.
        diagnostics: findings about the run as a whole.
    """

    version: _Version
    tool: str
    command: list[str]
    status: int
    seconds: float
    options: dict[str, Any]
    models: list[ProgramModel]
    processes: list[ProgramProcess]
    diagnostics: list[dict[str, Any]]
