"""Text from files, made harmless for terminals and lines: control characters become escapes."""

_MOST = 2000
"""Characters of one piece of a text report; names in models may have millions."""

_FORMULA = ("=", "+", "-", "@")
"""What begins a formula in a spreadsheet."""


def visible(text: str) -> str:
    """`text` with every character that is not printable as an escape.

    These are line breaks, terminal commands, marks that turn the reading direction, and bytes of
    file names that are not UTF-8.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def clipped(text: str, most: int = _MOST) -> str:
    """`text` made visible, its middle left out beyond `most` characters."""
    half = most // 2
    if len(text) <= most:
        return visible(text)
    left_out = len(text) - 2 * half
    return f"{visible(text[:half])} ...({left_out} characters)... {visible(text[-half:])}"


def csv_cell(text: str) -> str:
    """`text` as a cell of CSV that no spreadsheet takes for a formula."""
    shown = visible(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown
