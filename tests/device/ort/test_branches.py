"""Switch and Merge as If: what runs on which side, and what has no such form."""

from itertools import product

import numpy as np
import pytest
from onnx import NodeProto

from atc_py.device.ort.branches import WrittenOperator, with_branches
from atc_py.device.ort.model import emulate
from atc_py.diag import AtcError
from tests.device.models import ModelBuilder, run_model
from tests.device.ort.twin import differences, run_on_ort

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


class Branches(ModelBuilder):
    """A model with the table x, the conditions c and d, and nodes of one float32 output."""

    def __init__(self) -> None:
        super().__init__()
        self.x = self.input("x", "float32", [2, 3])
        self.c = self.input("c", "bool", [])
        self.d = self.input("d", "bool", [])

    def one(self, op: str, *inputs: int) -> int:
        """Return a node with one float32 output."""
        return self.node(op, inputs, [("float32", [2, 3])])[0]

    def switch(self, data: int, condition: int) -> list[int]:
        """Return [false, true] of a Switch."""
        return [*self.node("Switch", [data, condition], [("float32", [2, 3])] * 2)]

    def choice(self, data: int, condition: int) -> int:
        """Return the negative of data where the condition holds, else its Relu."""
        false, true = self.switch(data, condition)
        return self.one("Merge", self.one("Relu", false), self.one("Neg", true))

    def ifs(self) -> list[NodeProto]:
        """Check that both devices agree whatever the conditions are; return the Ifs at the top."""
        model = self.build()
        for c, d in product([True, False], repeat=2):
            feeds = {"x": X, "c": np.array(c), "d": np.array(d)}
            found = run_on_ort(model, feeds)
            assert found is not None
            assert differences(model, found, run_model(model, feeds)) == []
        nodes = emulate(model, flat=True).nodes
        return [node for node in nodes if node.op_type == "If"]


def test_results_of_one_condition_become_one_if() -> None:
    builder = Branches()
    false, true = builder.switch(builder.x, builder.c)
    results = [
        builder.one("Merge", builder.one("Neg", false), builder.one("Relu", true)),
        builder.one("Merge", builder.one("Relu", false), true),
    ]
    builder.output("y", builder.one("Add", *results))
    assert [len(node.output) for node in builder.ifs()] == [2]


def test_choices_one_after_the_other_are_one_if_each() -> None:
    """Check results of one source node that need one another, as those of Ifs in an If do."""
    builder = Branches()
    value = builder.x
    for _ in range(3):
        value = builder.choice(value, builder.c)
    builder.output("y", builder.one("Add", value, builder.choice(builder.x, builder.d)))
    assert len(builder.ifs()) == 4


def test_ifs_that_need_each_other_in_turn_stay_apart() -> None:
    """Check four choices by two conditions: two by each could be joined, but not both pairs."""
    builder = Branches()
    first, second = builder.choice(builder.x, builder.c), builder.choice(builder.x, builder.d)
    third = builder.choice(second, builder.c)
    fourth = builder.choice(first, builder.d)
    builder.output("y", builder.one("Add", third, fourth))
    assert len(builder.ifs()) == 3


def test_inner_choice_is_in_the_branch() -> None:
    builder = Branches()
    false, true = builder.switch(builder.x, builder.c)
    inner = builder.choice(builder.choice(true, builder.d), builder.d)
    builder.output("y", builder.one("Merge", builder.one("Neg", false), inner))
    assert len(builder.ifs()) == 1


@pytest.mark.parametrize("outer", [0, 1])
def test_condition_that_is_known_within_a_branch_decides_at_once(outer: int) -> None:
    """Check that the side which never is alive is left out, and no If is made for it."""
    builder = Branches()
    sides = builder.switch(builder.x, builder.c)
    sides[outer] = builder.choice(sides[outer], builder.c)
    builder.output("y", builder.one("Merge", *sides))
    (found,) = builder.ifs()
    branches = [attribute.g for attribute in found.attribute]
    assert not any(node.op_type == "If" for branch in branches for node in branch.node)


def test_what_a_switch_passes_on_is_an_outer_value() -> None:
    builder = Branches()
    false, true = builder.switch(builder.x, builder.c)
    _, condition = builder.node("Switch", [builder.d, builder.c], [("bool", [])] * 2)
    inner = builder.one("Merge", *builder.switch(true, condition))
    builder.output("y", builder.one("Merge", builder.one("Neg", false), inner))
    builder.ifs()


def test_output_of_one_side_has_no_form() -> None:
    builder = Branches()
    _, true = builder.switch(builder.x, builder.c)
    builder.output("y", builder.one("Neg", true))
    with pytest.raises(AtcError, match="output 'y' is computed on one side of a condition only"):
        emulate(builder.build(), flat=True)


def test_merge_of_one_side_has_no_form() -> None:
    builder = Branches()
    _, true = builder.switch(builder.x, builder.c)
    builder.output("y", builder.one("Merge", true, builder.one("Neg", true)))
    with pytest.raises(AtcError, match="values of a Merge do not depend on one condition"):
        emulate(builder.build(), flat=True)


def test_merge_of_sides_of_several_conditions_has_no_form() -> None:
    builder = Branches()
    false, true = builder.switch(builder.x, builder.c)
    _, both = builder.switch(true, builder.d)
    builder.output("y", builder.one("Merge", false, both))
    with pytest.raises(AtcError, match="values of a Merge depend on several conditions"):
        emulate(builder.build(), flat=True)


def test_units_without_conditions_stay_in_order() -> None:
    assert with_branches([WrittenOperator("Neg", "n", (), ["x"], ["y"])], ["y"]) == []
