"""Busy times of a core's pipes, and how they add up."""

from atc_py.system.structs import Result


class Pipes(Result, frozen=True):
    """Seconds for which the pipes of the busiest core work.

    Attributes:
        cube: M, products.
        vector: V, arithmetic in the unified buffer.
        mte1: from L1 to the cube's buffers.
        mte2: from device memory and L2 into the core.
        mte3: out of the core.
        fixp: results of the cube on their way to memory, where cube and vector are split.
    """

    cube: float = 0.0
    vector: float = 0.0
    mte1: float = 0.0
    mte2: float = 0.0
    mte3: float = 0.0
    fixp: float = 0.0

    @property
    def longest(self) -> float:
        """The time of the pipe that works longest: what is left when all work at once."""
        return max(self.cube, self.vector, self.mte1, self.mte2, self.mte3, self.fixp)

    @property
    def total(self) -> float:
        """The time of one after another."""
        return self.cube + self.vector + self.mte1 + self.mte2 + self.mte3 + self.fixp


PIPES = Pipes.__struct_fields__
"""Names of the pipes."""
