"""Equalized layers compute the same from weights of equal ranges."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_OPTION
from atc_py.quantizing.calibrate.equalization import (
    ChannelLayer,
    equalized,
    high_bias,
    input_peaks,
    output_peaks,
)
from tests.quantizing.calibrate.distributions import f32


def relu(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.maximum(values, 0)


def test_pair_of_the_reference() -> None:
    first = ChannelLayer(f32([[4, -2], [0.1, 0.05]]), f32([1, 0.2]))
    second = ChannelLayer(f32([[0.25, -8], [0.5, 2]]), f32([0, 1]))
    left, right = equalized((first, second))
    np.testing.assert_allclose(left.weight, [[1.414214, -0.707107], [0.894427, 0.447214]], 1e-5)
    assert left.bias is not None
    np.testing.assert_allclose(left.bias, [0.353553, 1.788854], 1e-5)
    np.testing.assert_allclose(right.weight, [[0.707107, -0.894427], [1.414214, 0.223607]], 1e-5)
    np.testing.assert_allclose(output_peaks(left), input_peaks(right), 1e-6)
    x = f32([1, -1])
    for one, two in ((first, second), (left, right)):
        assert one.bias is not None
        assert two.bias is not None
        found = two.weight @ relu(one.weight @ x + one.bias) + two.bias
        np.testing.assert_allclose(found, [-0.25, 5], 1e-5)


def test_depthwise_layer_between_two_has_the_ranges_of_both() -> None:
    first = ChannelLayer(f32([[8], [1]]).reshape(2, 1, 1, 1))
    middle = ChannelLayer(f32([[1], [4]]).reshape(2, 1, 1, 1), groups=2)
    last = ChannelLayer(f32([[0.125, 2]]).reshape(1, 2, 1, 1))
    assert middle.is_depthwise
    found = equalized((first, middle, last))
    for peaks in (output_peaks(found[0]), output_peaks(found[1]), input_peaks(found[2])):
        np.testing.assert_allclose(peaks, [1, 2], 1e-4)
    assert equalized(found)[0].weight == pytest.approx(found[0].weight, rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_networks_of_products_compute_the_same(seed: int) -> None:
    """MatMul weights have inputs first; a chain of four with Relu between."""
    rng = np.random.default_rng(seed)
    sizes = (5, 7, 3, 6, 4)
    layers = []
    for rows, columns in itertools.pairwise(sizes):
        spread = np.exp(2 * rng.standard_normal(columns))
        weight = (rng.standard_normal((rows, columns)) * spread).astype(np.float32)
        layers.append(ChannelLayer(weight, weight[0] * np.float32(0.1), 1, 0))
    x = rng.standard_normal((10, 5)).astype(np.float32)

    def outputs(network: tuple[ChannelLayer, ...]) -> NDArray[np.float32]:
        found = x
        for at, layer in enumerate(network):
            assert layer.bias is not None
            found = found @ layer.weight + layer.bias
            found = found if at == len(network) - 1 else relu(found)
        return found

    after = equalized(layers)
    scale = np.abs(outputs(tuple(layers))).max()
    np.testing.assert_allclose(outputs(after), outputs(tuple(layers)), atol=1e-5 * scale)
    for left, right in itertools.pairwise(after):
        np.testing.assert_allclose(output_peaks(left), input_peaks(right), rtol=0.02)


def test_grouped_layer_has_inputs_by_group() -> None:
    weight = np.arange(1, 13, dtype=np.float32).reshape(4, 3, 1, 1)
    grouped = ChannelLayer(weight, groups=2)
    assert input_peaks(grouped).tolist() == [4, 5, 6, 10, 11, 12]
    first = ChannelLayer(np.eye(6, dtype=np.float32).reshape(6, 6, 1, 1))
    left, right = equalized((first, grouped))
    np.testing.assert_allclose(input_peaks(right), output_peaks(left), 1e-5)
    scale = output_peaks(left).reshape(2, 1, 3)
    np.testing.assert_allclose(right.weight.reshape(2, 2, 3) * scale, weight.reshape(2, 2, 3), 1e-5)


def test_channels_of_zeros_keep_their_factor() -> None:
    first = ChannelLayer(f32([[0, 0], [4, 1]]), f32([3, 1]))
    second = ChannelLayer(f32([[5, 1]]))
    left, right = equalized((first, second))
    assert left.bias is not None
    assert left.bias.tolist() == [3, 0.5]
    assert right.weight.tolist() == [[5, 2]]


def test_layers_that_do_not_follow_are_refused() -> None:
    layer = ChannelLayer(np.ones((2, 3), np.float32))
    with pytest.raises(AtcError) as failed:
        equalized((layer, layer))
    assert failed.value.diagnostics[0].code is BAD_OPTION


def test_high_bias_is_what_relu_lets_through() -> None:
    assert high_bias(f32([5, -1]), f32([1, 0.5])).tolist() == [2, 0]
