"""Names of attributes that files since CANN 7.0 have as numbers (`om_compress_version` 1)."""

from collections.abc import Sequence

from atc_py.diag import AtcError
from atc_py.package.ge.source import GeSource
from atc_py.text import Text

_BASE = 127
_LONGEST = 5
"""Digits of a number, of 127 each; four are more than any list of names has."""


class GeNameTable:
    """The lists of a model that numbers stand for."""

    def __init__(
        self,
        source: GeSource,
        names: Sequence[str],
        uses_text: Sequence[bool],
        texts: Sequence[str],
    ) -> None:
        """Make the table of a model; names that `uses_text` marks have positions in `texts`."""
        self._source = source
        self._names, self._uses_text, self.texts = names, uses_text, texts
        self._known: dict[bytes, tuple[str, bool]] = {}

    def resolve(self, key: bytes) -> tuple[str, bool]:
        """The name of an attribute, and whether its integers stand for texts.

        Raises:
            AtcError: BAD_HUAWEI_MODEL for a number that the table does not have.
        """
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._resolved(key)
        return known

    def text(self, number: int) -> str:
        """The text that an integer stands for.

        Raises:
            AtcError: BAD_HUAWEI_MODEL where there is none.
        """
        if not 0 <= number < len(self.texts):
            raise self._missing(number, "attr_value_enum", len(self.texts))
        return self.texts[number]

    def _resolved(self, key: bytes) -> tuple[str, bool]:
        if key[:1] != b"\0":
            return key.decode("utf-8", "replace"), False
        number = -1
        if len(key) <= _LONGEST:
            number = sum((byte - 1) * _BASE**at for at, byte in enumerate(key[1:]))
        if not 0 <= number < len(self._names):
            raise self._missing(number, "attr_name_enum", len(self._names))
        return self._names[number], number < len(self._uses_text) and self._uses_text[number]

    def _missing(self, number: int, table: str, count: int) -> AtcError:
        return self._source.fault(
            Text(
                "an attribute has number {number} in {table}, which has {count} entries",
                number=number,
                table=table,
                count=count,
            ),
            table,
        )
