"""atc's codes of faults with their meaning in our own words, and findings that carry them."""

from atc_py.diag import BAD_OPTION, AtcError, AtcFault, Code, Place
from atc_py.text import COMMA, Text

NO_CODE = "E19999"
"""Code of a failure that atc has none for."""

_VALUE = Text("the value {a} of {b} is not valid: {c}")
_OPTION_VALUE = Text("the value {a} of --{b} is not valid: {c}")

_UNCODED: dict[str, Text] = {
    NO_CODE: Text("atc failed, and has no code for it"),
    "E69999": Text(
        "the host code of a cube operator (shapes, tiling) failed, and has no code for it"
    ),
    "E89999": Text(
        "the host code of a vector operator (shapes, tiling) failed, and has no code for it"
    ),
}
"""What is known of failures without a code of their own; ops-nn and its like report the last two."""

TEXTS: dict[str, Text] = {
    "E10001": _VALUE,
    "E10002": Text("the input shape {a} is not valid: {b}; a sample is {c}"),
    "E10003": _OPTION_VALUE,
    "E10004": Text("--{a} has no value"),
    "E10005": Text("--{b} must be true or false, found {a}"),
    "E10006": Text("--{b} must be 1 or 0, found {a}"),
    "E10007": Text("--{a} is required, and must be {b}"),
    "E10008": Text("a Caffe network needs --weight"),
    "E10009": Text(
        "--dynamic_batch_size, --dynamic_image_size, --dynamic_dims and --input_shape_range "
        "exclude each other"
    ),
    "E10010": Text("--log must be debug, info, warning, error or null, found {a}"),
    "E10011": Text("the input shape {a} has the dim {b}, which must be above 0"),
    "E10012": Text("a batched input needs a rank of at least 1"),
    "E10013": Text("the value {a} of --{b} is out of range"),
    "E10014": Text("the value {a} of --{b} is not valid"),
    "E10016": Text("{a}, which --{b} names, is not in the model"),
    "E10017": Text("{a}, which --{b} names, is not an input of the model"),
    "E10018": Text(
        "with --dynamic_batch_size only the first dim may be -1, but the input shape {a} has "
        "-1 in position {b}"
    ),
    "E10019": Text("with --dynamic_image_size only the height and the width may be -1"),
    "E10020": Text("the value {a} of --dynamic_image_size must be pairs of a height and a width"),
    "E10021": Text("the path in --{a} is longer than {b} characters"),
    "E10022": Text("the path {a} in --{b} does not end in a file name"),
    "E10023": Text("the value {a} of --singleop is not valid"),
    "E10024": Text("the file {a} of single operators cannot be opened"),
    "E10025": Text("the file {a} of single operators is not valid JSON: {b}"),
    "E10026": Text("a single operator has no operator name"),
    "E10027": Text("the attribute {a} of {b} {c} of the single operator {d} is not valid"),
    "E10029": Text("the single operator {a} has an attribute without a name"),
    "E10030": Text("the attribute {a} of the single operator {b} has no valid value"),
    "E10031": Text("--dynamic_batch_size needs an input whose first dim is -1"),
    "E10032": Text("the file {a} is not valid JSON"),
    "E10034": Text("{a} gets its data from AIPP and cannot be named by --input_fp16_nodes"),
    "E10035": Text("there are {a} gears; at least {b} are needed"),
    "E10036": Text("there are {a} gears; at most {b} are allowed"),
    "E10037": Text("gears have {a} and {b} numbers, but all gears need the same count"),
    "E10038": Text("a gear has the number {a}, which must be above 0"),
    "E10039": Text("two gears are equal"),
    "E10040": Text("gears need dims of -1, and no ranges with ~"),
    "E10041": Text("the file {a} cannot be loaded as an offline model"),
    "E10045": Text("the input shape {b} of {a} has more dims of -1 than a gear has numbers"),
    "E10046": Text("the input shape {b} of {a} has fewer dims of -1 than a gear has numbers"),
    "E10047": Text("{a} and {b} exclude each other"),
    "E10048": Text("the input shape range {a} is not valid: {b}; a sample is {c}"),
    "E10049": Text("the input shape has {a} dims, the model's input has {b}"),
    "E10050": Text("the model's dim {a} is not in the range from {b} to {c}"),
    "E10052": Text("the AIPP configuration is not valid: {a}"),
    "E10054": Text(
        "the required option --{a} is missing or empty; quote values with `;` for the shell"
    ),
    "E10055": Text("this is not supported: {a}"),
    "E10056": Text("{a} and {b} are both given"),
    "E10057": Text("{a} and {b} cannot be combined in this way"),
    "E10058": Text("--{a} is not configured"),
    "E10059": Text("the stage {a} failed: {b}"),
    "E10410": Text("the file {a} does not exist"),
    "E13001": Text("the file {a} cannot be opened: {b}"),
    "E13003": Text("the file {a} cannot be written: {b}"),
    "E13004": Text("the file {a} cannot be read: {b}"),
    "E13005": Text("the file {a} cannot be parsed"),
    "E13009": Text("two operators are called {a}"),
    "E13010": Text("the operator {a} of type {b} has no parser"),
    "E13014": Text("the value {a} of {b} of operator {c} is not valid: {d}"),
    "E13015": Text("the file {a} has {b} bytes; the limit is {c}"),
    "E13018": Text("the file {a} is not a protobuf text"),
    "E16001": Text("the model has no {a}"),
    "E16004": Text("the model has no graph"),
    "E16005": Text("the model imports {a} domains; at most one is allowed"),
    "EZ3003": Text("no kernel supports the operator {a} of type {b}"),
}
"""What each code says, with the places of its arguments."""

_REMEDIES = {
    "E10001 E10003 E10013 E10014": Text(
        "give one of the values that the page of options lists (docs/from-atc.md); atc's text "
        "names the option"
    ),
    "E10002 E10011 E10012": Text(
        'write each input as "name:1,3,224,224", inputs apart by `;`, the whole in quotes; '
        "`atc-py check MODEL` proposes dims"
    ),
    "E10004 E10007 E10008 E10054 E10058": Text(
        "give the option a value; in a shell, quote values that hold `;`"
    ),
    "E10005 E10006 E10010": Text("write the value as atc's message gives it, in lower case"),
    "E10009 E10031 E10040": Text(
        "choose one way of gears, and leave dims of -1 in --input_shape for them (docs/gears.md)"
    ),
    "E10018 E10019 E10020 E10035 E10036 E10037 E10038 E10039 E10045 E10046": Text(
        "compare the gears with the dims of -1: as many numbers in each gear, each above 0, "
        "no gear twice, 2 to 100 gears (docs/gears.md)"
    ),
    "E10016 E10017 E10034": Text(
        "look the name up with `atc-py info MODEL`; names are those of the ONNX file"
    ),
    "E10021 E10022 E10410 E13001 E13003 E13004": Text(
        "check the path, and whether the file may be read or its folder written"
    ),
    "E10023 E10024 E10025 E10026 E10027 E10029 E10030": Text(
        "correct the file of single operators; `atc-py atc` names the line and what it "
        "expects (docs/om-json.md)"
    ),
    "E10032 E13005 E13018": Text(
        "correct the file; any checker of JSON or protobuf text names the line"
    ),
    "E10041": Text("give an .om that atc wrote, whole: `atc-py info FILE` says what the file is"),
    "E10047 E10056 E10057": Text(
        "leave one of the two options out (docs/from-atc.md says which can be combined)"
    ),
    "E10048 E10049 E10050": Text(
        "give as many dims as the model's input has, each within its range; `atc-py info "
        "MODEL` shows them"
    ),
    "E10052": Text(
        "correct the AIPP configuration; `atc-py aipp CONFIG PICTURE` names each fault "
        "(docs/aipp.md)"
    ),
    "E10055": Text("leave out what atc's text names; a newer release of CANN may take it"),
    "E10059 E19999": Text(
        "atc has no code of its own for this: read its log; `atc-py check MODEL --cann "
        "RELEASE` names known causes"
    ),
    "E69999 E89999": Text(
        "the line after the code names the operator: `atc-py check MODEL --soc SOC --cann RELEASE` "
        "says which of its dims, dtypes and attributes are not listed"
    ),
    "E13009": Text("make names of nodes unique; `atc-py fix MODEL --for cann` does"),
    "E16005": Text(
        "leave out imports of domains that no node uses; `atc-py fix MODEL --for cann` does"
    ),
    "E13010 EZ3003": Text(
        "`atc-py check MODEL` names every such node with the reason, `atc-py fix MODEL` "
        "writes what it can in listed operators"
    ),
    "E13014": Text("`atc-py check MODEL` names the attribute and what the list takes"),
    "E13015": Text(
        "keep weights beside the model as external data: the file itself must stay below 2 GiB"
    ),
    "E16001 E16004": Text(
        "export the model again: a graph needs at least one input and one output"
    ),
}
"""Codes apart by blanks, and what to do about them."""


def fault_codes() -> list[str]:
    """Codes of atc that `find_fault` has, in order."""
    return sorted(code for code in {**_UNCODED, **TEXTS} if find_fault(code) is not None)


def find_fault(name: str) -> tuple[str, Text, Text] | None:
    """Code, meaning and remedy of a code of atc, in whatever case; arguments are `...`."""
    code = name.upper()
    said = TEXTS.get(code, _UNCODED.get(code))
    remedy = next((text for codes, text in _REMEDIES.items() if code in codes.split()), None)
    if said is None or remedy is None:
        return None
    return code, said.with_values(**dict.fromkeys("abcd", "...")), remedy


def fault_text(fault: AtcFault) -> Text:
    """Text of a fault; its arguments alone where its code is not in the table."""
    text = TEXTS.get(fault.code)
    if text is None:
        return COMMA.join(fault.arguments)
    return text.with_values(**dict(zip("abcd", (*fault.arguments, *"????"), strict=False)))


def atc_error(
    fault: str,
    *arguments: str,
    code: Code = BAD_OPTION,
    option: str = "",
    place: Place | None = None,
    help: Text | None = None,  # noqa: A002  (the word that users read)
) -> AtcError:
    """A finding of ours that says what atc's code `fault` says, of an option or another place."""
    known = AtcFault(fault, arguments)
    place = Place(field=f"--{option}") if option else place
    return code.error(fault_text(known), place=place, help=help, atc=known)


def invalid_value(
    option: str, value: str, reason: str, remedy: Text | None = None, code: Code = BAD_OPTION
) -> AtcError:
    return atc_error("E10001", value, f"--{option}", reason, code=code, option=option, help=remedy)
