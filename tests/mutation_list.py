"""The mutations of `tests.mutations`: a text of the package, what takes its place, and who notices.

More than 400 lines: a table.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """A fault.

    Attributes:
        old: a text that occurs once in the package, its specifications and templates.
        new: what takes its place.
        tests: files and folders below `tests/` that may notice.
    """

    old: str
    new: str
    tests: str


def _(old: str, new: str, tests: str) -> Mutation:
    return Mutation(old, new, tests)


MUTATIONS = (
    # Tensors: storage formats, packing, factors of quantization.
    _(
        "math.lcm(channels, c0) // max(channels, 1),",
        "math.lcm(channels, c0) // max(channels, 1) + 1,",
        "tensor/test_packing.py tensor/test_storage.py",
    ),
    _(
        "return set(dims[2:]) == {1} and channels is not None and channels % c0 == 0",
        "return set(dims[2:]) == {1} and channels is not None and channels % c0 != 0",
        "tensor/test_storage.py tensor/test_packing.py passes/test_assign_storage.py",
    ),
    _(
        "shift=_unsigned(words, 32, 4) + 1,",
        "shift=_unsigned(words, 32, 4),",
        "tensor/test_scale_words.py",
    ),
    _(
        "axes = (1, last) if last > 1 else (last,)",
        "axes = (last, 1) if last > 1 else (last,)",
        "tensor/test_scale_words.py device/test_device_quantization.py kernels/families/test_quant.py",
    ),
    _(
        "multiplier = x.shape[0] // channels",
        "multiplier = x.shape[0] // channels + 1",
        "tensor/test_packing.py",
    ),
    _(
        "return axis % rank",
        "return axis % max(rank - 1, 1)",
        "lowering/test_open_axes_against_onnxruntime.py",
    ),
    # The system: limits of memory, options, files of arrays.
    _(
        "if nbytes < _LEAST:",
        "if nbytes < _LEAST + 1:",
        "system/test_memory_limit.py",
    ),
    _(
        "if not 1 <= dim <= _LARGEST:",
        "if not 0 <= dim <= _LARGEST:",
        "onnx_graph/test_input_shapes.py",
    ),
    _(
        "if min(shape, default=0) < 0 or wanted > left:",
        "if wanted > left:",
        "cli/test_run_data.py hostile/test_text_parsers.py",
    ),
    _(
        "tail = other[-_LONGEST:][::-1]",
        "tail = other[:_LONGEST]",
        "diag/test_suggestions.py check/test_unlisted.py",
    ),
    # Specifications and their rules.
    _(
        "each: [1, 63]\n    proven: canndev; tbe/impl/conv2d.py",
        "each: [1, 64]\n    proven: canndev; tbe/impl/conv2d.py",
        "spec/test_spec_facts.py",
    ),
    _(
        "op: Gemm\nopsets: [8, 9, 10, 11, 12, 13]",
        "op: Gemm\nopsets: [8, 9, 10, 11, 12]",
        "spec/test_spec_against_list.py",
    ),
    _(
        "{name: transA, type: int, default: 0, one_of: [0, 1]}",
        "{name: transA, type: int, default: 1, one_of: [0, 1]}",
        "spec/test_spec_facts.py",
    ),
    _(
        "return self.rank <= limit.rank",
        "return self.rank < limit.rank",
        "cli/test_check_command.py report check/test_evaluate.py",
    ),
    _(
        "if power in {1, number - 1}:",
        "if power in {1}:",
        "check/test_predicates_shapes.py check/test_boundaries.py",
    ),
    _(
        "if stride < 1 or (stride == 1 and window % 2 == 1):",
        "if stride < 1 or stride == 1:",
        "check/test_boundaries.py check/test_predicates_shapes.py check/test_predicates_attributes.py",
    ),
    _(
        "lambda item: bool(least <= item <= most)",
        "lambda item: bool(least <= item < most)",
        "check/test_boundaries.py",
    ),
    _(
        "not isinstance(value, tuple) or sorted(items) != [*range(len(items))]:",
        "not isinstance(value, tuple):",
        "check/test_boundaries.py check/test_predicates_axes.py",
    ),
    _(
        "if opset < spec.restated_since:",
        "if opset <= spec.restated_since:",
        "check/test_listed_opsets.py",
    ),
    _(
        "reported = [each for each in here if each.outcome is not Outcome.KEPT or not listed]",
        "reported = [each for each in here if each.outcome is not Outcome.KEPT]",
        "check/test_quantized_models.py check/test_quantized_chains.py",
    ),
    # The frontend: reading, folding, inference, quantized models.
    _(
        "lengths = [length or source[axis] for axis",
        "lengths = [length or source[0] for axis",
        "onnx_graph/test_fold_views.py",
    ),
    _(
        "wanted.count(-1) > 1:",
        "wanted.count(-1) > 2:",
        "onnx_graph/test_fold_views.py onnx_graph/test_bounded_inference.py lowering/test_tensor_lowering.py lowering/test_open_shapes_against_onnxruntime.py fuzz/test_hostile_models.py onnx_graph/test_window_types.py",
    ),
    _(
        "+ (int(kernel[axis] or 0) - 1) * dilations[axis]\n            + 1,\n        )\n"
        "        for axis, extent in enumerate(extents)",
        "+ (int(kernel[axis] or 0) - 1) * dilations[axis],\n        )\n"
        "        for axis, extent in enumerate(extents)",
        "onnx_graph/test_window_types.py",
    ),
    _(
        "if start + size > file.size:",
        "if start + size > file.size + 1:",
        "onnx_graph/test_external.py onnx_graph/test_external_hostile.py",
    ),
    _(
        "if count >= _MAX_TENSOR_FIELDS:",
        "if count > _MAX_TENSOR_FIELDS:",
        "onnx_graph/test_wire.py",
    ),
    _(
        "if np.any(indices < -length) or np.any(indices >= length):",
        "if np.any(indices < -length) or np.any(indices > length):",
        "onnx_graph/test_fold.py onnx_graph/test_fold_views.py onnx_graph/test_bounded_inference.py",
    ),
    _(
        "if not scale > 0 or not np.isfinite(scale):\n"
        '        raise no_form(node, Text("must have a positive scale,',
        'if not np.isfinite(scale):\n        raise no_form(node, Text("must have a positive scale,',
        "onnx_graph/qdq",
    ),
    _(
        "fits = not apart.size or (apart.min() >= _INT8.min and apart.max() <= _INT8.max)",
        "fits = not apart.size or apart.max() <= _INT8.max",
        "onnx_graph/qdq",
    ),
    _(
        'self._coalesced = graph.opsets.get("", 0) >= _COALESCED',
        'self._coalesced = graph.opsets.get("", 0) > _COALESCED',
        "onnx_graph/qdq check/test_quantized_models.py",
    ),
    _(
        "minus = _broadcast_along(zero.astype(np.int16), axis, shape)\n    apart = const.numpy().astype(np.int16) - minus",
        "minus = _broadcast_along(zero.astype(np.int16), axis, shape)\n    apart = const.numpy().astype(np.int16) + minus",
        "onnx_graph/qdq",
    ),
    # Lowering.
    _(
        "output = min(dim * window.stride, whole)",
        "output = dim * window.stride",
        "lowering/test_lowering_against_onnxruntime.py lowering/test_tensor_lowering.py onnx_graph/test_window_types.py",
    ),
    _(
        "counted = np.where(indices < 0, indices + limits, indices)",
        "counted = np.where(indices < 0, indices + limits - 1, indices)",
        "lowering/test_indexing_against_onnxruntime.py lowering/test_tensor_lowering.py",
    ),
    _(
        "bias = _as_row(b, c, result.dims) if c is not None and alpha == 1 else None",
        "bias = _as_row(b, c, result.dims) if c is not None else None",
        "lowering/test_lowering_against_onnxruntime.py lowering/test_matrices_against_onnxruntime.py",
    ),
    _(
        '"end": (row + 1, *rest),',
        '"end": (row + 2, *rest),',
        "lowering/test_rnn_against_onnxruntime.py",
    ),
    _(
        'return _halves(whole - output, upper=auto_pad == "SAME_UPPER")',
        'return _halves(whole - output, upper=auto_pad != "SAME_UPPER")',
        "lowering/test_lowering_against_onnxruntime.py",
    ),
    # Passes: fusion, precision, layout, quantization, memory.
    _(
        'shifted = (before - mean.astype("float64")) * _factor(scale, var, epsilon)',
        'shifted = (before + mean.astype("float64")) * _factor(scale, var, epsilon)',
        "passes/test_fuse_conv_batch_norm.py",
    ),
    _(
        "_SIXTH, _THREE, _SIX = 1 / 6, 3.0, 6.0",
        "_SIXTH, _THREE, _SIX = 1 / 6, 3.0, 6.1",
        "passes/test_fused_activations.py networks/test_fused_patterns.py passes/test_fusion_near_misses.py",
    ),
    _(
        "_SLOPE = sqrt(2 / pi)",
        "_SLOPE = sqrt(1 / pi)",
        "passes/test_fused_activations.py networks/test_fused_patterns.py",
    ),
    _(
        "return bits - signed <= _SIGNIFICAND[wide]",
        "return bits - signed <= _SIGNIFICAND[wide] + 8",
        "passes/test_cancel_casts.py",
    ),
    _(
        "if returns_sums(row, choice) and not _wants_sums(wanted):",
        "if returns_sums(row, choice) and _wants_sums(wanted):",
        "passes/test_precision.py passes/test_precision_modes.py",
    ),
    _(
        "if len(dims) < MATRIX_RANK or (dims[-2] == 1 and height != 1):",
        "if len(dims) < MATRIX_RANK:",
        "target/test_storage_choices.py passes/test_assign_storage.py",
    ),
    _(
        'if dequant.attributes.get("sqrt_mode", False) and not _is_positive(dequant):',
        'if dequant.attributes.get("sqrt_mode", False) and _is_positive(dequant):',
        "passes/test_fold_relu_into_dequant.py",
    ),
    _(
        "beyond = ((scale < LEAST) & (scale != 0)) | (scale > LARGEST)",
        "beyond = ((scale < LEAST) & (scale != 0)) | (scale >= LARGEST)",
        "passes/test_float16_quant_scales.py",
    ),
    _(
        "return 0 < scale < math.inf and not LEAST <= scale <= LARGEST",
        "return 0 < scale < math.inf and not LEAST < scale <= LARGEST",
        "passes/test_float16_quant_scales.py",
    ),
    _(
        "if channels is None or channels > limit or quant.output.type.dtype is not DType.INT8:",
        "if channels is None or channels >= limit or quant.output.type.dtype is not DType.INT8:",
        "passes/test_roll_back_quant.py",
    ),
    _(
        "elif abs(scale - base) > _NEAR:",
        "elif abs(scale - base) > 2 * _NEAR:",
        "passes/test_requant_groups.py",
    ),
    _(
        "return all((value.type.dims[_CHANNELS] or 1) % _BLOCK == 0 for value in values)",
        "return all((value.type.dims[_CHANNELS] or 1) % 16 == 0 for value in values)",
        "passes/test_requant_groups.py",
    ),
    _(
        "block.last = max(block.last, moment)",
        "block.last = min(block.last, moment)",
        "passes/test_plan_memory.py passes/test_plan_memory_randomly.py",
    ),
    _(
        "if at and starts[at - 1] + sizes[at - 1] == start:",
        "if at and starts[at - 1] + sizes[at - 1] <= start:",
        "passes/test_memory_gaps.py passes/test_plan_memory_randomly.py",
    ),
    _(
        "return at if sizes[at] >= size else -1",
        "return at if sizes[at] > size else -1",
        "passes/test_memory_gaps.py passes/test_plan_memory.py",
    ),
    _(
        "while ending and ending[0][0] < first:",
        "while ending and ending[0][0] <= first:",
        "passes/test_plan_memory.py passes/test_plan_memory_randomly.py",
    ),
    _(
        "self._arcs[end].append(len(self._heads) + 1)",
        "self._arcs[end].append(len(self._heads))",
        "passes/test_layout_cut.py",
    ),
    # The target IR: structure and the proof of the memory plan.
    _(
        "while deaths and deaths[0][0] < life.first:\n                _drop(",
        "while deaths and deaths[0][0] <= life.first:\n                _drop(",
        "ir/test_placement_proof.py passes/test_plan_memory.py",
    ),
    _(
        "return number > 0 and number & (number - 1) == 0",
        "return number & (number - 1) == 0",
        "ir/test_placement_proof.py package/test_package_memory_plan.py ir",
    ),
    _(
        "if not old.first < old.last == new.first or old.nbytes != new.nbytes:",
        "if not old.first < old.last == new.first:",
        "ir/test_placement_proof.py passes/test_plan_memory.py package",
    ),
    # The target: SoCs and their rates.
    _(
        "vector_cores=2 * aicores,",
        "vector_cores=aicores,",
        "target cost",
    ),
    # Emission of kernels.
    _(
        "chunk = min(room, _round_up(max(1, -(-inner // parts)), footprint.align))",
        "chunk = min(room, _round_up(max(1, inner // parts), footprint.align))",
        "kernels/test_grid.py kernels/test_kernel_templates.py",
    ),
    _(
        "return replace(axis, before=missing // 2, after=missing - missing // 2)",
        "return replace(axis, before=missing - missing // 2, after=missing // 2)",
        "kernels/families/test_pooling.py",
    ),
    _(
        "return _OFFSET * max(1, itemsize // 4)",
        "return _OFFSET",
        "kernels/families/test_movement.py kernels/test_boxes.py",
    ),
    _(
        "base, count=width, valid=height * c0, tail",
        "base, count=width, valid=height * c0 - 1, tail",
        "kernels/families/test_along_axes_blocks.py",
    ),
    _(
        "m = min(blocks[0], most[0], isqrt(area))",
        "m = min(blocks[0], most[0], area)",
        "kernels/test_cube_plans.py kernels/test_kernel_templates.py",
    ),
    # Templates of kernels and the headers of the host.
    _(
        "Muls(low, low, 0.044715f, count);",
        "Muls(low, low, 0.04715f, count);",
        "kernels/families/test_elementwise.py kernels/families/test_links.py",
    ),
    _(
        "Mins(low, low, 6.0f, count);",
        "Mins(low, low, 3.0f, count);",
        "kernels/families/test_elementwise.py",
    ),
    _(
        "Cast(words, {{ mask.name }}, RoundMode::CAST_NONE, count_);",
        "Cast(words, {{ mask.name }}, RoundMode::CAST_NONE, count_ - 1);",
        "kernels/families/test_masked_softmax.py",
    ),
    _(
        "Maxs(values, values, -32768.0f, count);",
        "Maxs(values, values, -32767.0f, count);",
        "kernels/families/test_quant.py",
    ),
    _(
        "      PipeBarrier<PIPE_ALL>();  // padding comes from the unified buffer, for which no queue waits\n",
        "",
        "kernels/test_kernel_templates.py kernels/families/test_convolution_blocks.py",
    ),
    _(
        "const uint32_t rounded = size + 0xfffu + (size >> 13 & 1u);",
        "const uint32_t rounded = size + 0x1000u;",
        "kernels/test_host_numbers.py",
    ),
    _(
        "const int64_t past = end < width ? end : width;",
        "const int64_t past = end;",
        "kernels/families/test_pooling.py",
    ),
    _(
        "* and {{ nodes | length - 20 }} more",
        "* and {{ nodes | length }} more",
        "pipeline/test_emission.py",
    ),
    # The offline model.
    _(
        'padded = text + " " * (-unpadded % _ALIGNMENT) + "\\n"',
        'padded = text + " " * (unpadded % _ALIGNMENT) + "\\n"',
        "package/test_package_archive.py",
    ),
    _("if len(end) < _END_SIZE:", "if len(end) <= _END_SIZE:", "package"),
    _("fields = (_END64.size - 12, *versions,", "fields = (_END64.size, *versions,", "package"),
    # The cost model.
    _(
        "return max(self.cube, self.vector, self.mte1, self.mte2, self.mte3, self.fixp)",
        "return max(self.cube, self.vector, self.mte1, self.mte2, self.mte3)",
        "cost",
    ),
    _("busy = count / (case.factors.aicpu * cores)", "busy = count / case.factors.aicpu", "cost"),
    _(
        "return ceil(passes.rows / cores) * ceil(row / _REPEAT)",
        "return ceil(passes.rows / cores) * (row / _REPEAT)",
        "cost",
    ),
    # The simulated device.
    _(
        "skipped, phase = divmod(index * self.dilation - self.before, self.stride)",
        "skipped, phase = divmod(index * self.dilation + self.before, self.stride)",
        "device/test_device_convolution.py device/test_device_pooling.py",
    ),
    _(
        "return count - 1 if overhangs_all else count",
        "return count",
        "tensor/test_window_counts.py",
    ),
    _(
        "union = self.area[best] + areas - shared",
        "union = self.area[best] + areas + shared",
        "device/test_device_detection.py",
    ),
    _(
        "shift = axis.size - length\n",
        "shift = axis.size - length - 1\n",
        "device/test_device_pooling.py",
    ),
    _(
        "shift = offset - mean * factor",
        "shift = offset + mean * factor",
        "device/test_device_normalization.py",
    ),
    _(
        "clip=clip if clip > 0 else None,",
        "clip=clip or None,",
        "device/test_device_recurrent.py lowering/test_rnn_against_onnxruntime.py",
    ),
    _(
        "starts = starts + (1 - factor) * sizes / 2",
        "starts = starts + (1 - factor) * sizes",
        "lowering/test_extraction_against_formulas.py",
    ),
    _(
        "_LEAST_SUBNORMAL = 0x33800000  # 2^-24",
        "_LEAST_SUBNORMAL = 0x33000000",
        "device/test_device_numerics.py",
    ),
    _(
        "dtype: (np.float32(-(2 ** (dtype.bits - 1))),",
        "dtype: (np.float32(1 - 2 ** (dtype.bits - 1)),",
        "device/test_device_quantization.py",
    ),
    _("_SAFE_SQUARES = 2.0**31", "_SAFE_SQUARES = 2.0**34", "device/test_device_numerics.py"),
    # Reports, comparison, kernels beside the simulator, the command line.
    _(
        "return FLOAT16_CAP * self.unit / 2.0**-11",
        "return FLOAT16_CAP * self.unit / 2.0**-12",
        "report/test_comparison.py",
    ),
    _(
        "return self.range_error <= self.tolerance",
        "return self.range_error < self.tolerance",
        "report/test_comparison.py cli/test_run_command.py",
    ),
    _(
        '"ts": when[0] * _MICRO, "dur": when[1] * _MICRO,',
        '"ts": when[0] * _MICRO, "dur": when[0] * _MICRO,',
        "report/test_profile_trace.py",
    ),
    _(
        "shown = [found for found in model.all_findings if verbose or not found.known]",
        "shown = [found for found in model.all_findings if not found.known]",
        "report cli/test_check_command.py",
    ),
    _(
        "self._max_error = max(self._max_error, float(error.max()))",
        "self._max_error = max(self._max_error, float(error.mean()))",
        "compare/test_measure.py",
    ),
    _(
        "return self.differing == 0 if exact else self.ulps <= LIMIT",
        "return self.differing == 0 if exact else self.ulps < LIMIT",
        "kernels",
    ),
    _(
        "ulps = max(ulps, found_agreement.ulps)",
        "ulps = min(ulps, found_agreement.ulps)",
        "cli/test_kernels_command.py kernels/families/test_quant.py",
    ),
    _(
        'if as_json and given not in {None, "json"}:',
        "if as_json and given is not None:",
        "cli/test_check_command.py",
    ),
    # Rules that fix models, their proof, and the deviations of CANN.
    _(
        "if error > limit and proof.wrong is None:",
        "if error > 2 * limit + 1e-9 and proof.wrong is None:",
        "fix/test_proof.py",
    ),
    _(
        "return min(limit * step / FLOAT32_STEP, _MOST_OF_NARROW)",
        "return limit * step / FLOAT32_STEP",
        "fix/test_proof.py",
    ),
    _(
        '"Sum": _of_ends(sum),',
        '"Sum": _of_ends(max),',
        "fix/test_ranges.py",
    ),
    _(
        "return whole if (a < 0) == (b < 0) else -whole",
        "return whole",
        "fix/test_ranges.py",
    ),
    _(
        "return place + (place >= new)",
        "return place + (place > new)",
        "fix/test_tidying.py",
    ),
    _(
        "require(total <= MOST_STEPS, ",
        "require(total < MOST_STEPS, ",
        "fix/test_control_flow.py",
    ),
    _(
        "if found is Certainty.PROVEN and generation.certainty is Certainty.INFERRED:",
        "if found is Certainty.PROVEN and generation.certainty is Certainty.PROVEN:",
        "deviations",
    ),
    _(
        "if any(first <= written.opset <= last for first, last in runs):",
        "if any(first <= written.opset < last for first, last in runs):",
        "check/test_listed_opsets.py deviations",
    ),
    _(
        '("MaxPool", "same-lower-as-upper"): {"auto_pad": "SAME_UPPER"},',
        '("MaxPool", "same-lower-as-upper"): {},',
        "deviations",
    ),
    # The whole way.
    _(
        "ends = {node.scope: position for position, node in enumerate(nodes) if node.scope}",
        "ends = {node.scope: position for position, node in enumerate(nodes)}",
        "passes/test_merged_launches.py networks/test_fusion_of_shared_models.py cli/test_convert_fusions.py",
    ),
    _(
        "kernels = emit_kernels(graph, soc, options.templates, sources)\n    if graph.memory is not None:\n        graph.memory = replace(graph.memory, workspace=kernels.workspace)",
        "kernels = emit_kernels(graph, soc, options.templates, sources)",
        "pipeline/test_emission.py",
    ),
    # atc's command line.
    _(
        "{name.replace('-', '_')}{equals}{value}",
        "{name}{equals}{value}",
        "adapters/atc/test_tokens.py",
    ),
    _(
        "if len(found) == 1:\n        return OPTIONS[found[0]]",
        "if found:\n        return OPTIONS[found[0]]",
        "adapters/atc/test_tokens.py",
    ),
    _(
        "if int(dim) < 1 and not gears:",
        "if int(dim) < 0 and not gears:",
        "adapters/atc/test_shapes.py",
    ),
    _(
        "if len({each.index is None for each in found}) > 1:",
        "if len({each.index is None for each in found}) > 2:",
        "options/test_out_nodes.py",
    ),
    _('given.get(int(found[1]), "?")', "found[1]", "adapters/atc/test_block.py"),
    _("FAILED = 255", "FAILED = 1", "adapters/atc/test_command_lines.py"),
)
