"""The group normalization that exporters write out becomes one operator."""

from atc_py.ir import DeferredConst, Node, Value
from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.passes.fusion.weights import channel_constant
from atc_py.tensor.shapes import element_count

_CHANNELS = 1


class FuseGroupNormPass(RewritePass):
    """Reshape(InstanceNorm(Reshape(x to N, G, ...))) * gamma + beta = GroupNorm(x, gamma, beta; G).

    The statistics are those of x in float32, and the result is rounded once. CANN's pass ignores the
    scale and the offset of the InstanceNorm; here they must be 1 and 0, as exporters write them.
    """

    def rewrite(self, match: Match) -> None:
        norm = match.anchor
        grouped = match.producer(norm.input(0), "Reshape")
        x = grouped.input(0)
        back = match.consumer(norm, "Reshape")
        product = match.consumer(back, "Mul")
        total = match.consumer(product, "Add")
        match.require_type_of(x, total)
        if x is None or x.type.is_open or x.type.rank <= _CHANNELS + 1:
            raise MissError("x must have three axes or more of known dims, found {x}", norm, x=x)
        dims = grouped.output.type.shape
        groups = dims[_CHANNELS]
        match.require(
            dims[0] == x.type.shape[0] and groups and x.type.shape[_CHANNELS] % groups == 0,
            "the channels of an image must divide into these groups, found {dims}",
            grouped,
            dims=list(dims),
        )
        match.require(
            back.output.type == x.type, "the dims of %{x} must be restored", back, x=x.name
        )
        plain = _is_all(norm.input(1), 1.0) and _is_all(norm.input(2), 0.0)
        match.require(plain, "scale and offset of InstanceNorm must be 1 and 0")
        gamma, beta = (_by_channel(match, each, back) for each in (product, total))
        attributes = {"num_groups": groups, "eps": norm.attributes["epsilon"]}
        match.become(total, "GroupNorm", [x, gamma, beta], attributes)


def _is_all(value: Value | None, number: float) -> bool:
    return (
        value is not None
        and value.const is not None
        and bool((value.const.numpy() == number).all())
    )


def _by_channel(match: Match, node: Node, layer: Node) -> Value:
    """The constant of a factor or a summand, with one element per channel."""
    data = channel_constant(match, node, layer)
    channels = layer.output.type.shape[_CHANNELS]
    match.require(
        element_count(data.shape) == channels,
        "the constant must have an element per channel, found {shape}",
        node,
        shape=list(data.shape),
    )
    flat = DeferredConst(
        data.dtype, (channels,), [data], lambda array: array.reshape(-1), "of channels"
    )
    return match.graph.constant(f"{node.output.name}.channels", flat)
