"""The convention of the biases in a model whose layers are int8 already, and what says so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from atc_py.diag import Words
from atc_py.options.compile_options import QuantBias

__all__ = ["BiasConvention", "BiasSource", "form_of"]


class BiasSource(Enum):
    """The reason to read biases by one convention."""

    OPTION = "option"
    """The user's --quant-bias."""

    MARK = "mark"
    """The mark that atc-py leaves in the metadata of the files that it writes."""

    PRODUCER = "producer"
    """The file's producer is atc-py and there is no mark: before there was one, biases were folded."""

    ASSUMED = "assumed"
    """Nothing: every other tool writes biases as AMCT does."""


_REASONS = {
    BiasSource.OPTION: Words("by --quant-bias", "由 --quant-bias 指定"),
    BiasSource.MARK: Words("stated in the file's metadata", "由文件元数据标明"),
    BiasSource.PRODUCER: Words(
        "an earlier atc-py wrote the file; otherwise give --quant-bias unfolded",
        "文件由较早的 atc-py 写出；如不符，请用 --quant-bias unfolded",
    ),
    BiasSource.ASSUMED: Words(
        "assumed: the file does not say, and AMCT writes them so; otherwise give --quant-bias folded",
        "推定：文件未标明，AMCT 即如此写出；如不符，请用 --quant-bias folded",
    ),
}


@dataclass(frozen=True, slots=True)
class BiasConvention:
    """How the biases of int8 layers in a file are read.

    Attributes:
        form: the convention.
        source: what says so.
    """

    form: QuantBias
    source: BiasSource

    @property
    def text(self) -> Words:
        """`unfolded (stated in the file's metadata)`."""
        return (
            Words.same(self.form.value)
            + Words(" (", "（")
            + _REASONS[self.source]
            + Words(")", "）")
        )

    def as_json(self) -> dict[str, str]:
        """The two names."""
        return {"convention": self.form.value, "source": self.source.value}


def form_of(convention: BiasConvention | None) -> QuantBias:
    """The convention of a graph; where no layers were int8 before, that of those that are made so."""
    return QuantBias.UNFOLDED if convention is None else convention.form
