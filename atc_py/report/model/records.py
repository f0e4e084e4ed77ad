"""Records that a conversion leaves in an offline model's report, read back by their schemas."""

from collections.abc import Mapping
from typing import TypeVar, cast

import msgspec

from atc_py.diag import AtcError, Place
from atc_py.diag.codes import OM_CONTENT
from atc_py.text import Text

Record = TypeVar("Record")


def read_record(report: Mapping[str, object], name: str, schema: type[Record], file: str) -> Record:
    """The record called `name`, validated against its schema.

    Args:
        report: of the offline model, decoded.
        name: its key in the report.
        schema: a TypedDict.
        file: path of the offline model, for diagnostics.

    Raises:
        AtcError: OM_CONTENT where the report has none, or one that does not follow its schema.
    """
    found = report.get(name)
    if not isinstance(found, dict):
        raise _unusable_record(Text("the report has no record of {name}", name=name), file)
    try:
        msgspec.convert(found, schema)
    except msgspec.ValidationError as error:
        message = Text(
            "the record of {name} does not follow its schema: {error}", name=name, error=error
        )
        raise _unusable_record(message, file) from error
    return cast("Record", found)


def _unusable_record(message: Text, file: str) -> AtcError:
    """A report without a record that can be shown."""
    return OM_CONTENT.error(
        message,
        place=Place(file, field="report.json"),
        help=Text("convert the model again with this version of atc-py"),
    )
