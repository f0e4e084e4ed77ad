"""Pictures in a comparison: the device gets their bytes, the original what AIPP makes of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.options.aipp import AippSettings, settings_of_bytes, source_bytes
from atc_py.options.aipp.picture_formula import exact_features
from atc_py.package.schema import OmModel
from atc_py.pipeline.running.pictures import filled, whole_picture_settings
from atc_py.results.picture_inputs import PictureInput, picture_inputs
from atc_py.tensor.dtypes import DType

Array = NDArray[Any]


_TO_NHWC = (0, 2, 3, 1)


class ComparedPictures:
    """Inputs of the compiled model that take pictures, and the original's inputs for them."""

    def __init__(self, description: OmModel, layout: str) -> None:
        """Find the inputs; `layout` is that of the original's, NCHW or NHWC."""
        self._description = description
        self._inputs = picture_inputs(description)
        self._layout = layout

    def drawn(self, feeds: Mapping[str, Array], given: Mapping[str, Array], seed: int) -> Any:
        """Feeds with random bytes for pictures, whole ones, where nothing is given."""
        found = {**feeds}
        settings = {each.parameters for each in self._inputs} - {None}
        if settings - given.keys():
            found |= whole_picture_settings(self._description)
        for each in self._inputs:
            if each.name not in given:
                generator = np.random.default_rng([seed, each.position])
                found[each.name] = generator.integers(0, 256, each.shape).astype(np.uint8)
        return filled(self._description, {**found, **given})

    def original(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """Feeds of the original: features in float64 in place of pictures and settings.

        Raises:
            AtcError: BAD_AIPP for settings of a run that are not a parameter buffer.
        """
        found = {**feeds}
        for each in self._inputs:
            settings = self._settings(each, feeds)
            data = np.ascontiguousarray(feeds[each.name]).reshape(-1)
            step = source_bytes(settings[0], 1)
            parts = [
                exact_features(one, data[at * step :], as_bytes=each.dtype is DType.UINT8)
                for at, one in enumerate(settings)
            ]
            features = np.stack(parts)
            is_last = self._layout == "NHWC"
            found[each.name] = features.transpose(_TO_NHWC) if is_last else features
            found.pop(each.parameters or "", None)
        return found

    def _settings(self, found: PictureInput, feeds: Mapping[str, Array]) -> Sequence[AippSettings]:
        if found.parameters is None:
            return [found.settings] * found.features[0]
        return settings_of_bytes(np.asarray(feeds[found.parameters]).tobytes())
