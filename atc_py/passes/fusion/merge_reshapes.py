"""Views of views become one view, and views that change nothing go."""

from atc_py.passes.fusion.matching import Match, MissError, RewritePass
from atc_py.target import VIEWS
from atc_py.text import Text


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
