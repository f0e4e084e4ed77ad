"""The tables of docs/aipp.md that are derived from the code; its prose is written by hand."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from atc_py.options.aipp import AippSettings, source_shape
from atc_py.options.aipp.fields import AIPP_FIELDS, AippField, FieldKind
from atc_py.options.aipp.image_formats import IMAGE_FORMATS
from atc_py.options.aipp.rules import AIPP_RULES
from atc_py.pipeline.running.aipp_preview import on_device

PAGE = Path(__file__).resolve().parent.parent / "docs" / "aipp.md"

_BLOCK = re.compile(r"(<!-- derived: (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)

PREPROCESSINGS = {
    "ImageNet: m 0.485, 0.456, 0.406; s 0.229, 0.224, 0.225": (
        (0.485, 0.456, 0.406),
        (0.229, 0.224, 0.225),
    ),
    "-1 to 1: m 0.5, s 0.5": ((0.5,) * 3, (0.5,) * 3),
    "0 to 1: m 0, s 1": ((0.0,) * 3, (1.0,) * 3),
}
WAYS = ("floor in mean, rest in min", "all in min", "rounded mean")


def aipp_page() -> str:
    """Return the page with its tables written again."""
    tables = {
        "float16": float16_table,
        "formats": formats_table,
        "fields": fields_table,
        "rules": rules_table,
    }

    def written(match: re.Match[str]) -> str:
        lines = "".join(f"{line}\n" for line in tables[match[2]]())
        return f"{match[1]}{lines}{match[3]}"

    return _BLOCK.sub(written, PAGE.read_text(encoding="utf-8"))


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield a table."""
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("---" for _ in head) + " |"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def errors(
    means: tuple[float, ...], deviations: tuple[float, ...], way: str
) -> tuple[float, float, float]:
    """Return the largest and the root mean square error of the device, and the least possible."""
    whole = np.array(means) * 255
    mean = {WAYS[0]: np.floor(whole), WAYS[1]: np.zeros(3), WAYS[2]: np.round(whole)}[way]
    low = np.zeros(3) if way == WAYS[2] else whole - mean
    settings = AippSettings(
        src_image_size_w=16,
        src_image_size_h=16,
        mean_chn=(*(int(value) for value in mean), 0),
        min_chn=(*low.tolist(), 0.0),
        var_reci_chn=(*(1 / (255 * value) for value in deviations), 1.0),
    )
    every = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1).repeat(3, axis=3)
    found = on_device(settings, every, as_bytes=False).astype(np.float64)
    plain = every.transpose(0, 3, 1, 2) / 255
    exact = (plain - np.reshape(means, (1, 3, 1, 1))) / np.reshape(deviations, (1, 3, 1, 1))
    gap = np.abs(found - exact)
    once = np.abs(exact.astype(np.float16).astype(np.float64) - exact)
    return float(gap.max()), float(np.sqrt((gap**2).mean())), float(once.max())


def float16_table() -> Iterator[str]:
    """Yield what float16 costs, by preprocessing and by where the mean is."""
    rows = []
    for name, (means, deviations) in PREPROCESSINGS.items():
        for way in WAYS:
            most, typical, least = errors(means, deviations, way)
            rows.append((name, way, f"{most:.5f}", f"{typical:.5f}", f"{least:.5f}"))
    head = ("preprocessing", "255 m is", "largest error", "root mean square", "rounded once")
    yield from _table(head, rows)


def formats_table() -> Iterator[str]:
    """Yield the formats with the shapes of their inputs."""
    rows = []
    for row in IMAGE_FORMATS:
        settings = AippSettings(input_format=row.name, src_image_size_w=224, src_image_size_h=224)
        shape = ", ".join(map(str, source_shape(settings, 1)[1:]))
        even = [
            name for name, flag in (("width", row.even_width), ("height", row.even_height)) if flag
        ]
        code = "no" if row.buffer_code is None else f"yes, {row.buffer_code}"
        socs = [family for family, rules in AIPP_RULES.items() if row.name in rules.formats]
        where = "all" if len(socs) == len(AIPP_RULES) else ", ".join(socs)
        rows.append(
            (
                f"`{row.name}`",
                str(row.number),
                f"[N, {shape}]",
                " and ".join(even) or "none",
                code,
                where,
            )
        )
    head = ("format", "number", "input for 224 x 224", "must be even", "dynamic", "SoCs")
    yield from _table(head, rows)


def fields_table() -> Iterator[str]:
    """Yield every field; those of a row of channels share a line."""
    groups: dict[str, list[AippField]] = {}
    for row in AIPP_FIELDS:
        name = re.sub(r"_r\dc\d$|(?<=chn)_\d$|(?<=bias)_\d$", "_*", row.name)
        groups.setdefault(name, []).append(row)
    rows = []
    for rows_of_group in groups.values():
        first, last = rows_of_group[0], rows_of_group[-1]
        one = len(rows_of_group) == 1
        names = f"`{first.name}`" if one else f"`{first.name}` to `{last.name}`"
        numbers = ", ".join(str(row.number) for row in rows_of_group)
        meaning = first.meaning if one else _for_each(first)
        rows.append((names, numbers, _type(first), _default(first), meaning))
    yield from _table(("field", "number", "type and range", "default", "meaning"), rows)


def _for_each(row: AippField) -> str:
    """Return the meaning of fields that differ in their channel alone."""
    if row.name.startswith("matrix"):
        return "Factors in 1/256: row r gives channel r of the result of channels c."
    return re.sub(r"channel \d", "each channel", row.meaning)


def _type(row: AippField) -> str:
    """Return type and range; a list is taken where the grammar has one."""
    if row.refused:
        return row.kind.value
    bounds = ""
    if row.kind in {FieldKind.INT, FieldKind.UINT, FieldKind.FLOAT} and row.most is not None:
        bounds = f", {row.least or 0:.15g} to {row.most:.15g}"
    return f"{row.kind.value}{bounds}{', or a list of one' if row.repeated else ''}"


def _default(row: AippField) -> str:
    """Return the default as the file spells it."""
    if row.name.startswith(("matrix", "input_bias", "output_bias")):
        return "see colors"
    if isinstance(row.default, bool):
        return str(row.default).lower()
    return str(row.default) or "none"


def rules_table() -> Iterator[str]:
    """Yield what each family of SoCs takes."""
    rows = [
        (
            family,
            f"{rules.least_min:g} to {rules.most_min:g}",
            "even" if rules.even_start else "any",
            "even" if rules.even_crop else "any",
            str(rules.row_bytes),
            str(rules.padded_width),
            "clipped" if rules.clips_padding else "refused",
            "cut off" if rules.cuts_padding else "refused",
            f"{rules.least_width} x {rules.least_height}",
            "inferred" if rules.inferred else "proven",
        )
        for family, rules in AIPP_RULES.items()
    ]
    head = (
        *("SoCs", "min_chn", "start of a crop, shared chroma", "size of a crop, shared chroma"),
        *("bytes of a row, multiple of", "widest with borders"),
        *("padding beyond a byte, uint8", "its fraction", "least picture"),
        "known by",
    )
    yield from _table(head, rows)
