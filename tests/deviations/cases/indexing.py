"""Picks by index, one-hot marks and parts."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.deviations.case import DeviatingNode, DeviationCase, deviation

Array = npt.NDArray[Any]

DATA = np.random.default_rng(19).standard_normal((3, 4)).astype(np.float32)
DEPTH = 3
MARKS = {"depth": np.array(DEPTH), "values": np.array([0.5, 2.0], np.float32)}
PLACES = np.array([-5, -4, -3, -1, 0, 2, 3, 4, 7])


def marks_on_cann(indices: Array) -> Array:
    """Return marks at the remainders of index + depth, which have the sign of the dividend."""
    found = np.full((len(indices), DEPTH), 0.5, np.float32)
    for number, index in enumerate(indices.tolist()):
        place = int(np.fmod(index + DEPTH, DEPTH))
        if place >= 0:
            found[number, place] = 2.0
    return found


for _generation in (5, 9):
    deviation(
        DeviationCase(
            "OneHot/indices-wrap",
            _generation,
            DeviatingNode("OneHot", 13, (PLACES,), {}, MARKS),
            DeviatingNode(
                "OneHot",
                13,
                (MARKS["values"],),
                {},
                {"indices": np.array([-3, -1, 0, 2]), "depth": MARKS["depth"]},
                ("indices", "depth", "x0"),
            ),
            marks_on_cann,
        )
    )
    deviation(
        DeviationCase(
            "GatherND/negative-indices",
            _generation,
            DeviatingNode("GatherND", 13, (DATA,), {}, {"indices": np.array([[-1], [0]])}),
            DeviatingNode("GatherND", 13, (DATA,), {}, {"indices": np.array([[2], [0]])}),
            None,
        )
    )
deviation(
    DeviationCase(
        "OneHot/indices-wrap",
        8,
        DeviatingNode(
            "OneHot",
            11,
            (PLACES.astype(np.int32),),
            {"axis": 0},
            {"depth": np.array(DEPTH, np.int32), "values": np.array([0, 1])},
        ),
        None,
        lambda indices: (marks_on_cann(indices).T > 1).astype(np.int64),
        "cann-9.0",
    )
)
deviation(
    DeviationCase(
        "Gather/negative-indices",
        5,
        DeviatingNode("Gather", 13, (DATA,), {}, {"indices": np.array([-1, 0])}),
        DeviatingNode("Gather", 13, (DATA,), {}, {"indices": np.array([2, 0])}),
        None,
    )
)
ROWS = DeviatingNode(
    "GatherND", 13, (DATA,), {"batch_dims": 1}, {"indices": np.array([[1], [0], [2]])}
)
PLAIN = DeviatingNode(
    "GatherND", 13, (DATA,), {"batch_dims": 0}, {"indices": np.array([[1], [0], [2]])}
)
deviation(
    DeviationCase(
        "GatherND/batch-dims-ignored", 6, ROWS, PLAIN, lambda data: data[np.array([1, 0, 2])]
    )
)
deviation(DeviationCase("GatherND/batch-dims-refused", 9, ROWS, PLAIN, None))
deviation(
    DeviationCase(
        "Split/uneven-parts",
        9,
        DeviatingNode("Split", 18, (DATA,), {"axis": 0, "num_outputs": 2}, outputs=2),
        DeviatingNode("Split", 18, (DATA,), {"axis": 1, "num_outputs": 2}, outputs=2),
        None,
        "cann-9.0",
    )
)
deviation(
    DeviationCase(
        "IsInf/negative-detected",
        9,
        DeviatingNode("IsInf", 13, (DATA,), {"detect_negative": 0}),
        DeviatingNode("IsInf", 13, (DATA,), {"detect_negative": 1}),
        None,
        "cann-9.0",
    )
)
deviation(
    DeviationCase(
        "IsInf/positive-detected",
        9,
        DeviatingNode("IsInf", 13, (DATA,), {"detect_positive": 0}),
        DeviatingNode("IsInf", 13, (DATA,), {}),
        None,
        "cann-9.0",
    )
)
