"""Cases in one item are all tried, and none of their failures is lost."""

import inspect

import pytest

from tests.failures import Failures, in_one_item


def _try_four_numbers(tried: list[int]) -> None:
    with Failures() as failures:
        for number in range(4):
            with failures.of("number", number):
                tried.append(number)
                assert number != 1
                if number == 2:
                    pytest.fail("two")
                if number == 3:
                    raise KeyError("three")


def test_every_failure_is_reported_with_its_case() -> None:
    tried: list[int] = []
    with pytest.raises(pytest.fail.Exception) as caught:
        _try_four_numbers(tried)
    assert tried == [0, 1, 2, 3]
    text = str(caught.value)
    assert text.startswith("3 of 4 cases fail\n\nnumber, 1:\n")
    assert "assert 1 != 1" in text
    assert "number, 2:\n" in text
    assert "KeyError: 'three'" in text


def test_cases_that_hold_are_silent() -> None:
    with Failures() as failures, failures.of("one"):
        pass


def test_loop_without_a_case_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="there is no case"), Failures():
        pass


def _fail_between_cases() -> None:
    with Failures() as failures:
        with failures.of("one"):
            raise KeyError
        raise ZeroDivisionError


def test_fault_between_cases_is_not_replaced() -> None:
    with pytest.raises(ZeroDivisionError):
        _fail_between_cases()


def test_skip_inside_a_case_is_not_a_failure() -> None:
    with pytest.raises(pytest.skip.Exception), Failures() as failures, failures.of("one"):
        pytest.skip("not here")


def test_item_goes_through_the_product_and_keeps_its_fixtures() -> None:
    seen = []

    @in_one_item("a", [1, 2])
    @in_one_item(("b", "c"), [(3, 4), (5, 6)])
    def test(a: int, b: int, c: int, tmp: str) -> None:
        seen.append((a, b, c, tmp))

    assert list(inspect.signature(test).parameters) == ["tmp"]
    test(tmp="x")
    assert seen == [(1, 3, 4, "x"), (1, 5, 6, "x"), (2, 3, 4, "x"), (2, 5, 6, "x")]


def test_item_fails_where_one_case_does() -> None:
    @in_one_item("a", [1, 2])
    @in_one_item("b", [3, 4])
    def test(a: int, b: int) -> None:
        assert a * b != 8

    with pytest.raises(pytest.fail.Exception, match="1 of 2 cases fail") as caught:
        test()
    assert "\n\n2:\n" in str(caught.value)
    assert "\n\n4:\n" in str(caught.value)
