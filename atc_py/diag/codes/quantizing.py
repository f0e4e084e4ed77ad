"""Codes of quantizing float models: samples, and models or layers that are not quantized."""

from atc_py.diag.diagnostic import ExitCode, add_code, add_note, add_warning

BAD_QUANT_RECORD = add_code(
    "ATC2060 bad-quant-record",
    ExitCode.FILE,
    "A record of scales and offsets cannot be read, or does not fit int8 layers. It is not in the "
    "text format of Ascend's quantizer, or has values that no int8 layer can have: an offset "
    "outside [-128, 127], an offset of weights that is not 0, a scale that is not positive and "
    "finite, or a count that is not that of the channels.",
    "Correct the entry that the message names, or calibrate again and write a new record.",
)
BAD_QUANT_CONFIG = add_code(
    "ATC2061 bad-quant-config",
    ExitCode.FILE,
    "A configuration of quantization cannot be read, or has a value outside its limits. It must "
    "be the JSON file or the simplified text file of Ascend's quantizer.",
    "Correct the field that the message names; docs/quantization.md lists fields and limits.",
)
BAD_HISTOGRAM = add_code(
    "ATC2062 bad-histogram-data",
    ExitCode.FILE,
    "Stored histograms of a calibration are damaged, or another version of atc-py wrote them.",
    "Delete the file and calibrate again.",
)
QUANT_FIELD_NOT_MODELED = add_code(
    "ATC2063 quant-field-not-modeled",
    ExitCode.FILE,
    "A configuration or a record asks for something that atc-py does not compute, such as "
    "weights of 4 bits or a joint scale of two branches.",
    "Remove the field that the message names, or give it the value that the message allows.",
)
NO_VALUES = add_code(
    "ATC3030 no-calibration-values",
    ExitCode.MODEL,
    "A tensor has no values from which a range could be chosen. No sample reached it, or it has "
    "no elements.",
    "Give samples that reach the layer, or leave the layer in floats with --skip.",
)
VALUES_NOT_FINITE = add_code(
    "ATC3031 values-not-finite",
    ExitCode.MODEL,
    "Values to be quantized contain NaN, infinities or numbers beyond float32.",
    "Look at the samples and at the layer before it; --skip leaves the layer in floats.",
)
SCALE_OUT_OF_RANGE = add_code(
    "ATC3032 scale-out-of-range",
    ExitCode.MODEL,
    "The range of a tensor needs a scale that the int8 operators do not have: more than "
    "8388608, the reciprocal of float32's epsilon.",
    "Leave the layer in floats with --skip, or clip its input to the range of float16.",
)


NO_SAMPLES = add_code(
    "ATC1070 no-samples",
    ExitCode.USAGE,
    "There are no samples, for calibration or for a comparison. Their folder is empty, their file has "
    "no rows, the folders of several inputs have different numbers of files, or none fits the shapes "
    "of a gear.",
    "Give a folder with files that `run` takes, one for each sample, or an .npz with the samples "
    "along the first axis.",
)
BAD_SAMPLE = add_code(
    "ATC1071 bad-sample",
    ExitCode.USAGE,
    "A sample for calibration or for a comparison does not fit the model's input: its "
    "dtype or shape differs, it lacks an input, or it has one that is given for all "
    "samples.",
    "Save the sample as the model takes it; the message names dtype and shape.",
)
SAMPLE_NOT_FINITE = add_code(
    "ATC1072 sample-not-finite",
    ExitCode.USAGE,
    "A sample for calibration has NaN or infinities. Ranges of tensors would have them, too.",
    "Remove the sample, or fix the preprocessing that made it.",
)
RANDOM_SAMPLES = add_warning(
    "ATC1073 random-samples",
    "The model is calibrated with random numbers. The ranges of tensors are not those of "
    "real data, so the measured accuracy says nothing about the model in use.",
    "Give real samples with --data; random ones are for trials and for measuring speed.",
)
PROPOSED_DIMS = add_warning(
    "ATC1074 proposed-dims",
    "Random data were asked for, and the model leaves dims open. They got the values that `check` "
    "proposes; results for other dims may differ.",
    "Give the dims that the model is used with by --input-shape, or real data, which have dims.",
)
ALREADY_QUANTIZED = add_code(
    "ATC3040 already-quantized",
    ExitCode.MODEL,
    "Samples were given for a model that has quantized operators already.",
    "Leave out --data to write the model in another form, or give the float model.",
)
NO_FLOAT_LAYERS = add_code(
    "ATC3041 no-layers-to-quantize",
    ExitCode.MODEL,
    "No layer of the model can be quantized, or the options leave all of them in floats.",
    "Layers are Conv, ConvTranspose, Gemm and MatMul with constant float32 weights; the message "
    "says what the model has.",
)
CONSTANT_TENSOR = add_code(
    "ATC3042 constant-tensor",
    ExitCode.MODEL,
    "The data of a layer has the same value in all samples. Most likely the samples are "
    "not what the model is made for; no range can be chosen from them.",
    "Give samples that differ, or leave the layer in floats with --skip.",
)
ZERO_CHANNEL = add_note(
    "ATC3043 zero-channel",
    "All weights of an output channel are 0. Its scale is 1 and its codes are 0, which is exact.",
    "No action is needed; pruned models have such channels.",
)
LAYER_LEFT_FLOAT = add_warning(
    "ATC3044 layer-left-float",
    "A layer that could run on int8 is left in floats, because its numbers cannot be represented.",
    "No action is needed: the layer runs in float16. To run it on int8, scale up the data "
    "or the weights that the message names, and divide the result of the layer.",
)
STEP_LEFT_OUT = add_note(
    "ATC3045 step-left-out",
    "A step meant to lower the error of int8, such as correcting biases, makes the outputs "
    "on the samples worse. It is left out, or applied to only some of the layers.",
    "No action is needed; the report has the gain with all layers and with those that are kept.",
)
LAYERS_IN_BODIES = add_note(
    "ATC3046 layers-in-bodies",
    "Layers in the branches of If or in the body of Loop or Scan stay in floats. Only "
    "values of the main graph are observed while the samples run.",
    "Where the condition of an If is known, export the model with it as a constant: its branch is then "
    "part of the main graph.",
)
INT8_IN_HIGH_PRECISION = add_warning(
    "ATC2090 int8-in-high-precision",
    "A model with layers on int8 is compiled in a high-precision mode. ATC's guide rules "
    "this out: conversions around the layers cost what int8 saves, and the layers are no "
    "more exact than int8.",
    "Leave --precision-mode out, or convert the float model in that mode.",
    exit_code=ExitCode.USAGE,
)
