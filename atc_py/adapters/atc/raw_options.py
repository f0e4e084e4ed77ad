"""Options of the graph engine in the file of --raw_ge_options, as options of atc.

Names, levels and what counts more are those of atc's source as of CANN 9.2.0-beta.1.
"""

import json
from pathlib import Path
from typing import Any

from atc_py.adapters.atc.faults import atc_error
from atc_py.adapters.atc.options import OPTIONS
from atc_py.adapters.atc.tokens import Flags, checked_value
from atc_py.diag import NOT_MODELED, AtcError, Place
from atc_py.system.input_files import read_text
from atc_py.text import Text, error_text

_ROOT = "compile options"
_MOST_BYTES = 2**20
_LEVELS = ("global", "session", "graph")
"""What a later level says of an option counts more."""

_OWN = ("model", "output", "framework", "soc_version")
"""What the command line alone may say."""

_SAME = """
    ac_parallel_enable check_report compress_weight_conf enable_scope_fusion_passes input_format
    input_shape input_shape_range is_input_adjust_hw_layout is_output_adjust_hw_layout keep_dtype
    log op_debug_config op_name_map target
"""
_OTHERS = """
    ge.INPUT_NODES_SET_FP16=input_fp16_nodes ge.aicoreNum=aicore_num
    ge.autoMultistreamParallelMode=multi_stream_parallel_mode ge.autoTuneMode=auto_tune_mode
    ge.bufferOptimize=buffer_optimize ge.buildConfig=build_config ge.calibrationConfFile=cal_conf
    ge.cluster_config=cluster_config ge.compressionOptimizeConf=compression_optimize_conf
    ge.customizeDtypes=customize_dtypes ge.debugDir=debug_dir ge.deterministic=deterministic
    ge.deterministicLevel=deterministic_level ge.display_model_info=display_model_info
    ge.dynamicBatchSize=dynamic_batch_size ge.dynamicDims=dynamic_dims
    ge.dynamicImageSize=dynamic_image_size ge.enableAttrCompression=enable_attr_compression
    ge.enableCompressWeight=enable_compress_weight ge.enableSingleStream=enable_single_stream
    ge.enableSmallChannel=enable_small_channel ge.enableSparseMatrixWeight=sparsity
    ge.engineType=core_type ge.exec.allow_hf32=allow_hf32
    ge.exec.atomicCleanPolicy=atomic_clean_policy ge.exec.disableReuseMemory=disable_reuse_memory
    ge.exec.modify_mixlist=modify_mixlist ge.exec.op_precision_mode=op_precision_mode
    ge.exec.precision_mode=precision_mode ge.exec.precision_mode_v2=precision_mode_v2
    ge.exec.static_model_ops_lower_limit=static_model_ops_lower_limit
    ge.exec.tuneDeviceIds=device_id ge.exportCompileStat=export_compile_stat
    ge.externalWeight=external_weight ge.frameworkType=framework
    ge.fusionSwitchFile=fusion_switch_file ge.hccl_sub_comm_config=hccl_sub_comm_config
    ge.host_env_cpu=host_env_cpu ge.host_env_os=host_env_os ge.inputHintShape=input_hint_shape
    ge.inputShape=input_shape ge.insertOpFile=insert_op_conf ge.is_weight_clip=is_weight_clip
    ge.jit_compile=jit_compile ge.mdl_bank_path=mdl_bank_path
    ge.oo.constantFolding=oo_constant_folding ge.oo.deadCodeElimination=oo_dead_code_elimination
    ge.oo.level=oo_level ge.opDebugLevel=op_debug_level ge.opSelectImplmode=op_select_implmode
    ge.op_bank_path=op_bank_path ge.op_compiler_cache_dir=op_compiler_cache_dir
    ge.op_compiler_cache_mode=op_compiler_cache_mode ge.optimizationSwitch=optimization_switch
    ge.optypelistForImplmode=optypelist_for_implmode ge.outputDatatype=output_type
    ge.outputNodeName=out_nodes ge.quant_dumpable=quant_dumpable
    ge.saveOriginalModel=save_original_model
    ge.shape_generalized_build_mode=shape_generalized_build_mode ge.socVersion=soc_version
    ge.status_check=status_check ge.tiling_schedule_optimize=tiling_schedule_optimize
    ge.topoSortingMode=topo_sorting_mode ge.virtual_type=virtual_type
"""
_NAMES = dict.fromkeys(_SAME.split(), "") | dict(each.split("=") for each in _OTHERS.split())
"""Options of atc by the graph engine's name; nothing where the two are the same."""


def with_raw_options(flags: Flags) -> Flags:
    """The options of a command line, and those of the file that it names where it has none itself.

    Raises:
        AtcError: with E13001 or E10032 for the file; E10001 for what the command line alone may say;
            NOT_MODELED with E10055 for options that atc does not have and that are not ignored; with
            an option's own code for its value.
    """
    if not flags["raw_ge_options"]:
        return flags
    path, given = Path(flags["raw_ge_options"]), {}
    ignored = flags["raw_ge_options_ignore_unsupported"] == "true"
    for name, value in sorted(_read(path).items()):
        if name not in _NAMES:
            if ignored:
                continue
            raise atc_error(
                "E10055", f"the option {name} of the graph engine",
                code=NOT_MODELED, place=Place(str(path)),
                help=Text("remove it, or give --raw_ge_options_ignore_unsupported to ignore "
            "options that atc does not have"),
            )  # fmt: skip
        option = OPTIONS[_NAMES[name] or name]
        checked = checked_value(option, value)
        if option.name in flags.given:
            continue
        if option.name in _OWN:
            reason = f"the command line alone may say it, not {path}"
            raise atc_error(
                "E10001", value, f"--{option.name}", reason, place=Place(str(path)),
                help=Text("give --{name}", name=option.name),
            )  # fmt: skip
        given[option.name] = checked
    return Flags({**given, **flags.given})


def _read(path: Path) -> dict[str, str]:
    place = Place(str(path))
    try:
        text = read_text(path, _MOST_BYTES)
    except AtcError as error:
        cause = error.diagnostics[0]
        raise atc_error(
            "E13001", str(path), cause.message, code=cause.code, place=place,
            help=Text("check the path that --raw_ge_options gives"),
        ) from None  # fmt: skip
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, error_text(error)) from None
    return _options(document, path)


def _options(document: Any, path: Path) -> dict[str, str]:
    root = document.get(_ROOT) if isinstance(document, dict) else None
    if not isinstance(root, dict):
        raise _unreadable(path, Text('it has no object "{root}"', root=_ROOT))
    if not {*root} <= {*_LEVELS} or not all(isinstance(each, dict) for each in root.values()):
        levels = ", ".join(_LEVELS)
        raise _unreadable(path, Text("its levels are objects called {levels}", levels=levels))
    options = {name: value for level in _LEVELS for name, value in root.get(level, {}).items()}
    odd = [name for name, value in options.items() if not name or not isinstance(value, str)]
    if odd:
        raise _unreadable(path, Text("the value of {name} is not text", name=repr(odd[0])))
    return options


def _unreadable(path: Path, reason: Text) -> AtcError:
    return atc_error("E10032", str(path), place=Place(str(path)), help=reason)
