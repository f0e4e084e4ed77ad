"""The verifier's rules for target graphs: operator rows, and dtypes that an engine takes."""

from functools import partial

from atc_py.ir import Node, Rules
from atc_py.passes.memory.proof import unsound_places
from atc_py.passes.precision.columns import cast_engine, fits
from atc_py.target import Soc, find_operator
from atc_py.target.fix_pipe import SLOPED
from atc_py.target.storage_choices import select_storages
from atc_py.target.stored_nodes import in_blocks, is_stored_as
from atc_py.tensor.dtypes import DType
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
    if fits(node, row, soc) or _has_wide_slopes(node, soc):
        return None
    found = ", ".join(value.type.dtype.value for value in (*node.present_inputs, *node.outputs))
    engine = node.engine.value if node.engine else Text("no engine")
    text = Text("{op} has no column for {found} on {engine} of {soc}")
    return text.with_values(op=node.op, found=found, engine=engine, soc=soc.name)


def _has_wide_slopes(node: Node, soc: Soc) -> bool:
    """True for a PRelu of float16 in a fix pipe, whose slopes are float32."""
    dtypes = [value.type.dtype for value in (*node.present_inputs, *node.outputs)]
    wide = [DType.FLOAT16, DType.FLOAT32, DType.FLOAT16]
    joined = node.op == SLOPED and node.scope != 0
    return joined and SLOPED in soc.fix_pipe_functions and dtypes == wide


def storage_fault(node: Node, soc: Soc) -> Text | None:
    """The reason why `node` cannot work with its operands and results as they are stored, or None.

    A node that is stored row by row as a whole always can: so it is where no storage was chosen.
    """
    if node.op == "TransData" or not in_blocks(node):
        return None
    choice = select_storages(node, soc)
    if choice is None:
        text = Text("{op} gives none of its results as {type}")
        return text.with_values(op=node.op, type=node.output.type)
    for position, value in enumerate(node.inputs):
        wanted = choice.input(position)
        if value is None or is_stored_as(value.type, wanted):
            continue
        form = Text("row by row") if wanted is None else Text("as {form}", form=wanted)
        text = Text("{op} takes %{v} {form}, found {found}")
        return text.with_values(op=node.op, v=value.name, form=form, found=value.type)
    return None
