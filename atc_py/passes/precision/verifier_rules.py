"""The verifier's rules for target graphs: operator rows, and dtypes that an engine takes."""

from functools import partial

from atc_py.ir import Node, Rules
from atc_py.passes.layout.storage_fault import storage_fault
from atc_py.passes.memory.proof import unsound_places
from atc_py.passes.precision.columns import cast_engine, fits
from atc_py.target import Soc, find_operator
from atc_py.text import Text


def verifier_rules(soc: Soc) -> Rules:
    return Rules(
        rows=find_operator,
        dtypes_ok=partial(_dtypes_ok, soc=soc),
        storage_ok=partial(storage_fault, soc=soc),
        unsound_places=partial(unsound_places, alignment=soc.gm_align, padding=soc.gm_padding),
    )


def _dtypes_ok(node: Node, *, soc: Soc) -> Text | None:
    row = find_operator(node.op)
    if row is None:
        return None
    if node.op == "Cast":
        wanted = cast_engine(node, soc)
        belongs = Text("Cast belongs on {engine}", engine=wanted.value)
        return None if node.engine is wanted else belongs
    if fits(node, row, soc):
        return None
    found = ", ".join(value.type.dtype.value for value in (*node.present_inputs, *node.outputs))
    engine = node.engine.value if node.engine else Text("no engine")
    text = Text("{op} has no column for {found} on {engine} of {soc}")
    return text.with_values(op=node.op, found=found, engine=engine, soc=soc.name)
