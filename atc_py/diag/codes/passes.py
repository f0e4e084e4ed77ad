"""Codes of family 6, the compiler's passes, and 9, atc-py."""

from atc_py.diag.diagnostic import ExitCode, add_code, add_note, add_warning

INTERNAL = add_code(
    "ATC9001 internal-error",
    ExitCode.BUG,
    "atc-py reached a state that it does not handle. This is a bug in atc-py.",
    "Report it, and attach the log file that the message names.",
)


BROKEN_INVARIANT = add_code(
    "ATC6001 broken-invariant",
    ExitCode.BUG,
    "The graph breaks an invariant of the target IR after a pass. This is a bug in atc-py.",
    "Report it with the pass, the node and, if you can, the model; --disable-pass may avoid it.",
)
QUANT_OFFSET = add_warning(
    "ATC6002 quant-offset-unclear",
    "A quantized layer needs the offset of its data or weights, and the model does not "
    "give it in a usable form. The layer is computed without the offset, so its results "
    "will be off.",
    "Quantize all tensors that the layer combines with the same offset, or with offset 0.",
)
QUANT_BIAS_WRAPS = add_warning(
    "ATC6003 quant-bias-wraps",
    "The bias of an int8 layer overflows int32 once the offset of its data, times the sum "
    "of the weights, is folded in. The bias wraps around, as the layer's sums do, so a "
    "result is right where the whole sum is within int32. The behavior of ATC and the NPU "
    "in this case is not published.",
    "Quantize the layer so that its bias is smaller: with larger scales, or its data with offset 0.",
)
NO_16_BIT_KERNEL = add_warning(
    "ATC6010 no-16-bit-kernel",
    "A mixed precision mode asks for a 16-bit kernel for an operator of its white list, and "
    "there is none. The operator keeps the model's dtypes.",
    "No action is needed; --modify-mixlist can remove the operator from the white list.",
)
NO_SUCH_IMPLEMENTATION = add_warning(
    "ATC6011 implementation-mode-without-effect",
    "--op-precision-mode or --allow-hf32 asks for an implementation that does not exist "
    "for the operator, for its dtype or on this SoC. The entry has no effect.",
    "No action is needed; docs/precision.md lists the operators that have several implementations.",
)
KEPT_NARROWER = add_warning(
    "ATC6012 kept-node-narrowed",
    "--keep-dtype asks a node to keep the model's dtypes, for which this SoC has no "
    "kernel, nor for wider ones. The node computes in a narrower float, as it does with "
    "ATC.",
    "Remove the node from the --keep-dtype file, or choose a --soc whose cube unit computes in "
    "float32.",
)
ASSUMED_KERNELS = add_warning(
    "ATC6014 assumed-kernels",
    "CANN publishes no operator information or definition for these kernels of this SoC. The dtypes "
    "that they take are assumed: those of the generic device with bfloat16, or of a SoC with the "
    "same core.",
    "Treat the result for this SoC as a preview, or choose a --soc whose kernels are published.",
)
FORMER_SOC_NAME = add_warning(
    "ATC6016 former-soc-name",
    "--soc is a name that CANN used before it published this generation. The SoC with the "
    "same figures is used.",
    "Give the name of the SoC that you have; `atc-py socs` lists them.",
)
IMPLEMENTATION_NOT_MODELED = add_note(
    "ATC6015 implementation-not-modeled",
    "--op-precision-mode asks for an implementation that the simulator does not model. ATC has "
    "it; the simulator computes the operator in one way. On a device the results may differ in "
    "their last bits.",
    "No action is needed; keep the entry for ATC.",
)
INFINITY_CLIPPED = add_warning(
    "ATC6013 infinity-clipped",
    "Infinities in a constant become finite numbers in a narrower float. --is-weight-clip clamps "
    "them, as ATC does by default: -inf becomes -65504 in float16. A mask of -inf still hides "
    "single positions, but a row that is hidden as a whole gives finite numbers where the model "
    "gives NaN.",
    "Use a large finite number in the model, such as -65504, or compile with --is-weight-clip 0.",
)
FUSION_NOT_SWITCHED = add_warning(
    "ATC6020 fusion-not-switched",
    "A fusion switch file has an entry without effect: it names a pass that atc-py does "
    "not have, or one that every compilation needs.",
    "No action is needed; `atc-py convert --passes` lists the passes with ATC's names for them.",
)
SMALL_CHANNEL_WITHOUT_EFFECT = add_warning(
    "ATC6030 small-channel-without-effect",
    "--enable-small-channel has no effect on this SoC. It asks for filters with four channels for "
    "each tap, which the SoC has only in a first layer after AIPP, with data in a format that is "
    "not modeled, or not at all.",
    "No action is needed; docs/layout.md lists the SoCs on which the option has an effect.",
)
