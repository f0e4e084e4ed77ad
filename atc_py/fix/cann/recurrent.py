"""GRU and LSTM on CANN: attributes that the parser drops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.fix.cann_form import cann_form, own_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_PEEPHOLES = 7


@cann_form("GRU", "reset-after-product")
def reset_after_product(site: Site) -> Sequence[str]:
    """Write the layer whose reset gate multiplies the product of the hidden state."""
    return _with(site, linear_before_reset=1)


@cann_form("GRU", "activations-ignored")
@cann_form("LSTM", "activations-ignored")
def default_activations(site: Site) -> Sequence[str]:
    """Write the layer with ONNX's default activations."""
    return _with(site, activations=None, activation_alpha=None, activation_beta=None)


@cann_form("GRU", "clip-ignored")
@cann_form("LSTM", "clip-ignored")
def without_clip(site: Site) -> Sequence[str]:
    """Write the layer without a threshold."""
    return _with(site, clip=None)


@cann_form("LSTM", "input-forget-ignored")
def separate_gates(site: Site) -> Sequence[str]:
    """Write the layer with input and forget gates of their own."""
    return _with(site, input_forget=None)


@cann_form("LSTM", "peepholes-ignored")
def without_peepholes(site: Site) -> Sequence[str]:
    """Write the layer whose gates do not see the cell state."""
    return site.again(own_inputs(site)[:_PEEPHOLES], len(site.node.outputs))


def _with(site: Site, **changed: object) -> Sequence[str]:
    """Write the layer with other attributes."""
    return site.again(own_inputs(site), len(site.node.outputs), **changed)
