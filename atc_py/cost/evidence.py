"""Evidence of an estimate: how much figures of boards differ from it, by family of SoCs."""

from atc_py.system.structs import Result
from atc_py.target import Soc
from atc_py.target.soc import SocFamily


class Evidence(Result, frozen=True):
    """Figures of boards beside estimates with built-in factors, each of networks not fitted to.

    Attributes:
        soc: that the figures are of; empty where the family has none.
        networks: that were measured, or single kernels where `kernels`.
        kernels: whether single kernels were measured, not networks.
        low: 5 % of the figures are less than this times the estimate.
        high: 5 % are more than this times the estimate.
        near: nine of ten are within this factor, to either side.
    """

    soc: str
    networks: int
    low: float
    high: float
    near: float
    kernels: bool = False


_NONE = Evidence("", 0, 0.4, 2.5, 2.5)
"""Twice as wide as where there are figures."""

_BY_FAMILY = {
    SocFamily.ASCEND310: Evidence("Ascend310", 22, 0.65, 1.5, 1.5),
    SocFamily.ASCEND310B: Evidence("Ascend310B1", 7, 0.7, 1.4, 1.35),
    SocFamily.ASCEND310P: Evidence("Ascend310P3", 53, 0.6, 1.8, 1.6),
    SocFamily.ASCEND910B: Evidence("Ascend910B2", 58, 0.55, 1.75, 1.8, kernels=True),
}


def evidence_of(soc: Soc) -> Evidence:
    """The figures of a SoC's family; without a SoC where there are none."""
    return _BY_FAMILY.get(soc.family, _NONE)
