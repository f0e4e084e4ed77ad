"""atc's codes of faults with their meaning in our own words, and findings that carry them."""

import re

from atc_py.diag import AtcError, AtcFault, Code, Place
from atc_py.diag.codes import BAD_OPTION

NO_CODE = "E19999"
"""Code of a failure that atc has none for."""

_VALUE = "the value {0} of {1} is not valid: {2}"
_OPTION_VALUE = "the value {0} of --{1} is not valid: {2}"

TEXTS: dict[str, str] = {
    "E10001": _VALUE,
    "E10002": "the input shape {0} is not valid: {1}; a sample is {2}",
    "E10003": _OPTION_VALUE,
    "E10004": "--{0} has no value",
    "E10005": "--{1} must be true or false, found {0}",
    "E10006": "--{1} must be 1 or 0, found {0}",
    "E10007": "--{0} is required, and must be {1}",
    "E10008": "a Caffe network needs --weight",
    "E10009": "--dynamic_batch_size, --dynamic_image_size, --dynamic_dims and --input_shape_range "
    "exclude each other",
    "E10010": "--log must be debug, info, warning, error or null, found {0}",
    "E10011": "the input shape {0} has the dim {1}, which must be above 0",
    "E10012": "an input of a batch needs a rank of 1 at least",
    "E10013": "the value {0} of --{1} is out of range",
    "E10014": "the value {0} of --{1} is not valid",
    "E10016": "{0}, which --{1} names, is not in the model",
    "E10017": "{0}, which --{1} names, is not an input of the model",
    "E10018": "with --dynamic_batch_size -1 stands in the first place alone, the input shape {0} has "
    "one in place {1}",
    "E10019": "with --dynamic_image_size the height and the width alone are -1",
    "E10020": "the value {0} of --dynamic_image_size must be pairs of a height and a width",
    "E10021": "the path in --{0} is longer than {1} characters",
    "E10022": "the path {0} in --{1} ends in no file name",
    "E10023": "the value {0} of --singleop is not valid",
    "E10024": "the file {0} of single operators cannot be opened",
    "E10025": "the file {0} of single operators is not sound JSON: {1}",
    "E10026": "a single operator has no name of an operator",
    "E10027": "the attribute {0} of {1} {2} of the single operator {3} is not valid",
    "E10029": "the single operator {0} has an attribute without a name",
    "E10030": "the attribute {0} of the single operator {1} has no valid value",
    "E10031": "--dynamic_batch_size needs an input whose first dim is -1",
    "E10032": "the file {0} is not sound JSON",
    "E10034": "{0} gets its data from AIPP and cannot be among --input_fp16_nodes",
    "E10035": "there are {0} gears, and {1} is the fewest",
    "E10036": "there are {0} gears, and {1} is the most",
    "E10037": "gears have {0} and {1} numbers, but must have as many",
    "E10038": "a gear has the number {0}, which must be above 0",
    "E10039": "two gears are equal",
    "E10040": "gears need dims of -1, and no ranges with ~",
    "E10041": "the file {0} cannot be loaded as an offline model",
    "E10045": "the input shape {1} of {0} has more dims of -1 than a gear has numbers",
    "E10046": "the input shape {1} of {0} has fewer dims of -1 than a gear has numbers",
    "E10047": "{0} and {1} exclude each other",
    "E10048": "the input shape range {0} is not valid: {1}; a sample is {2}",
    "E10049": "the input shape has {0} dims, the model's input has {1}",
    "E10050": "the model's dim {0} is not in the range from {1} to {2}",
    "E10052": "the AIPP configuration is not valid: {0}",
    "E10054": "the required option --{0} is missing or empty; quote values with `;` for the shell",
    "E10055": "this is not supported: {0}",
    "E10056": "{0} and {1} are both given",
    "E10057": "{0} and {1} go together in their own way only",
    "E10058": "--{0} is not configured",
    "E10059": "the stage {0} failed: {1}",
    "E10410": "the file {0} does not exist",
    "E13001": "the file {0} cannot be opened: {1}",
    "E13003": "the file {0} cannot be written: {1}",
    "E13004": "the file {0} cannot be read: {1}",
    "E13005": "the file {0} cannot be parsed",
    "E13009": "two operators are called {0}",
    "E13010": "the operator {0} of type {1} has no parser",
    "E13014": "the value {0} of {1} of operator {2} is not valid: {3}",
    "E13015": "the file {0} has {1} bytes, and {2} is the most",
    "E13018": "the file {0} is not a protobuf text",
    "E16001": "the model has no {0}",
    "E16004": "the model has no graph",
    "EZ3003": "no kernel supports the operator {0} of type {1}",
}
"""What each code says, with the places of its arguments."""


def fault_text(fault: AtcFault) -> str:
    """Return what a fault says; its arguments alone where its code is not in the table."""
    text = TEXTS.get(fault.code)
    if text is None:
        return ", ".join(fault.arguments)
    given = dict(enumerate(fault.arguments))
    return re.sub(r"\{(\d)\}", lambda found: given.get(int(found[1]), "?"), text)


def atc_error(
    fault: str,
    *arguments: str,
    code: Code = BAD_OPTION,
    place: Place | None = None,
    help: str | None = None,  # noqa: A002  (the word that users read)
) -> AtcError:
    """A finding of ours that says what atc's code `fault` says."""
    known = AtcFault(fault, arguments)
    return code.error(fault_text(known), place=place, help=help, atc=known)
