"""Transposes that follow one another become one, a Reshape, or nothing."""

from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.target.stored_nodes import numbers_of


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
