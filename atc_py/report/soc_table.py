"""The SoCs as a table and as JSON values."""

from collections.abc import Sequence

from atc_py.report.tables import Table, format_bytes
from atc_py.target import Soc, operators
from atc_py.tensor.dtypes import DType

_CONVOLUTION = "Conv2D"
"""The operator whose kernels say what the cube multiplies."""

_KIB = 1024


def cube_dtypes(soc: Soc) -> list[str]:
    """The dtypes that the SoC's cube multiplies, those of data of a convolution."""
    (row,) = (operator for operator in operators() if operator.name == _CONVOLUTION)
    found = dict.fromkeys(column.inputs[0] for column in row.columns_on(soc))
    names = [each.value for each in found if each is not DType.FLOAT32 or soc.cube_float32]
    return sorted(names, key=lambda name: (not name.startswith("float"), name))


def soc_table(socs: Sequence[Soc]) -> Table:
    head = (
        "SoC", "family", "AI Cores>", "vector cores>", "AI CPUs>", "MHz>", "L2, MiB>", "memory>",
        "cube multiplies",
    )  # fmt: skip
    rows = [
        (
            soc.name,
            soc.family.value,
            str(soc.aicores),
            str(soc.vector_cores),
            str(soc.aicpus or "-"),
            str(soc.mhz),
            f"{soc.l2_kib / _KIB:g}",
            "-" if soc.memory is None else format_bytes(soc.memory),
            ", ".join([*cube_dtypes(soc), *(["HF32"] if soc.cube_hf32 else [])]),
        )
        for soc in socs
    ]
    return Table("", head, tuple(rows))


def socs_json(socs: Sequence[Soc]) -> list[dict[str, object]]:
    """The same as JSON values; what is not published is null."""
    return [
        {
            "name": soc.name,
            "family": soc.family.value,
            "arch": soc.arch,
            "ai_cores": soc.aicores,
            "vector_cores": soc.vector_cores,
            "ai_cpus": soc.aicpus or None,
            "mhz": soc.mhz,
            "l2_bytes": soc.l2_kib * _KIB,
            "memory_bytes": soc.memory,
            "cube_dtypes": cube_dtypes(soc),
            "hf32": soc.cube_hf32,
        }
        for soc in socs
    ]
