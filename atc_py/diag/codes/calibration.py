"""Codes of calibration, in families 2 and 3: its files, and values that have no int8 form."""

from atc_py.diag.codes.table import add_code
from atc_py.diag.diagnostic import ExitCode

BAD_QUANT_RECORD = add_code(
    2060,
    "bad-quant-record",
    ExitCode.FILE,
    "A record of scales and offsets cannot be read, or does not fit int8 layers. It is not in the "
    "text format of Ascend's quantizer, or has values that no int8 layer can have: an offset "
    "outside [-128, 127], an offset of weights that is not 0, a scale that is not positive and "
    "finite, or a count that is not that of the channels.",
    "Correct the entry that the message names, or calibrate again and write the record anew.",
)
BAD_QUANT_CONFIG = add_code(
    2061,
    "bad-quant-config",
    ExitCode.FILE,
    "A configuration of quantization cannot be read, or has a value outside its limits. It must "
    "be the JSON file or the simplified text file of Ascend's quantizer.",
    "Correct the field that the message names; docs/quantization.md lists fields and limits.",
)
BAD_HISTOGRAM = add_code(
    2062,
    "bad-histogram-data",
    ExitCode.FILE,
    "Stored histograms of a calibration are damaged, or another version of atc-py wrote them.",
    "Delete the file and calibrate again.",
)
QUANT_FIELD_NOT_MODELED = add_code(
    2063,
    "quant-field-not-modeled",
    ExitCode.FILE,
    "A configuration or a record asks for something that atc-py does not compute. Examples are "
    "weights of 4 bits and a joint scale of two branches.",
    "Remove the field that the message names, or give it the value that the message allows.",
)
NO_VALUES = add_code(
    3030,
    "no-calibration-values",
    ExitCode.MODEL,
    "A tensor has no values from which a range could be chosen. No sample reached it, or it has "
    "no elements.",
    "Give samples that reach the layer, or leave the layer in floats with --skip.",
)
VALUES_NOT_FINITE = add_code(
    3031,
    "values-not-finite",
    ExitCode.MODEL,
    "Values that are to be quantized contain NaN or infinities, or numbers beyond float32.",
    "Look at the samples and at the layer before it; --skip leaves the layer in floats.",
)
SCALE_OUT_OF_RANGE = add_code(
    3032,
    "scale-out-of-range",
    ExitCode.MODEL,
    "The range of a tensor needs a scale that the int8 operators do not have. It is more than "
    "8388608, the reciprocal of float32's epsilon.",
    "Leave the layer in floats with --skip, or clip its input to a range that float16 has.",
)
