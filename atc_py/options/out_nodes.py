"""The text of `--out-nodes`: tensors, or `node:index`, joined by `;`."""

import msgspec

from atc_py.diag import BAD_OPTION, AtcError, AtcFault, Place
from atc_py.text import Text

OUT_NODES_PLACE = Place(field="--out-nodes")
"""Place of diagnostics about the text."""

_FORM = Text(
    'write the names of tensors, "scores;boxes", or nodes with an output\'s index, "Conv_3:0"'
)
_LARGEST = 2**31 - 1


class OutNode(msgspec.Struct, frozen=True):
    """A result that becomes an output of the model.

    Attributes:
        text: the entry as it was given.
        name: of the tensor, or of the node where `index` is given.
        index: position among the node's outputs; None for a tensor's name.
    """

    text: str
    name: str
    index: int | None = None


def parse_out_nodes(text: str) -> tuple[OutNode, ...]:
    """The entries of `text`, in its order; an empty text has none.

    Raises:
        AtcError: BAD_OPTION for an entry that is empty, has more than one colon or an index that is
            not a number, for one that is given twice, and for entries of both forms.
    """
    if not text:
        return ()
    given = text.split(";")
    if len(given) > 1 and not given[-1].strip():
        del given[-1]
    found = tuple(_entry(each.strip(), text) for each in given)
    if len({each.index is None for each in found}) > 1:
        raise out_nodes_error(
            text,
            Text(
                "{text} mixes names of tensors with `node:index`, which cannot stand together",
                text=repr(text),
            ),
        )
    if len(set(found)) < len(found):
        raise out_nodes_error(text, Text("{text} names a result twice", text=repr(text)))
    return found


def out_nodes_error(value: str, message: Text, code: str = "E10001") -> AtcError:
    """A finding about `value`, all or a part of the text; ATC's code takes its reason."""
    reason = (message,) if code != "E10013" else ()
    fault = AtcFault(code, (value, "out_nodes" if code != "E10001" else "--out_nodes", *reason))
    return BAD_OPTION.error(message, place=OUT_NODES_PLACE, help=_FORM, atc=fault)


def _entry(entry: str, text: str) -> OutNode:
    parts = entry.split(":")
    if len(parts) == 1 and entry:
        return OutNode(entry, entry)
    if len(parts) != len(("node", "index")) or not parts[0]:
        shown = repr(entry) if entry else Text("an empty entry")
        raise out_nodes_error(
            entry or text,
            Text("{shown} is neither the name of a tensor nor `node:index`", shown=shown),
        )
    name, digits = parts
    if not (digits.isascii() and digits.isdigit()):
        raise out_nodes_error(
            entry,
            Text(
                "the index {digits} of node {name} must be 0 or a positive integer",
                digits=repr(digits),
                name=repr(name),
            ),
        )
    if len(digits.lstrip("0")) > len(str(_LARGEST)) or int(digits) > _LARGEST:
        raise out_nodes_error(
            digits,
            Text(
                "the index {digits} of node {name} is beyond {largest}",
                digits=digits[:20],
                name=repr(name),
                largest=_LARGEST,
            ),
            "E10013",
        )
    return OutNode(entry, name, int(digits))
