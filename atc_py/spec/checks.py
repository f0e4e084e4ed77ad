"""Checks of a specification beyond its types: opsets, operands, attributes and their values."""

from collections.abc import Iterator, Sequence

from atc_py.spec.deviations import covers
from atc_py.spec.document import DataPath, Problem
from atc_py.spec.model import AttributeSpec, AttributeType, OperandSpec, OpSpec, Value
from atc_py.spec.references import check_bounds, check_references, check_rewrites
from atc_py.text import Text

_MAX_OPSET = 30
"""No opset of ONNX is near it yet; a larger number is a typing error."""

_PYTHON: dict[AttributeType, tuple[type, ...]] = {
    AttributeType.INT: (int,),
    AttributeType.FLOAT: (int, float),
    AttributeType.STRING: (str,),
    AttributeType.BOOL: (bool,),
}


def find_problems(spec: OpSpec) -> Iterator[Problem]:
    yield from _opsets(spec)
    yield from _operands(spec)
    yield from _attributes(spec)
    yield from _deviations(spec)
    yield from check_references(spec)
    yield from check_rewrites(spec)


def _opsets(spec: OpSpec) -> Iterator[Problem]:
    if spec.custom and spec.opsets:
        yield Problem(
            ("opsets",), Text("a custom operator has no opsets"), Text("delete one"), key=True
        )
    if not spec.custom and not spec.opsets:
        help_ = Text("list the opsets, or write custom: true")
        yield Problem(("opsets",), Text("no opset is given"), help_)
    for position, opset in enumerate(spec.opsets):
        before = spec.opsets[position - 1] if position else 0
        if not before < opset <= _MAX_OPSET:
            message = Text(
                "opset {opset} must be in [{before}, {max_opset}]",
                opset=opset,
                before=before + 1,
                max_opset=_MAX_OPSET,
            )
            yield Problem(("opsets", position), message, Text("list each opset once, ascending"))


def _operands(spec: OpSpec) -> Iterator[Problem]:
    for section, rows in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        yield from _repeated_names((section,), [row.name for row in rows])
        for position, row in enumerate(rows):
            yield from _operand((section, position), row)
            yield from _span((section, position), row)
            yield from _variadic((section, position, "variadic"), row, rows)
            earlier = spec.inputs[:position] if section == "inputs" else spec.inputs
            known = [other.name for other in earlier]
            if row.same_as is not None and row.same_as not in known:
                message = Text(
                    "same_as names {same_as}, which is not an input before this operand",
                    same_as=repr(row.same_as),
                )
                help_ = Text(
                    "inputs that can be named: {known}", known=", ".join(known) or Text("none")
                )
                yield Problem((section, position, "dtypes"), message, help_)
    for name in spec.quantized:
        if spec.operand(name) is None:
            names = ", ".join(row.name for row in (*spec.inputs, *spec.outputs))
            message = Text("quantized names {name}, which is not an operand", name=repr(name))
            yield Problem(
                ("quantized", name), message, Text("operands are {names}", names=names), key=True
            )


def _variadic(path: DataPath, row: OperandSpec, rows: Sequence[OperandSpec]) -> Iterator[Problem]:
    if not row.variadic:
        return
    # It takes all inputs that no other operand takes, so those after it must be certain.
    later = rows[rows.index(row) + 1 :]
    if any(other.variadic for other in rows if other is not row):
        yield Problem(
            path, Text("only one operand can be variadic"), Text("make one of them ordinary")
        )
    elif any(other.optional for other in later):
        message = Text("an optional operand comes after a variadic one")
        yield Problem(path, message, Text("move the variadic one to the end"))


def _operand(path: DataPath, row: OperandSpec) -> Iterator[Problem]:
    yield from _layouts(path, row)
    listed = row.dtypes if isinstance(row.dtypes, tuple) else ()
    for name, carrier in row.carried.items():
        where: DataPath = (*path, "carried", name.value)
        if name in listed:
            yield Problem(
                where,
                Text("{name} is listed and carried", name=name.value),
                Text("delete one of the two"),
            )
        if carrier not in listed:
            message = Text(
                "{name} is carried as {carrier}, which is not listed",
                name=name.value,
                carrier=carrier.value,
            )
            yield Problem(where, message, Text("carry it as one of the dtypes listed"))
    for position, dtype in enumerate(row.beyond.dtypes if row.beyond else ()):
        if dtype in listed or dtype in row.carried:
            step: DataPath = (*path, "beyond", "dtypes", position)
            yield Problem(
                step,
                Text("{dtype} is taken without it", dtype=dtype.value),
                Text("delete one of the two"),
            )
    if isinstance(row.dtypes, tuple):
        yield from _repeated_names((*path, "dtypes"), [dtype.value for dtype in row.dtypes])


def _layouts(path: DataPath, row: OperandSpec) -> Iterator[Problem]:
    if row.layout is not None and len(row.layout) != row.rank:
        message: Text = Text(
            "layout {layout} has {count} letters, rank is {rank}",
            layout=row.layout,
            count=len(row.layout),
            rank=row.rank,
        )
        yield Problem(
            (*path, "layout"), message, Text("write a letter for each dimension of the rank")
        )
    if row.layout is not None:
        yield from _letters((*path, "layout"), row.layout)
    if row.layouts and (row.rank, row.layout) != (None, None):
        message = Text("layouts is given together with rank or layout")
        yield Problem((*path, "layouts"), message, Text("layouts already states both"), key=True)
    for position, layout in enumerate(row.layouts):
        yield from _letters((*path, "layouts", position), layout)
        if any(len(layout) == len(other) for other in row.layouts[:position]):
            message = Text("two layouts have {count} letters", count=len(layout))
            yield Problem(
                (*path, "layouts", position), message, Text("layouts must differ in rank")
            )


def _letters(path: DataPath, layout: str) -> Iterator[Problem]:
    if len(set(layout)) != len(layout):
        message = Text("layout {layout} has a letter twice", layout=layout)
        yield Problem(path, message, Text("rules name dimensions by these letters"))


def _attributes(spec: OpSpec) -> Iterator[Problem]:
    yield from _repeated_names(("attributes",), [row.name for row in spec.attributes])
    for position, row in enumerate(spec.attributes):
        path = ("attributes", position)
        yield from _span(path, row)
        yield from _values(path, row)
        yield from _bounds(path, row)
        if row.required and row.default is not None:
            message = Text("{name} is required and has a default", name=row.name)
            yield Problem((*path, "default"), message, Text("delete one of the two"), key=True)


def _values(path: DataPath, row: AttributeSpec) -> Iterator[Problem]:
    given: list[tuple[DataPath, Value | None, AttributeType]] = [
        ((*path, "default"), row.default, row.type),
        ((*path, "listed_default"), row.listed_default, row.type),
    ]
    if row.default_before is not None:
        given.append(((*path, "default_before", "value"), row.default_before.value, row.type))
    for position, scalar in enumerate(row.one_of):
        given.append(((*path, "one_of", position), scalar, row.type.element))
    for where, value, type_ in given:
        if value is not None and not _is_of_type(value, type_):
            message = Text("{value} is not of type {type}", value=repr(value), type=type_.value)
            yield Problem(
                where,
                message,
                Text("attribute {name} has type {type}", name=row.name, type=row.type.value),
            )


def _is_of_type(value: Value, type_: AttributeType) -> bool:
    if type_.is_list:
        return isinstance(value, tuple) and all(_is_of_type(item, type_.element) for item in value)
    allowed = _PYTHON.get(type_, ())
    return isinstance(value, allowed) and isinstance(value, bool) == (type_ is AttributeType.BOOL)


def _bounds(path: DataPath, row: AttributeSpec) -> Iterator[Problem]:
    """Yield misused bounds: `range` is for numbers, `each` for lists; the lower one comes first."""
    numeric = row.type.element in {AttributeType.INT, AttributeType.FLOAT}
    for key, bounds, takes in (
        ("range", row.range, numeric and not row.type.is_list),
        ("each", row.each, numeric and row.type.is_list),
    ):
        if bounds is None:
            continue
        if not takes:
            message = Text(
                "{key} cannot bound an attribute of type {type}", key=key, type=row.type.value
            )
            yield Problem(
                (*path, key), message, Text("range is for numbers, each for lists"), key=True
            )
        yield from check_bounds((*path, key), *bounds)


def _span(path: DataPath, row: AttributeSpec | OperandSpec) -> Iterator[Problem]:
    if row.since is not None and row.until is not None and row.since > row.until:
        message = Text("since {since} is after until {until}", since=row.since, until=row.until)
        yield Problem((*path, "since"), message, Text("both are opsets that still have it"))


def _deviations(spec: OpSpec) -> Iterator[Problem]:
    yield from _repeated_names(("deviations",), [row.name for row in spec.deviations])
    for position, row in enumerate(spec.deviations):
        path = ("deviations", position)
        if not row.proven and not row.inferred:
            message = Text("{name} does not name a release", name=row.name)
            help_ = Text("add proven or inferred, lists of releases such as 8.5-9.1")
            yield Problem((*path, "name"), message, help_)
        for both in (one for one in row.inferred for two in row.proven if _overlap(one, two)):
            message = Text(
                "{name} is both proven and inferred for {both}", name=row.name, both=both
            )
            yield Problem((*path, "inferred"), message, Text("make the releases disjoint"))


def _overlap(one: str, two: str) -> bool:
    return covers(one, two.partition("-")[0]) or covers(two, one.partition("-")[0])


def _repeated_names(path: DataPath, names: Sequence[str]) -> Iterator[Problem]:
    for position, name in enumerate(names):
        if name in names[:position]:
            message = Text("{name} occurs twice in {path}", name=name, path=path[-1])
            yield Problem((*path, position, "name"), message, Text("keep one of the two"))
