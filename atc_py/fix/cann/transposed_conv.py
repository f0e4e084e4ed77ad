"""ConvTranspose on CANN: pads that follow from output_shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []


@cann_form("ConvTranspose", "output-shape-halves")
def halves_of_output_shape(site: Site) -> Sequence[str]:
    """Write the pads that CANN takes off what all windows cover, and what it adds at the end."""
    lengths, windows = site.shape(0)[2:], site.shape(1)[2:]
    axes = len(lengths)
    strides = site.integers("strides", (1,) * axes)
    dilations = site.integers("dilations", (1,) * axes)
    asked = site.integers("output_shape")[-axes:]
    covered = [
        (length - 1) * stride + (window - 1) * dilation + 1
        for length, window, stride, dilation in zip(
            lengths, windows, strides, dilations, strict=True
        )
    ]
    pads = _pads(site, [max(0, most - size) for most, size in zip(covered, asked, strict=True)])
    left = [most - pads[axis] - pads[axis + axes] for axis, most in enumerate(covered)]
    more = [max(0, size - most) for size, most in zip(asked, left, strict=True)]
    return site.again(
        own_inputs(site), auto_pad=None, output_shape=None, pads=pads, output_padding=more
    )


def _pads(site: Site, totals: Sequence[int]) -> list[int]:
    """Return the pads of each axis, beginnings first, given what output_shape asks to take off."""
    less = [total // 2 for total in totals]
    more = [total - half for total, half in zip(totals, less, strict=True)]
    return more + less if site.text("auto_pad", "") == "SAME_UPPER" else less + more
