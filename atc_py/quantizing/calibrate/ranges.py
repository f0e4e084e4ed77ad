"""The calibrators by name, and the range that they choose."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from atc_py.quantizing.calibrate.calibrators.entropy import Entropy
from atc_py.quantizing.calibrate.calibrators.hfmg import Hfmg
from atc_py.quantizing.calibrate.calibrators.ifmr import Ifmr
from atc_py.quantizing.calibrate.calibrators.min_max import MinMax
from atc_py.quantizing.calibrate.calibrators.mse import Mse
from atc_py.quantizing.calibrate.calibrators.percentile import Percentile
from atc_py.quantizing.calibrate.value_range import Calibrator, ValueRange

Range: TypeAlias = ValueRange
"""The short name that readers of this module use; `atc_py.fix` has a class of that name."""

CALIBRATORS: Mapping[str, Calibrator] = MappingProxyType(
    {
        "min-max": MinMax(),
        "percentile": Percentile(),
        "entropy": Entropy(),
        "ifmr": Ifmr(),
        "hfmg": Hfmg(),
        "mse": Mse(),
    }
)
"""Calibrators by the name that an option gives them."""
