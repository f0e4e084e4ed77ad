"""The label of inputs: what their axes are."""

from enum import Enum

from atc_py.diag import BAD_OPTION, AtcFault, Place
from atc_py.text import Text


class InputFormat(Enum):
    """Layout that a user says inputs are in; it labels them and moves no data."""

    NCHW = "NCHW"
    NHWC = "NHWC"
    NCDHW = "NCDHW"
    ND = "ND"


def parse_input_format(name: str) -> InputFormat:
    """The layout called `name`.

    Raises:
        AtcError: BAD_OPTION for any other name.
    """
    layout = {row.value: row for row in InputFormat}.get(name)
    if layout is None:
        known = ", ".join(row.value for row in InputFormat)
        raise BAD_OPTION.error(
            Text("--input-format knows no layout {name}", name=repr(name)),
            place=Place(field="--input-format"),
            help=Text("layouts are {known}", known=known),
            atc=AtcFault(
                "E10001",
                (
                    name,
                    "--input_format",
                    Text("the layout must be one of {known}", known=known),
                ),
            ),
        )
    return layout
