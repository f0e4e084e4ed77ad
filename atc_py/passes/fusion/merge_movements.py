"""Movements that follow one another become one, and those that change nothing go."""

from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.target import VIEWS
from atc_py.target.stored_nodes import numbers_of
from atc_py.text import Text, all_of


class MergeTransposesPass(RewritePass):
    """TransposeD(TransposeD(x; p); q) = TransposeD(x; p[q]), which is x where p[q] changes nothing.

    A Transpose that moves axes of one element alone is a Reshape: no element moves.
    """

    def rewrite(self, match: Match) -> None:
        last = match.anchor
        source, perm = last.input(0), numbers_of(last.attributes["perm"])
        first = last.producer()
        depth = first is not None and first.op == "TransposeD"
        if first is not None and depth:
            match.keep(first)
            earlier = numbers_of(first.attributes["perm"])
            source, perm = first.input(0), tuple(earlier[axis] for axis in perm)
        if source is None:
            raise MissError("a Transpose must have an operand", last)
        match.require_known_dims(last.output, source)
        longer = [axis for axis in perm if source.type.dims[axis] != 1]
        if perm == tuple(range(len(perm))) and not last.output.is_output:
            match.pass_through(source)
        elif longer == sorted(longer):
            match.redirect("Reshape", [source, match.dims()], {})
        elif depth:
            match.redirect("TransposeD", [source], {"perm": perm})
        else:
            raise MissError("axes longer than 1 change places: {perm}", last, perm=list(perm))


class MergeReshapesPass(RewritePass):
    """Reshape(Reshape(x)) = Reshape(x), and views that give x its own dims are x.

    Flatten, Squeeze and Unsqueeze are views like Reshape. Those before the last one stay where
    others read them.
    """

    def rewrite(self, match: Match) -> None:
        view = match.anchor
        source, depth = view.input(0), 0
        while source is not None and (before := source.producer) and before.op in VIEWS:
            match.keep(before)
            source, depth = before.input(0), depth + 1
        if source is None:
            raise MissError("a view must have an operand", view)
        target = view.output.type
        match.require_known_dims(view.output, source)
        if source.type.dims == target.dims and not view.output.is_output:
            match.pass_through(source)
            return
        if not depth:
            found = source.producer.op if source.producer else Text("a value from outside")
            raise MissError("a view must come before, found {actual}", view, actual=found)
        match.redirect("Reshape", [source, match.dims()], {})


class RemoveIdentitiesPass(RewritePass):
    """Removal of identities: ConcatD of one operand, ExpandD, slices and Pads of all."""

    def rewrite(self, match: Match) -> None:
        node = match.anchor
        if len(node.inputs) != 1 or len(node.outputs) != 1:
            raise MissError("one operand and one result are needed, found {node}", node)
        (source,) = node.present_inputs
        match.require_known_dims(node.output, source)
        if source.type.dims != node.output.type.dims:
            found = all_of(map(str, (source.type, node.output.type)))
            raise MissError(
                "operand and result must have the same dims, found {actual}", node, actual=found
            )
        strides = numbers_of(node.attributes.get("strides", (1,)))
        if node.op == "StridedSliceD" and min(strides) < 1:
            raise MissError(
                "strides must be at least 1, found {strides}", node, strides=list(strides)
            )
        paddings = numbers_of(node.attributes.get("paddings", (1,)))
        if node.op == "PadV3D" and any(paddings):
            raise MissError(
                "no border may be added, found {paddings}", node, paddings=list(paddings)
            )
        match.pass_through(source)
