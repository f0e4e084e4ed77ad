"""Modes 1 and 6 of a file that Huawei's own atc wrote: the message in it, as atc shows that.

What is left out and what replaces the numbers of names follows atc's source [proven]: atc replaces
them in maps of ops and descriptors, not in those inside of other attributes.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atc_py.adapters.atc.modes.opening import with_fault
from atc_py.diag import BAD_HUAWEI_MODEL, AtcError, AtcFault, Place
from atc_py.onnx_graph.protos.message_json import Json, message_json
from atc_py.package.ge.container import MODEL_DEF
from atc_py.package.ge.model import HuaweiModel, open_huawei
from atc_py.package.ge.names import GeNameTable
from atc_py.system.memory_limit import require_memory
from atc_py.text import Text

_TABLES = {
    "om_compress_version",
    "attr_name_enum",
    "attr_value_enum",
    "attrs_use_string_value",
}
"""Attributes of the model that atc leaves out of the JSON, as their content stands in place."""

_GROWTH = 40
"""Bytes of memory for each of the description's, as message and as JSON values."""

_PARTS = (
    "weight_data_size",
    "tbe_kernels_size",
    "cust_aicpu_kernel_store_size",
    "task_info_size",
    "so_store_size",
)
_SYSTEM = ("atc_version", "soc_version", "framework_type")
_RESOURCES = ("memory_size", "weight_size", "stream_num", "event_num")
_OLD_PARTS = 4
"""Sizes that files before CANN 7.0 list; the atc of that time prints as many."""


@contextmanager
def _opened(om: Path) -> Iterator[HuaweiModel]:
    """The file's first model, which is the one that atc shows."""
    try:
        with open_huawei(om) as file:
            if not file.models or file.models[0].definition is None:
                raise BAD_HUAWEI_MODEL.error(
                    Text("{file} has no description that can be read", file=om),
                    place=Place(file=str(om), field="MODEL_DEF"),
                )
            yield file.models[0]
    except AtcError as error:
        raise with_fault(error, AtcFault("E10041", (str(om),))) from error


def real_om_json(om: Path, dropped: frozenset[str]) -> Json:
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    from atc_py.package.ge.protobuf_classes import model_class

    with _opened(om) as model:
        span = model.partition(MODEL_DEF)
        if span is None or model.definition is None:
            return None
        place = Place(file=str(om), field="MODEL_DEF")
        require_memory(span.size * _GROWTH, Text("the JSON text of the model"), place)
        try:
            message = model_class().FromString(bytes(model.data(span)))
        except DecodeError as error:
            raise model.source.fault(
                Text("protobuf cannot make a model of it"), "MODEL_DEF"
            ) from error
        shown = message_json(message, dropped)
        if isinstance(shown, dict) and isinstance(shown.get("attr"), list):
            rows = shown["attr"]
            compressed = any(row.get("key") == "om_compress_version" for row in rows)
            shown["attr"] = [row for row in rows if row.get("key") not in _TABLES]
            if compressed:
                _replace_names(shown, model.definition.names)
        return shown


def real_om_lines(om: Path) -> list[str]:
    """The lines of mode 6; a number that the file does not have is -1, as atc prints it."""
    with _opened(om) as model:
        attributes = model.attributes
        span = model.partition(MODEL_DEF)
        listed = attributes.numbers("om_info_list") if "om_info_list" in attributes else None
        return info_lines(
            attributes.text("atc_cmdline"),
            map(attributes.text, _SYSTEM),
            (attributes.number(name, -1) for name in _RESOURCES),
            om_line(listed, 0 if span is None else span.size),
        )


def info_lines(
    command_line: str, system: Iterable[str], resources: Iterable[int], sizes: str
) -> list[str]:
    """The lines of mode 6: what made a model, its resources, and the line of its sizes."""
    texts = ", ".join(f"{name}[{text}]" for name, text in zip(_SYSTEM, system, strict=True))
    memory, weights, *others = resources
    counts = ", ".join(f"{name}[{n}]" for name, n in zip(_RESOURCES[2:], others, strict=True))
    return [
        "============ Display Model Info start ============",
        f"Original Atc command line: {command_line}",
        f"system   info: {texts}.",
        f"resource info: memory_size[{memory} B], weight_size[{weights} B], {counts}.",
        sizes,
        "============ Display Model Info end   ============",
    ]


def om_line(listed: Sequence[int] | None, definition: int) -> str:
    """The line of mode 6 with the size of the description, and those of the other parts."""
    if listed is None:
        return (
            'Display Model Info failed, attr "om_info_list" is not found in om, '
            "check the version is matched."
        )
    if len(listed) not in {_OLD_PARTS, len(_PARTS)}:
        return "Display Model Info error, please check!"
    sizes = [("modeldef_size", definition), *zip(_PARTS, listed, strict=False)]
    return f"om       info: {', '.join(f'{name}[{size} B]' for name, size in sizes)}."


def _replace_names(shown: Any, names: GeNameTable) -> None:
    """Put names and texts in place of their numbers, in the values of a whole document."""
    waiting = [shown]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict) and "key" in value and "value" in value:
            name, is_text = names.resolve(value["key"].encode())
            value["key"] = name
            if is_text and isinstance(value["value"], dict):
                _replace_texts(value["value"], names)
        elif isinstance(value, dict):
            waiting += value.values()


def _replace_texts(value: dict[str, Any], names: GeNameTable) -> None:
    """Put the texts that integers stand for in their place."""
    if "i" in value:
        value["s"] = names.text(value.pop("i"))
    items = value.get("list")
    if isinstance(items, dict):
        if "i" in items:
            items["s"] = [names.text(number) for number in items.pop("i")]
        if "val_type" in items:
            items["val_type"] = "VT_LIST_STRING"
