"""Sums over letters, images sampled between pixels, and pools of a given size."""

from typing import Any

from tests.fuzz.drafts import Draft
from tests.fuzz.forms.registry import FLOATS, any_shape, form, maybe, near

_EQUATIONS = (
    "abc,cde->abde", "abcd,aecd->aceb", "abcd,adbe->acbe", "abcd,cde->abe", "abc,dc->abd",
    "abc,abd->dc", "abc,abde->dec", "abcd,acbe->aecd", "abcd,abe->ecd", "ab,cb->ac",
    "ij,kj->ik", "a b, c b -> a c", "ab,cb", "ab,bc->ac", "ab->ba", "...ab,...cb->...ac", "ab,ab->",
)  # fmt: skip


@form("Einsum")
def _sum_of_products(draft: Draft, op: str) -> None:
    rng = draft.rng
    equation, dtype = rng.choice(_EQUATIONS), rng.choice(FLOATS)
    sizes = {letter: rng.choice((0, 1, 2, 3, 5, 16)) for letter in "abcdeijk"}
    terms = [term.strip() for term in equation.partition("->")[0].split(",")]
    inputs = [
        draft.tensor([near(draft, sizes[letter]) for letter in term if letter.isalpha()], dtype)
        for term in terms
    ]
    draft.node(op, inputs, equation=equation)


@form("GridSample")
def _grid(draft: Draft, op: str) -> None:
    rng = draft.rng
    shape, dtype = any_shape(draft, 4, 0), rng.choice(FLOATS)
    grid = [near(draft, shape[0]), *any_shape(draft, 2, 0), near(draft, 2)]
    attributes: dict[str, Any] = {
        "mode": maybe(draft, 0.7, rng.choice(("bilinear", "nearest", "bicubic"))),
        "padding_mode": maybe(draft, 0.7, rng.choice(("zeros", "border", "reflection", "wrap"))),
        "align_corners": maybe(draft, 0.5, rng.choice((0, 1))),
    }
    other = dtype if rng.random() < 0.8 else rng.choice(FLOATS)
    draft.node(op, [draft.fed(shape, dtype), draft.tensor(grid, other)], **attributes)


@form("AdaptiveAvgPool2D")
def _pool_of_a_size(draft: Draft, op: str) -> None:
    rng = draft.rng
    size = [rng.choice((0, 1, 1, 2, 3, 7)) for _ in range(near(draft, 2))]
    shape = any_shape(draft, rng.choice((4, 4, 4, 3)), 0)
    draft.node(op, [draft.fed(shape, rng.choice(FLOATS))], domain="custom", output_size=size)


@form("DeformableConv2D")
def _moved_points(draft: Draft, op: str) -> None:
    rng = draft.rng
    dtype, groups, parts = rng.choice(FLOATS), rng.choice((1, 1, 1, 2)), rng.choice((1, 1, 1, 2))
    image, points = [rng.choice((3, 5, 8)) for _ in "hw"], [rng.choice((1, 2, 3)) for _ in "hw"]
    steps, dilations = ([rng.choice((1, 1, 1, 2)) for _ in "hw"] for _ in "sd")
    pads = [rng.choice((0, 0, 1)) for _ in range(4)]
    windows = [
        (image[s] + sum(pads[2 * s : 2 * s + 2]) - (points[s] - 1) * dilations[s] - 1) // steps[s]
        + 1
        for s in (0, 1)
    ]
    count, channels = 3 * parts * points[0] * points[1], 4
    offsets = [1, near(draft, count), *(near(draft, each) for each in windows)]
    inputs = [
        draft.fed([1, channels, *image], dtype),
        draft.tensor([4, near(draft, channels // groups), *points], dtype),
        draft.tensor(offsets, dtype),
    ]
    inputs += [draft.tensor([near(draft, 4)], dtype)] if rng.random() < 0.4 else []
    nchw = rng.random() < 0.8
    attributes: dict[str, Any] = {
        "strides": [1, 1, *steps] if nchw else [1, *steps, 1],
        "dilations": maybe(draft, 0.9, [1, 1, *dilations] if nchw else [1, *dilations, 1]),
        "pads": pads,
        "groups": maybe(draft, 0.9, groups),
        "deformable_groups": maybe(draft, 0.9, parts),
        "data_format": "NCHW" if nchw else maybe(draft, 0.5, "NHWC"),
        "auto_pad": maybe(draft, 0.2, rng.choice(("NOTSET", "VALID"))),
        "modulated": maybe(draft, 0.3, rng.choice((1, 1, 0))),
    }
    draft.node(op, inputs, domain="custom", **attributes)
