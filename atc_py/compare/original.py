"""The original that a compiled model is compared with.

A file in the deploy form has operators that no ONNX runtime knows. Its original is the same network
in QuantizeLinear and DequantizeLinear, as `quantize --format qdq` writes it: the values of the two
have one name, but for int32 sums, which that form has not.
"""

from pathlib import Path

from atc_py.compare.reference import ReferenceModel, open_reference
from atc_py.diag import BAD_OPTION, Place
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.rewriting.qdq.to_qdq import is_deploy_form
from atc_py.options.command_options import RewriteOptions
from atc_py.options.compile_options import QuantBias
from atc_py.pipeline.quantize import rewrite_quantized
from atc_py.text import Text

_FORM = "qdq"


def open_original(
    file: OnnxFile, folder: Path, quant_bias: QuantBias | None = None, reference: Path | None = None
) -> ReferenceModel:
    """Open the ONNX model in `file`, ready to run.

    A file in the deploy form runs in another one, which goes to `folder`. A `reference` runs in
    place of the model: the float model that it was quantized from, for instance. Values of equal
    names are compared.

    Raises:
        AtcError: what `open_reference` and `rewrite_quantized` raise; NO_QDQ_FORM for a node of the
            deploy form that no ONNX runtime could run in another form either; BAD_OPTION for a
            reference with other inputs or outputs.
    """
    original = ReferenceModel(file)
    if reference is not None:
        other = open_reference(reference)
        _refuse_other_ports(original, other)
        other.scaled = original.balanced
        return other.standing_for(original, "")
    runnable = runnable_file(file, folder, quant_bias)
    if runnable is file:
        return original
    return ReferenceModel(runnable).standing_for(original, _FORM)


def _refuse_other_ports(model: ReferenceModel, reference: ReferenceModel) -> None:
    """Refuse a reference that cannot be fed as the model is, or makes none of its outputs."""
    place = Place(str(reference.path))
    unknown = [name for name in reference.inputs if name not in model.inputs]
    if unknown:
        raise BAD_OPTION.error(
            Text(
                "the reference takes {unknown}, but {path} has no such input",
                unknown=", ".join(unknown),
                path=model.path,
            ),
            place=place,
            help=Text("give a model that takes {inputs}", inputs=", ".join(model.inputs)),
        )
    if not set(model.outputs) & set(reference.outputs):
        raise BAD_OPTION.error(
            Text(
                "the reference produces {outputs}, none of which is an output of {path}",
                outputs=", ".join(reference.outputs),
                path=model.path,
            ),
            place=place,
            help=Text("give a model that produces {outputs}", outputs=", ".join(model.outputs)),
        )


def runnable_file(file: OnnxFile, folder: Path, quant_bias: QuantBias | None = None) -> OnnxFile:
    """A file that an ONNX runtime runs; one in the deploy form is written as QDQ to `folder`."""
    if not is_deploy_form(node.op_type for node in file.nodes):
        return file
    rewritten = folder / f"{file.path.stem}.{_FORM}.onnx"
    options = RewriteOptions(form=_FORM, quant_bias=quant_bias, external_data=True)
    rewrite_quantized(file.path, rewritten, options)
    return read_model(rewritten)
