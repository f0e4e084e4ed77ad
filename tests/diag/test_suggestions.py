"""What the writer of a wrong name may have meant."""

from atc_py.diag.diagnostic import nearest, nearest_of_many


def test_names_that_are_alike_are_found_nearest_first() -> None:
    assert nearest("pad", ["axis", "spade", "pads"], 2) == ["pads", "spade"]
    assert nearest("zzz", ["axis", "pads"], 2) == []


def test_overlong_name_is_like_no_other() -> None:
    assert nearest("pads" * 10**6, ["pads" * 10**6], 1) == []


def test_of_many_names_those_alike_at_the_end_are_compared() -> None:
    decoys = [f"encoder/{number:03}{'x' * 60}" for number in range(60)]
    known = [*decoys, "decoder/layer.11/attention/query/MatMul"]
    assert nearest_of_many("layer.11/attention/query/MatMul", known, 1) == [known[-1]]
