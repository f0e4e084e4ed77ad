"""The convention of the biases in a model whose layers are int8 already, and its source."""

from enum import Enum

from atc_py.options.compile_options import QuantBias
from atc_py.system.structs import Result
from atc_py.text import Text, verbatim


class BiasSource(Enum):
    """The source of a convention."""

    OPTION = "option"
    """The user's --quant-bias."""

    MARK = "mark"
    """The mark that atc-py leaves in the metadata of the files that it writes."""

    PRODUCER = "producer"
    """The producer atc-py in a file without the mark; its biases were folded before there was one."""

    ASSUMED = "assumed"
    """No source: other tools write biases as AMCT does."""


_REASONS = {
    BiasSource.OPTION: Text("by --quant-bias"),
    BiasSource.MARK: Text("stated in the file's metadata"),
    BiasSource.PRODUCER: Text(
        "an earlier atc-py wrote the file; otherwise give --quant-bias unfolded"
    ),
    BiasSource.ASSUMED: Text(
        "assumed: the file does not say, and AMCT writes them so; otherwise give "
        "--quant-bias folded"
    ),
}


class BiasConvention(Result, frozen=True):
    """The way to read the biases of int8 layers in a file.

    Attributes:
        form: the convention.
        source: where it comes from.
    """

    form: QuantBias
    source: BiasSource

    @property
    def text(self) -> Text:
        """Return `unfolded (stated in the file's metadata)` and the like."""
        return verbatim(self.form.value) + Text(" (") + _REASONS[self.source] + Text(")")

    def as_json(self) -> dict[str, str]:
        """Return the two names."""
        return {"convention": self.form.value, "source": self.source.value}


def form_of(convention: BiasConvention | None) -> QuantBias:
    """Return the convention of a graph; unfolded where no layer was int8 in the file."""
    return QuantBias.UNFOLDED if convention is None else convention.form
