"""Command lines of atc: each with its code, its output and what it does. More than 400 lines: a table."""

import platform
from collections.abc import Callable
from dataclasses import dataclass

from tests.adapters.atc.conftest import Ran

HOST = f"_{platform.system().lower()}_{platform.machine()}"
"""What stands in the name of a model with open dims."""

NONE = "E19999"
"""Code of a failure that atc has none for."""


@dataclass(frozen=True)
class Line:
    """A command line and its outcome.

    Attributes:
        words: the line, `{B}` standing for its usual beginning.
        code: atc's code of the failure; empty for a success.
        output: the file that it writes, or nothing.
        effect: what else is true after it.
    """

    words: str
    code: str = ""
    output: str = ""
    effect: Callable[[Ran], bool] | None = None


def ok(words: str, effect: Callable[[Ran], bool] | None = None, output: str = "o.om") -> Line:
    """Return a line that compiles."""
    return Line(words, "", output, effect)


def idle(option: str) -> Line:
    """Return a line with an option that is accepted and named."""
    name = option.partition("=")[0]
    return ok(f"{{B}} {option}", lambda ran: f"{name} has no effect" in ran.lines[-1])


def says(text: str) -> Callable[[Ran], bool]:
    """Return the effect that a stream has a text."""
    return lambda ran: text in ran.out + ran.err


def has_shape(port: str, *shape: int | None) -> Callable[[Ran], bool]:
    """Return the effect that an input or output has a shape."""
    return lambda ran: ran.shape("o.om", port) == list(shape)


def outputs(*names: str) -> Callable[[Ran], bool]:
    """Return the effect that the offline model has these outputs, in order."""
    return lambda ran: [port.name for port in ran.om("o.om").outputs] == list(names)


def dtype(port: str, name: str) -> Callable[[Ran], bool]:
    """Return the effect that an input or output has a dtype."""

    def holds(ran: Ran) -> bool:
        found = ran.om("o.om")
        tensor = next(p.tensor for p in (*found.inputs, *found.outputs) if p.name == port)
        return found.tensors[tensor].dtype == name

    return holds


def mode(name: str) -> Callable[[Ran], bool]:
    """Return the effect that the offline model was compiled in a precision mode."""
    return lambda ran: ran.om("o.om").options["precision_mode"] == name


def recorded(text: str) -> Callable[[Ran], bool]:
    """Return the effect that the offline model names a command line."""
    return lambda ran: ran.om("o.om").options["atc_cmdline"] == text


def graph_name(file: str, name: str) -> Callable[[Ran], bool]:
    """Return the effect that the graph of an offline model has a name."""
    return lambda ran: ran.om(file).name == name


def opens_batch(ran: Ran) -> bool:
    """Return True if each run decides the batch of the offline model."""
    return ran.shape(f"o{HOST}.om", "x") == [None, 3, 224, 224]


def keeps_addresses(ran: Ran) -> bool:
    """Return True if no two values of the offline model share memory."""
    memory = ran.om("o.om").memory
    return memory is not None and not memory.reuse


def no_verdict(ran: Ran) -> bool:
    """Return True if the run had a usage and no verdict."""
    return not ran.verdict and any("--soc_version" in line for line in ran.lines)


GEARS_B = '{B} --model=d.onnx --input_shape="x:-1,3,224,224" --dynamic_batch_size'
GEARS_I = '{B} --model=d.onnx --input_shape="x:1,3,-1,-1" --dynamic_image_size'
GEARS_D = '{B} --model=d.onnx --input_shape="x:-1,3,-1,-1" --dynamic_dims'
M = "--model=m.onnx"
S = "--soc_version=Ascend310P3"

TOKENS = [
    Line("", "E10007"),
    Line("--help", effect=no_verdict),
    Line("-h", effect=no_verdict),
    Line("--h", effect=no_verdict),
    Line("-help", effect=no_verdict),
    Line("--help=true", effect=no_verdict),
    Line("--help=Yes", effect=no_verdict),
    Line("--help=maybe", "E10001"),
    Line("--help=false", "E10007"),
    Line("{B} --frobnicate=1", NONE, effect=says("ERROR: unknown command line flag 'frobnicate'")),
    Line("{B} -x", NONE, effect=says("ERROR: unknown command line flag 'x'")),
    Line("{B} --head_stream=1", NONE, effect=says("unknown command line flag 'head_stream'")),
    Line("{B} --dynamic=1", NONE, effect=says("unknown command line flag 'dynamic'")),
    Line("{B} extra", NONE, effect=says("ERROR: Non-option parameter: extra")),
    Line("extra {B}", NONE, effect=says("ERROR: Non-option parameter: extra")),
    Line("{B} -- extra", NONE, effect=says("ERROR: Non-option parameter: extra")),
    Line("{B} --log", NONE, effect=says("ERROR: flag '--log' is missing its argument")),
    ok(f"{M} --framework=5 --output=o -soc_version=Ascend310P3"),
    ok(f"{M} --framework=5 --output=o --soc-version=Ascend310P3"),
    ok(f"{M} --framework=5 --output=o --soc Ascend310P3"),
    ok(f"{M} --framework=5 --output=o --soc_v=Ascend310P3"),
    ok(f"--output=o {M} {S} --framework 5"),
    ok("-model m.onnx -framework 5 -output o -soc-version Ascend310P3"),
    ok('{B} --input-shape="x:1,3,224,224"'),
    ok("{B} --out-nodes=tensor1", outputs("tensor1")),
    ok("{B} --out_node=tensor1", outputs("tensor1")),
    ok("{B} --op_precision=modes.ini"),
    ok("{B} --device 0", lambda ran: "--device_id" not in ran.lines[-1]),
    ok("{B} --device=1", says("--device_id has no effect")),
    ok('{B} --input_fp16_nodes=""', dtype("x", "float32")),
    ok("{B} --output=other --output=o"),
    ok("{B} --soc_version=Nonsense --soc_version=Ascend310P3"),
    Line('{B} --framework="5 "', "E10007"),
    Line("{B} --framework=2", "E10007"),
    Line("{B} --framework=5x", "E10007"),
    Line("{B} --framework=", "E10007"),
    Line("{B} --framework=-5", "E10007"),
    Line("{B} --mode=2", "E10001", effect=says("[0] [1] [3] [5] [6] [7] [30]")),
    Line("{B} --op_debug_level=7", "E10001", effect=says("[0] [1] [2] [3] [4]")),
    Line("{B} --core_type=aicore", "E10001", effect=says("[AiCore] [VectorCore]")),
    Line("{B} --log=verbose", "E10010"),
    Line('{B} --log=""', "E10010"),
    Line("{B} --disable_reuse_memory=2", "E10006"),
    Line("{B} --sparsity=true", "E10006"),
    Line("{B} --external_weight=3", "E10006"),
    Line("{B} --virtual_type=2", "E10001"),
    Line("{B} --jit_compile=3", "E10001"),
    Line("{B} --op_compiler_cache_mode=on", "E10001"),
    Line("{B} --buffer_optimize=l3_optimize", "E10001"),
    Line("{B} --op_select_implmode=fast", "E10001"),
    Line("{B} --precision_mode=fp16", "E10001"),
    Line("{B} --precision_mode_v2=force_fp16", "E10001"),
    Line("{B} --log=verbose --frobnicate=1", "E10010"),
]
"""Words, values that are checked while they are parsed, and what is left over."""

CHECKS = [
    Line(f"{M} --framework=5 --output=o", "E10054", effect=says("--soc_version is missing")),
    Line(f"{M} --framework=5 {S}", "E10054", effect=says("--output is missing")),
    Line(f"--framework=5 --output=o {S}", "E10054", effect=says("--model is missing")),
    Line("--framework=5", "E10054", effect=says("--soc_version is missing")),
    Line(f"{M} --output=o {S}", "E10007"),
    Line("{B} --framework=0", "E10008"),
    Line("{B} --framework=0 --weight=weights.caffemodel", "E10055"),
    Line("{B} --framework=3", "E10055", effect=says("TensorFlow")),
    Line("{B} --framework=1", "E10055", effect=says("MindSpore")),
    Line("{B} --weight=none.caffemodel", "E10001"),
    ok("{B} --weight=weights.caffemodel", says("--weight has no effect")),
    Line("{B} --model=none.onnx", "E10001", effect=says("No such file")),
    Line('{B} --model="my model.onnx"', "E10001", effect=says("Chinese characters")),
    Line("{B} --model=weights.caffemodel", "E13005"),
    Line("{B} --output=dir/", "E10022"),
    Line('{B} --output="o;p"', "E10001"),
    Line(f"{{B}} --output={'a' * 4096}", "E10021"),
    Line("{B} --output=m.onnx/o", "E10001"),
    Line(f"{{B}} --output={'a' * 300}/x", "E10001"),
    ok("{B} --output=new/folder/x", graph_name("new/folder/x.om", "x"), "new/folder/x.om"),
    ok("{B} --output=x.om", graph_name("x.om.om", "x.om"), "x.om.om"),
    ok("{B} --output=./x.1", graph_name("x.1.om", "x.1"), "x.1.om"),
    ok("{B} --output=模型", output="模型.om"),
    ok("{B} --output=.", graph_name("..om", "."), "..om"),
    ok("{B} --output=new/.", graph_name("new/..om", "."), "new/..om"),
    ok("{B} --output=..", output="...om"),
    Line("{B} --output=none/x --model=odd.onnx", "E13010",
         effect=lambda ran: not (ran.folder / "none").exists()),
    Line("{B} --soc_version=Ascend311", "E10001"),
    ok("{B} --soc_version=Ascend310"),
    ok("{B} --soc_version=Ascend910", lambda ran: ran.om("o.om").soc == "Ascend910A"),
    Line("{B} --input_format=nchw", "E10001"),
    Line("{B} --input_format=NHWC", "E10001"),
    ok("{B} --input_format=ND"),
    ok("{B} --input_format=NCHW"),
    Line("{B} --precision_mode=force_fp16 --precision_mode_v2=fp16", "E10056"),
    Line("{B} --modify_mixlist=mixlist.json", "E10001"),
    ok("{B} --modify_mixlist=mixlist.json --precision_mode=allow_mix_precision",
       mode("allow_mix_precision")),
    Line("{B} --modify_mixlist=none.json --precision_mode=allow_mix_precision", "E10001"),
    ok("{B} --precision_mode_v2=origin --soc_version=Ascend910B1", mode("must_keep_origin_dtype")),
    Line("{B} --precision_mode_v2=mixed_hif8", "E10055"),
    Line("{B} --optypelist_for_implmode=Gelu", "E10001"),
    ok("{B} --optypelist_for_implmode=Relu --op_select_implmode=high_precision"),
    ok("{B} --op_select_implmode=high_performance"),
    Line("{B} --op_precision_mode=none.ini", "E10001"),
    Line("{B} --keep_dtype=none.txt", "E10001"),
    ok("{B} --keep_dtype=keep.txt"),
    ok("{B} --customize_dtypes=custom.txt"),
    ok("{B} --fusion_switch_file=fusion.cfg"),
    Line("{B} --fusion_switch_file=none.cfg", "E10001"),
    Line("{B} --is_weight_clip=2", "E10006"),
    Line("{B} --allow_hf32=1", "E10005"),
    Line("{B} --is_input_adjust_hw_layout=yes", "E10005"),
    ok("{B} --is_input_adjust_hw_layout=true"),
    Line("{B} --is_input_adjust_hw_layout=true --input_fp16_nodes=x", "E10055"),
    ok("{B} --is_input_adjust_hw_layout=false --input_fp16_nodes=x", dtype("x", "float16")),
    Line("{B} --enable_compress_weight=1", "E10005"),
    Line("{B} --enable_compress_weight=true --compress_weight_conf=keep.txt", "E10047"),
    Line("{B} --save_original_model=1", "E10005"),
    Line("{B} --enable_single_stream=1", "E10005"),
    Line("{B} --ac_parallel_enable=true", "E10006"),
    Line("{B} --host_env_os=windows", "E10001"),
    Line("{B} --host_env_cpu=riscv", "E10001"),
    Line("{B} --static_model_ops_lower_limit=-2", "E10001"),
    Line("{B} --quant_dumpable=yes", "E10006"),
    Line("{B} --quant_dumpable=1", "E10055"),
    ok("{B} --quant_dumpable=0"),
    Line('{B} --auto_tune_mode="RL,GA"', "E10001"),
    ok('{B} --auto_tune_mode=""'),
    ok("{B} --deterministic=1", says("--deterministic has no effect")),
    Line("{B} --deterministic=1 --deterministic_level=0", "E10001"),
    Line("{B} --deterministic_level=1", "E10001"),
    ok("{B} --deterministic=1 --deterministic_level=2"),
    Line("{B} --core_type=VectorCore", "E10055"),
    Line("{B} --compression_optimize_conf=keep.txt", "E10055"),
    ok("{B} --raw_ge_options=raw.json"),
    ok("{B} --topo_sorting_mode=3"),
    Line("{B} --topo_sorting_mode=9", "E10001"),
    Line("{B} --oo_constant_folding=yes", "E10001"),
    Line("{B} --oo_dead_code_elimination=1", "E10001"),
    ok('{B} --aicore_num="8|"'),
    Line("{B} --aicore_num=08", "E10001"),
    Line('{B} --aicore_num="999|7"', "E10001"),
    ok("{B} --multi_stream_parallel_mode=LoadBalance:64"),
    Line("{B} --multi_stream_parallel_mode=MainStream:65", "E10001"),
    ok('{B} --h2d_overlapped_with_compute="44,"'),
    Line("{B} --h2d_overlapped_with_compute=xyz", "E10001"),
    Line("{B} --raw_ge_options=raw_some.json", "E10055", effect=says("ge.exec.x")),
    ok("{B} --raw_ge_options=raw_some.json --raw_ge_options_ignore_unsupported"),
    Line("{B} --raw_ge_options=raw_output.json", "E10055"),
    Line("{B} --raw_ge_options=raw_list.json", "E10032"),
    Line("{B} --raw_ge_options=raw_cut.json", "E10032"),
    Line("{B} --raw_ge_options=none.json", "E13001"),
    Line("{B} --raw_ge_options=latin.json", "E13001", effect=says("not UTF-8 text")),
    Line("{B} --raw_ge_options=/dev/zero", "E13001", effect=says("not a file")),
    Line("{B} --keep_dtype=latin.json", "E13004"),
    Line("{B} --keep_dtype=/dev/zero", "E13001"),
    Line("{B} --keep_dtype=.", "E10001", effect=says("Is a directory")),
    Line('{B} --input_hint_shape="0:1,3"', "E10014"),
    ok('{B} --input_hint_shape="0:[1,3,224,224]"', says("--input_hint_shape has no effect")),
    Line(f'{GEARS_B}="1,2" --input_hint_shape="0:[1,3,224,224]"', "E10001"),
    Line("{B} --model=odd.onnx", "E13010",
         effect=lambda ran: (ran.folder / "check_result.json").is_file()),
    Line("{B} --model=odd.onnx --check_report=r.json", "E13010",
         effect=lambda ran: (ran.folder / "r.json").is_file()),
]  # fmt: skip
"""Options against one another, in the order in which atc looks at them."""

ORDER = [
    Line("{B} --input_format=nchw --soc_version=", "E10001"),
    Line("{B} --soc_version= --output=", "E10054", effect=says("--soc_version is missing")),
    Line("{B} --output= --model=", "E10054", effect=says("--output is missing")),
    Line("{B} --model=none.onnx --output=dir/", "E10001"),
    Line("{B} --output=dir/ --precision_mode=force_fp16 --precision_mode_v2=fp16", "E10022"),
    Line('{B} --precision_mode=force_fp16 --precision_mode_v2=fp16 --input_shape="x:0"', "E10056"),
    Line('{B} --input_shape="x:0" --enable_compress_weight=1', "E10011"),
    Line("{B} --enable_compress_weight=1 --keep_dtype=none.txt", "E10005"),
    Line("{B} --keep_dtype=none.txt --save_original_model=1", "E10001"),
    Line("{B} --save_original_model=1 --out_nodes=nothing", "E10005"),
    Line('{B} --raw_ge_options=none.json --auto_tune_mode="RL"', "E13001"),
    Line('{B} --auto_tune_mode="RL" --framework=0', "E10001"),
]
"""Lines with two faults, the first of which counts."""

SHAPES = [
    ok('{B} --input_shape="x:-1,3,224,224"', opens_batch, f"o{HOST}.om"),
    ok('{B} --input_shape="x:1~8,3,224,224"', opens_batch, f"o{HOST}.om"),
    ok('{B} --input_shape_range="x:[1~8,3,224,224]"', opens_batch, f"o{HOST}.om"),
    ok('{B} --input_shape="x:1,3,224,224"', has_shape("x", 1, 3, 224, 224)),
    ok('{B} --input_shape=" x : 1, 3 ,224,224"', has_shape("x", 1, 3, 224, 224)),
    ok("{B} --input_shape='x:1,3,224,224;'"),
    ok('{B} --input_shape="x:4,3,32,32"', has_shape("x", 4, 3, 32, 32)),
    ok('{B} --model=d.onnx --input_shape="x:2,3,64,32"', has_shape("y", 2, 2, 8, 4)),
    ok('{B} --model=tf.onnx --input_shape="input:0:1,3,224,224"',
       has_shape("input:0", 1, 3, 224, 224)),
    ok('{B} --model=two.onnx --input_shape="a:2,4;s:"', has_shape("sum", 2, 4)),
    ok('{B} --model=two.onnx --input_shape="a:2,4"', has_shape("sum", 2, 4)),
    Line("{B} --model=d.onnx", "E10001", effect=says("the value NULL of --input_shape")),
    Line('{B} --input_shape="x:1,3,0,224"', "E10011", effect=says("has the dim 0")),
    Line('{B} --input_shape="x:1,3,a,224"', "E10002"),
    Line('{B} --input_shape="x:1,3,2.5,4"', "E10002"),
    Line('{B} --input_shape="1,3,224,224"', "E10002", effect=says("input_name1:n1,c1,h1,w1")),
    Line('{B} --input_shape="x:1,3,,224"', "E10002"),
    Line('{B} --input_shape="x:1,3,224,99999999999"', "E10013"),
    Line('{B} --input_shape="y:1,3,224,224"', "E10016"),
    Line('{B} --input_shape="Conv_0:1,3,224,224"', "E10017"),
    Line('{B} --input_shape="x:[1~8,3,224,224]"', "E10002"),
    Line('{B} --input_shape="x:1-8,3,-1,224"', "E10048"),
    Line('{B} --input_shape="x:1~-1,3,224,224"', "E10048"),
    Line('{B} --input_shape="-1,3,224,224"', "E10055"),
    Line('{B} --input_shape_range="x:1~8,3,224,224"', "E10048",
         effect=says("WARNING: Option input_shape_range is deprecated")),
    Line('{B} --input_shape_range="x:[a,3,224,224]"', "E10048"),
    Line(f'{GEARS_B}="1,2" --input_shape_range="x:[1~8,3,224,224]"', "E10009"),
    ok('{B} --input_shape_range="x:[1,3,224,224]" --input_shape="x:2,3,8,8"',
       lambda ran: has_shape("x", 1, 3, 224, 224)(ran)
       and says("WARNING: Option input_shape cannot use")(ran)),
    ok('{B} --model=two.onnx --input_shape="a:-1,4"', output=f"o{HOST}.om"),
    ok('{B} --model=two.onnx --input_shape="a:1~8,4"', output=f"o{HOST}.om"),
    ok('{B} --model=two.onnx --input_shape="a:-1,4" --host_env_cpu=aarch64 --host_env_os=minios',
       output="o_minios_aarch64.om"),
    ok('{B} --model=two.onnx --input_shape="a:-1,4" --output=x.om', output=f"x{HOST}.om.om"),
    ok('{B} --model=two.onnx --input_shape_range="a:[1~8,4]"', output=f"o{HOST}.om"),
]  # fmt: skip
"""--input_shape and --input_shape_range."""

GEARS = [
    ok(f'{GEARS_B}="1,2"'),
    ok('{B} --input_shape="x:-1,3,224,224" --dynamic_batch_size="1,2"'),
    ok(f'{GEARS_B}="1,2,"', graph_name("o.om", "o")),
    Line(f'{GEARS_B}="1"', "E10035"),
    Line(f'{GEARS_B}="1,1"', "E10039"),
    Line(f'{GEARS_B}="1,0x"', "E10003"),
    Line(f'{GEARS_B}="1;2"', "E10003"),
    Line(f'{GEARS_B}="1, 2"', "E10003"),
    Line(f'{GEARS_B}="{",".join(map(str, range(1, 102)))}"', "E10036"),
    Line('{B} --input_shape="x:1,3,224,224" --dynamic_batch_size="1,2"', "E10031"),
    Line('{B} --input_shape="x:1,3,-1,224" --dynamic_batch_size="1,2"', "E10018"),
    Line('{B} --dynamic_batch_size="1,2"', "E10004"),
    Line('{B} --model=two.onnx --input_shape="a:-1,4;s:" --dynamic_batch_size="1,2"', "E10012"),
    Line('{B} --model=two.onnx --input_shape="a:-1,4" --dynamic_dims="1;2"', "E10001"),
    ok('{B} --model=two.onnx --input_shape="a:-1,4;s:" --dynamic_dims="1;2"'),
    ok(f'{GEARS_I}="224,224;448,448"'),
    ok(f'{GEARS_I}="224,224; 448,448;"'),
    ok(f'{GEARS_I}="224,224;448,448" --input_format=NCHW'),
    Line(f'{GEARS_I}="224,224;448,448" --input_format=ND', "E10003", effect=says("E10019")),
    Line(f'{GEARS_I}="224,224,3;448,448,3"', "E10020"),
    Line('{B} --input_shape="x:-1,3,-1,-1" --dynamic_image_size="224,224;448,448"', "E10019"),
    ok(f'{GEARS_D}="1,224,224;2,448,448" --input_format=ND'),
    ok(f'{GEARS_D}="1,224,224;2,448,448"'),
    Line(f'{GEARS_D}="1,224;2,448"', "E10003"),
    Line(f'{GEARS_D}="1,224,224"', "E10035"),
    Line(f'{GEARS_D}="1,224,224;2,448,448" --insert_op_conf=aipp.cfg', "E10001"),
    Line(f'{GEARS_D}="1,224,224;2,448,448" --dynamic_batch_size="1,2"', "E10009"),
    Line(f'{GEARS_B}="1,2" --dynamic_image_size="1,2;3,4"', "E10009"),
    Line('{B} --input_shape="x:1~8,3,224,224" --dynamic_batch_size="1,2"', "E10040"),
]
"""Gears of shapes."""

AIPP = [
    Line("{B} --insert_op_conf=none.cfg", "E10001"),
    ok("{B} --insert_op_conf=aipp.cfg", has_shape("x", 1, 224, 224, 3)),
    ok("{B} --insert_op_conf=aipp.cfg --enable_small_channel=1"),
    ok("{B} --insert_op_conf=aipp_dynamic.cfg"),
    Line("{B} --insert_op_conf=aipp_no_mode.cfg", "E10052"),
    Line("{B} --insert_op_conf=aipp_no_format.cfg", "E10052"),
    Line("{B} --insert_op_conf=aipp_dynamic_0.cfg", "E10052"),
    Line("{B} --insert_op_conf=aipp_unknown.cfg", "E13005"),
    Line("{B} --insert_op_conf=aipp.cfg --input_fp16_nodes=x", "E10034"),
    ok("{B} --insert_op_conf=aipp_crop.cfg", has_shape("x", 1, 256, 256, 3)),
    Line("{B} --insert_op_conf=aipp.cfg --input_format=ND", "E10052"),
    Line("{B} --insert_op_conf=aipp_twice.cfg", "E10052"),
    ok(f'{GEARS_B}="1,2" --insert_op_conf=aipp.cfg'),
    ok(f'{GEARS_I}="64,64;32,32" --insert_op_conf=aipp.cfg'),
    Line(f'{GEARS_I}="64,64;32,32" --insert_op_conf=aipp_crop.cfg', "E10052"),
    Line('{B} --model=two.onnx --insert_op_conf=aipp.cfg --input_shape="a:2,4"', "E10052"),
]
"""AIPP."""

OUTPUTS = [
    Line('{B} --out_nodes="Conv_0"', "E10016"),
    ok('{B} --out_nodes="tensor1"', outputs("tensor1")),
    ok('{B} --out_nodes="Conv_0:0"', outputs("tensor1")),
    ok('{B} --out_nodes="Relu_1:0;Conv_0:0"', outputs("y", "tensor1")),
    ok('{B} --out_nodes="tensor1;y"', outputs("tensor1", "y")),
    ok('{B} --model=odd.onnx --out_nodes="tensor1"', outputs("tensor1")),
    Line('{B} --out_nodes="Conv_0:0;tensor1"', "E10001"),
    Line('{B} --out_nodes="Conv_0:x"', "E10001"),
    Line('{B} --out_nodes="Conv_0:9"', "E10003"),
    Line('{B} --out_nodes="Conv_0:99999999999"', "E10013"),
    Line('{B} --out_nodes="Conv_0:0:0"', "E10001"),
    Line('{B} --out_nodes="tensor1;;y"', "E10001"),
    Line('{B} --out_nodes="Conv_7:0"', "E10016"),
    ok("{B} --output_type=FP16", dtype("y", "float16")),
    ok("{B} --output_type=FP32", dtype("y", "float32")),
    ok("{B} --output_type=UINT8", dtype("y", "uint8")),
    Line("{B} --output_type=INT4", "E10001"),
    Line("{B} --output_type=fp16", "E10001"),
    Line("{B} --output_type=HIF8", "E10055"),
    Line('{B} --output_type="Conv_0:0:FP16"', "E10001"),
    ok('{B} --output_type="Conv_0:0:FP16" --out_nodes="Conv_0:0"', dtype("tensor1", "float16")),
    Line('{B} --output_type="Conv_0:a:FP16" --out_nodes="Conv_0:0"', "E10001"),
    Line('{B} --output_type="Conv_0:99999999999:FP16" --out_nodes="Conv_0:0"', "E10013"),
    Line('{B} --output_type="Conv_0:FP16" --out_nodes="Conv_0:0"', "E10001"),
    ok("{B} --input_fp16_nodes=x --output_type=FP16", dtype("x", "float16")),
    Line("{B} --input_fp16_nodes=nothing", "E10016"),
    Line("{B} --input_fp16_nodes=Conv_0", "E10017"),
]
"""Outputs and their dtypes."""

MODES = [
    Line("--mode=1 --om=o.om", "E10004", effect=says("--json has no value")),
    Line("--mode=1", "E10004", effect=lambda ran: says("--om has no")(ran) and says("--json")(ran)),
    Line("--mode=1 --framework=1 --om=m.onnx --json=j.json", "E10001"),
    Line("--mode=1 --framework=3 --om=m.onnx --json=j.json", "E10055"),
    Line("--mode=1 --om=none.om --json=j.json", "E10041"),
    Line("--mode=1 --om=m.onnx --json=j.json", "E10041"),
    Line("--mode=1 --framework=5 --om=m.onnx --json=j.json", output="j.json"),
    Line("--mode=1 --framework=5 --om=m.onnx --json=j.json --dump_mode=1 --soc_version=Ascend310",
         output="j.json"),
    Line("--mode=1 --framework=5 --om=m.onnx --json=j.json --dump_mode=1", output="j.json"),
    Line("--mode=1 --framework=5 --om=m.onnx --json=m.onnx", "E10001", effect=says("be lost")),
    Line("--mode=1 --framework=5 --om=m.onnx --json=no/j.json", "E13003"),
    Line("--mode=6", "E10004", effect=says("--om has no value")),
    Line("--mode=6 --om=o.om --framework=5", "E10057"),
    Line("--mode=6 --om=none.om", "E10041"),
    Line("--mode=5 --om=a.pbtxt --json=j.json", "E10001"),
    Line("--mode=5 --om=a.txt", "E10004"),
    Line("--mode=3 --framework=5 --model=m.onnx --soc_version=Ascend310",
         output="check_result.json"),
    Line("--mode=3 --framework=5 --model=m.onnx --soc_version=Ascend310 --check_report=r.json",
         output="r.json"),
    Line("--mode=3 --framework=5 --model=odd.onnx --soc_version=Ascend310", "E13010",
         effect=lambda ran: (ran.folder / "check_result.json").is_file()),
    Line("--mode=3 --framework=5 --model=m.onnx --soc_version=Ascend310 --check_report=m.onnx",
         "E10001", effect=says("be lost")),
    Line("{B} --model=odd.onnx --check_report=no/r.json", "E13010", effect=says("E13003")),
    Line("--mode=3 --framework=5 --model=m.onnx", "E10054"),
    Line("--mode=3 --model=m.onnx --soc_version=Ascend310", "E10007"),
    Line("{B} --mode=7", "E10055"),
    Line("{B} --mode=30 --soc_version=Ascend310", "E10055"),
    Line("{B} --mode=30 --soc_version=Ascend035A", "E10055"),
    Line("{B} --soc_version=Ascend035A", "E10055"),
    ok("{B} --display_model_info=1", says("============ Display Model Info start ============")),
    Line("--singleop=ops.json --output=d", "E10054", effect=says("--soc_version is missing")),
    Line("--singleop=ops.json --soc_version=Ascend310", "E10054", effect=says("--output")),
    Line("--singleop=ops.json --output=d --soc_version=Ascend310 --framework=5", "E10001"),
    Line("--singleop=ops.json --output=d --soc_version=Ascend310 --mode=3", "E10001"),
    Line("--singleop=none.json --output=d --soc_version=Ascend310", "E10023"),
    Line("--singleop=ops.json --output=d --soc_version=Ascend310", output="d/add.om"),
    Line("--singleop=ops.json --output=d --soc_version=Ascend310 --log=error --precision_mode=force_fp16",
         output="d/add.om", effect=says("--log has no effect")),
    Line("--singleop=ops.json --output=d --soc_version=Ascend310 --precision_mode=force_fp16 "
         "--precision_mode_v2=fp16", "E10056"),
    Line("--singleop=ops.json --output=d* --soc_version=Ascend310", "E10001"),
]  # fmt: skip
"""Modes besides conversion, and single operators."""

IDLE = [
    idle(option)
    for option in (
        "--log=error", "--log=debug", "--op_compiler_cache_dir=cache", "--op_debug_level=1",
        "--op_compiler_cache_mode=enable", "--debug_dir=d", "--mdl_bank_path=p", "--op_bank_path=p",
        "--buffer_optimize=off_optimize", "--enable_single_stream=true", "--external_weight=1",
        "--save_original_model=true", "--enable_compress_weight=true", "--cluster_config=c.json",
        "--aicore_num=2", "--virtual_type=1", "--sparsity=1", "--jit_compile=0",
        "--enable_scope_fusion_passes=P", "--op_name_map=keep.txt", "--status_check=1",
        "--ac_parallel_enable=1", "--topo_sorting_mode=0", "--op_debug_config=c.cfg",
        "--enable_attr_compression=false", "--atomic_clean_policy=1",
    )
]  # fmt: skip
"""Options that are accepted, and named in one line."""

DOES = [
    ok("{B} --disable_reuse_memory=1", keeps_addresses),
    ok("{B} --enable_small_channel=1"),
    ok("{B} --is_weight_clip=0"),
    ok("{B} --allow_hf32=true"),
    ok("{B} --oo_level=O1"),
    Line("{B} --oo_level=O2", "E10001"),
    ok('{B} --optimization_switch="ConvBatchnormFusionPass:off"'),
    Line('{B} --optimization_switch="ConvBatchnormFusionPass"', "E10001"),
    ok("{B}", recorded("atc-py atc --model=m.onnx --framework=5 --output=o "
                       "--soc_version=Ascend310P3")),
    ok("{B} --precision_mode=allow_fp32_to_fp16", mode("allow_fp32_to_fp16")),
    ok("{B} --precision_mode=force_fp32", mode("force_fp32")),
]  # fmt: skip
"""Options that do what atc does."""

PUBLISHED = [
    ok('--framework=5 --model=d.onnx --output=o --input_format=NCHW '
       '--input_shape="x:16,3,224,224" --log=error --soc_version=Ascend310',
       has_shape("x", 16, 3, 224, 224)),
    ok("--model=./m.onnx --framework=5 --output=./o --input_format=NCHW "
       "--input_shape='x:1,3,224,224' --soc_version=Ascend310P3 --log=debug "
       "--output_type=FP32"),
    ok('--model=d.onnx --framework=5 --output=d_bs4 --input_format=NCHW '
       '--input_shape="x:4,3,64,64" --log=info --soc_version=Ascend310P3 '
       '--out_nodes="Relu_1:0" --output_type="Relu_1:0:FP32"', output="d_bs4.om"),
    ok('--framework 5 --model m.onnx --output o --input_shape "x:1,3,224,224" '
       "--soc_version Ascend310 --auto_tune_mode ''"),
    ok("--model=m.onnx --framework=5 --output=o --soc_version=Ascend310P3 "
       "--input_fp16_nodes=x --output_type=FP16 --op_select_implmode=high_performance "
       "--optypelist_for_implmode=Sigmoid", dtype("y", "float16")),
    ok('--model=d.onnx --framework=5 --output=o --soc_version=Ascend310 --input_format=ND '
       '--input_shape="x:-1,3,-1,-1" --dynamic_dims="1,64,64;2,32,32"'),
    ok("--model=m.onnx --framework=5 --output=o --soc_version=Ascend310P3 "
       "--precision_mode=allow_mix_precision --modify_mixlist=mixlist.json --log=error "
       "--fusion_switch_file=fusion.cfg --op_precision_mode=modes.ini"),
    ok('--model=m.onnx --framework=5 --output=o --soc_version=Ascend310 --input_format=NCHW '
       '--input_shape="x:1,3,224,224" --insert_op_conf=aipp.cfg --enable_small_channel=1 '
       "--log=error"),
    Line('--model=m.onnx --framework=5 --output=o --input_format=NCHW '
         '--input_shape="x:1,3,224,224" --log=error', "E10054"),
    Line('--model=m.onnx --framework=5 --output=o --soc_version=Ascend310 '
         '--auto_tune_mode="RL,GA"', "E10001"),
    Line('--model=m.onnx --framework=5 --output=o --soc_version=Ascend310 '
         '--input_shape="1,3,224,224"', "E10002"),
    Line("--model=resnet.pb --framework=3 --output=o --soc_version=Ascend310 "
         '--input_shape="input:1,224,224,3" --input_format=NHWC --out_nodes="logits:0"', "E10055"),
]  # fmt: skip
"""Lines as models are published with, and the quirks of such lines."""

LINES = [
    *TOKENS, *CHECKS, *ORDER, *SHAPES, *GEARS, *AIPP, *OUTPUTS, *MODES, *IDLE, *DOES, *PUBLISHED,
]  # fmt: skip
