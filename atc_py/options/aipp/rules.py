"""What each family of SoCs takes in an AIPP configuration: one row each.

The first rows are those of CANN's kernels of 2022, which name the SoCs themselves; "Ascend710",
"Ascend320" and "Ascend920" there are taken to be 310P, 310B and Atlas A2. That of Ascend950 is
the open kernel's of 2026. The generic device takes every format that is modeled and the wider
ranges, and is as strict about even numbers as most SoCs, so that what it takes is portable.
"""

from dataclasses import dataclass, replace

from atc_py.options.aipp.image_formats import IMAGE_FORMATS

_COMMON = ("YUV420SP_U8", "XRGB8888_U8", "RGB888_U8", "YUV400_U8")
"""Formats of every SoC."""

_ALL = tuple(row.name for row in IMAGE_FORMATS)


@dataclass(frozen=True, slots=True, kw_only=True)
class AippRules:
    """Limits of one family."""

    formats: tuple[str, ...] = _COMMON  # names of the picture formats that it reads
    least_min: float = 0.0  # the smallest `min_chn`
    most_min: float = 255.0  # the largest `min_chn`
    # True if a crop must start at even rows and columns where chroma is halved
    even_start: bool = True
    even_crop: bool = False  # True if its sizes must be even there too
    row_bytes: int = 1  # a row of a plane must have a multiple of as many bytes
    padded_width: int = 1080  # the widest tensor with borders
    # True if a padding value outside 0 to 255 is clipped for uint8 tensors; it is refused elsewhere
    clips_padding: bool = False
    # True if a fraction of a padding value is cut off for uint8 tensors; it is refused elsewhere
    cuts_padding: bool = False
    least_width: int = 2  # the narrowest picture
    least_height: int = 1  # the lowest picture
    # True if all three output biases of RGB, and of YUV all input biases and the factors of U and
    # V, must be 0 for one channel; elsewhere rows 1 and 2 alone count
    strict_gray: bool = False
    # True if the kernel of dynamic AIPP takes biases even without csc_switch
    biases_alone: bool = False
    inferred: bool = False  # True if no source names the family


_OLDER = AippRules()

AIPP_RULES = {
    "sim": replace(
        _OLDER,
        formats=_ALL,
        least_min=-65504.0,
        most_min=65504.0,
        padded_width=4096,
        clips_padding=True,
        cuts_padding=True,
        inferred=True,
    ),
    "Ascend310": _OLDER,
    "Ascend310B": replace(_OLDER, even_start=False),
    "Ascend310P": _OLDER,
    "Ascend610": _OLDER,
    "Ascend910": _OLDER,
    "Ascend910B": _OLDER,
    "Ascend910_93": replace(_OLDER, inferred=True),
    "Ascend950": replace(
        _OLDER,
        least_min=-65504.0,
        most_min=65504.0,
        even_crop=True,
        cuts_padding=True,
        least_width=1,
        least_height=2,
        strict_gray=True,
        biases_alone=True,
    ),
    "Hi3796CV300CS": replace(_OLDER, formats=_ALL, even_crop=True, row_bytes=16, padded_width=4096),
}
"""Rules by the value of `SocFamily`; a test holds that no family is missing."""


def rules_of(family: str, *, dynamic: bool = False) -> AippRules:
    """The rules of a family, by the value of its `SocFamily`.

    Settings of a run go through AscendCL, whose bounds are the same on all SoCs.
    """
    rules = AIPP_RULES[family]
    if not dynamic or family == "sim":
        return rules
    return replace(rules, least_min=_OLDER.least_min, most_min=_OLDER.most_min, even_start=True)


NO_DYNAMIC = frozenset({"Hi3796CV300CS"})
"""Families without dynamic AIPP."""
