"""A dim that a model leaves open."""

from atc_py.system.structs import Result


class OpenDim(Result, frozen=True):
    """Dim that the model leaves open; axes whose dims have one name share it.

    Attributes:
        name: as the model names it; "" for one without a name.
        places: the inputs and axes that have it.
        rank: the rank of the first of these inputs.
    """

    name: str
    places: tuple[tuple[str, int], ...]
    rank: int

    @property
    def is_batch(self) -> bool:
        """Tell whether it seems to count samples: it leads inputs of several axes."""
        return self.rank > 1 and any(axis == 0 for _, axis in self.places)
