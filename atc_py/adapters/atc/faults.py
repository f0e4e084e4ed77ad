"""atc's codes of faults with their meaning in our own words, and findings that carry them."""

from atc_py.diag import BAD_OPTION, AtcError, AtcFault, Code, Place
from atc_py.text import COMMA, Text

NO_CODE = "E19999"
"""Code of a failure that atc has none for."""

_VALUE = Text("the value {a} of {b} is not valid: {c}")
_OPTION_VALUE = Text("the value {a} of --{b} is not valid: {c}")

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
    "E10012": Text("an input of a batch needs a rank of 1 at least"),
    "E10013": Text("the value {a} of --{b} is out of range"),
    "E10014": Text("the value {a} of --{b} is not valid"),
    "E10016": Text("{a}, which --{b} names, is not in the model"),
    "E10017": Text("{a}, which --{b} names, is not an input of the model"),
    "E10018": Text(
        "with --dynamic_batch_size -1 stands in the first place alone, the input shape {a} has "
        "one in place {b}"
    ),
    "E10019": Text("with --dynamic_image_size the height and the width alone are -1"),
    "E10020": Text("the value {a} of --dynamic_image_size must be pairs of a height and a width"),
    "E10021": Text("the path in --{a} is longer than {b} characters"),
    "E10022": Text("the path {a} in --{b} ends in no file name"),
    "E10023": Text("the value {a} of --singleop is not valid"),
    "E10024": Text("the file {a} of single operators cannot be opened"),
    "E10025": Text("the file {a} of single operators is not sound JSON: {b}"),
    "E10026": Text("a single operator has no name of an operator"),
    "E10027": Text("the attribute {a} of {b} {c} of the single operator {d} is not valid"),
    "E10029": Text("the single operator {a} has an attribute without a name"),
    "E10030": Text("the attribute {a} of the single operator {b} has no valid value"),
    "E10031": Text("--dynamic_batch_size needs an input whose first dim is -1"),
    "E10032": Text("the file {a} is not sound JSON"),
    "E10034": Text("{a} gets its data from AIPP and cannot be among --input_fp16_nodes"),
    "E10035": Text("there are {a} gears, and {b} is the fewest"),
    "E10036": Text("there are {a} gears, and {b} is the most"),
    "E10037": Text("gears have {a} and {b} numbers, but must have as many"),
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
    "E10057": Text("{a} and {b} go together in their own way only"),
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
    "E13015": Text("the file {a} has {b} bytes, and {c} is the most"),
    "E13018": Text("the file {a} is not a protobuf text"),
    "E16001": Text("the model has no {a}"),
    "E16004": Text("the model has no graph"),
    "E16005": Text("the model imports {a} domains, and one is the most"),
    "EZ3003": Text("no kernel supports the operator {a} of type {b}"),
}
"""What each code says, with the places of its arguments."""


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
    """That the value of an option is not valid, for a reason."""
    return atc_error("E10001", value, f"--{option}", reason, code=code, option=option, help=remedy)
