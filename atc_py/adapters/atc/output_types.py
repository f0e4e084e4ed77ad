"""--output_type: its names of dtypes and its form, as atc checks them."""

from atc_py.adapters.atc.faults import atc_error
from atc_py.adapters.atc.tokens import Flags
from atc_py.diag import NOT_MODELED, Place
from atc_py.text import Text

_NOT_MODELED = ("HIF8", "HIF4", "FP8E5M2", "FP8E4M3FN")
_TYPES = (
    "FP32", "FP16", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64", "INT64",
    "DOUBLE",
)  # fmt: skip
"""Names of dtypes; the later ones are in atc's documents and not in its newest table [D]."""

_LARGEST = 2**31 - 1
_PARTS = 3


def check_output_type(flags: Flags) -> None:
    """Check --output_type.

    Raises:
        AtcError: with E10001 for another form or dtype, and for an output that --out_nodes does not
            name; with E10013 for an index beyond 32 bits.
    """
    text = flags["output_type"]
    if not text:
        return
    if ":" not in text:
        _check_type(text, text)
        return
    named = {each.strip() for each in flags["out_nodes"].split(";")}
    for entry in filter(None, (each.strip() for each in text.split(";"))):
        parts = [part.strip() for part in entry.split(":")]
        if len(parts) != _PARTS:
            raise _invalid(text, f"{entry!r} is not `node:index:TYPE`")
        node, index, dtype = parts
        if not (index.isascii() and index.isdigit()):
            raise _invalid(text, f"the index {index!r} of {node!r} is not a number")
        if len(index) > len(str(_LARGEST)) or int(index) > _LARGEST:
            raise atc_error("E10013", index[:20], "output_type", place=_PLACE)
        _check_type(dtype, text)
        if f"{node}:{index}" not in named:
            raise _invalid(text, f"{node}:{index} is not among --out_nodes")


_PLACE = Place(field="--output_type")


def _check_type(name: str, text: str) -> None:
    if name in _NOT_MODELED:
        raise atc_error(
            "E10055", f"the dtype {name} of Ascend950", code=NOT_MODELED, place=_PLACE,
            help=Text("give FP16 or FP32"),
        )  # fmt: skip
    if name not in _TYPES:
        raise _invalid(
            text, Text("{name} is none of {types}", name=repr(name), types=", ".join(_TYPES))
        )


def _invalid(text: str, reason: str) -> Exception:
    help_ = Text('write --output_type=FP16, or "Conv_0:0:FP16" beside --out_nodes="Conv_0:0"')
    return atc_error("E10001", text, "--output_type", reason, place=_PLACE, help=help_)
