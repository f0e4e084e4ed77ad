"""The differences of two offline models."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from atc_py.compare.offline.constants import matched_constants
from atc_py.compare.offline.matching import matched_conversions, matched_launches
from atc_py.compare.offline.sides import Side, huawei_side, own_side
from atc_py.device.opening import open_verified
from atc_py.diag import BAD_HUAWEI_MODEL, Place
from atc_py.package.ge.model import is_huawei, open_huawei
from atc_py.results.model_diff import DiffSide, ModelDiff
from atc_py.text import Text


def diff_models(first: Path, second: Path) -> ModelDiff:
    """Compare two offline models, each of atc-py or of Huawei's atc.

    Raises:
        AtcError: a file cannot be read.
    """
    with _opened(first) as one, _opened(second) as other:
        launches = tuple(matched_launches(one, other))
        conversions = tuple(matched_conversions(one, other))
        constants = tuple(matched_constants(one.constants, other.constants))
    equal = sum(not group.differs for group in launches)
    equal += sum(min(row.first, row.second) for row in conversions)
    total = len(one.launches) + len(other.launches)
    return ModelDiff(
        first=_side(first, one),
        second=_side(second, other),
        score=2 * equal / total if total else 1.0,
        equal=equal,
        launches=launches,
        conversions=conversions,
        constants=constants,
    )


@contextmanager
def _opened(path: Path) -> Iterator[Side]:
    """A model while its constants can be read."""
    if not is_huawei(path):
        with open_verified(path) as model:
            yield own_side(model)
        return
    with open_huawei(path) as file:
        if not any(model.graphs for model in file.all_models()):
            raise BAD_HUAWEI_MODEL.error(
                Text("{file} has no graph that could be compared", file=path),
                place=Place(file=str(path)),
                help=Text("encrypted files and om2 archives have none that can be read"),
            )
        yield huawei_side(file)


def _side(path: Path, side: Side) -> DiffSide:
    conversions = sum(bool(each.conversion) for each in side.launches)
    return DiffSide(
        model=str(path),
        producer=side.producer,
        soc=side.soc,
        launches=len(side.launches),
        conversions=conversions,
        fused=sum(len(each.launch.nodes) > 1 for each in side.launches),
        memory=side.memory,
    )
