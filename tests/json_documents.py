"""The JSON document that each command prints: a table for docs/cli.md, which a test holds."""

DOCUMENTS: dict[str, str] = {
    "board compare": "kit, results, soc, cann, comparisons, findings",
    "board pack": "folder, archive, archive_bytes, model_bytes, manifest, warnings",
    "check": "version, tool, verdict, models, counts, precision_mode, soc, soc_note, "
    "operator_list, cann, options, lang, baseline",
    "compare": "model, soc, precision_mode, semantics, newer, samples, engines, device, original_form, stopped, "
    "first_bad, verdict, outputs, own_errors, layers, device_alone, original_alone, suggestion, seconds, "
    "bytes, warnings, diagnostics",
    "config": "file, settings",
    "convert": "model, output, soc, precision_mode, semantics, findings, warnings, file_nodes, "
    "source_operators, target_operators, engines, kernels, launches, launches_unfused, passes, "
    "fusion_result, precision, layout, stages, weights_in, weights_out, file_bytes, memory, "
    "estimated_time, gears",
    "convert --passes": "[name, optional, summary, atc_names, in_atc]",
    "fix": "model, output, operator_list, opset, errors, verdicts, bound, ranges, rewrites, deciding, left, proof, target, changes, reformed, diagnostics",
    "diff": "first, second, score, equal, launches, conversions, constants",
    "explain": "[code, name, severity, exit, meaning, remedy, example]",
    "export": "model, output, data, soc, options, opset, operators, functions, nodes, bytes, "
    "warnings",
    "info": "name, producer, format_version, soc, options, inputs, outputs, aipp, gears, operators, members, "
    "file_bytes, memory, report",
    "info (ONNX file)": "model, name, producer, ir_version, opsets, inputs, outputs, operators, parameters, "
    "weight_bytes, file_bytes, external_data",
    "info (Huawei's model)": "model, kind, file_bytes, container_version, unknown_shapes, models",
    "info --precision": "nodes, casts",
    "info --layout": "values, trans_data",
    "kernels": "soc, buffers, kernels",
    "kernels --verify": "kernels, diagnostics",
    "ops diff": "op, opsets, between, versions, changes",
    "ops lists": "[name, release, operators, custom, opsets, source]",
    "ops diff --list": "lists, same, operators",
    "ops list": "[op, group, opsets, dtypes, summary, custom, compiles, published, file]",
    "ops show": "op, group, opsets, summary, custom, file, inputs, outputs, attributes, rules, "
    "constraints, deviations, quantized, restated_since, versions, example, notes, kept, special_case",
    "ops validate": "specifications, diagnostics",
    "plan": "model, soc, target, reached, samples, chosen, float16, float32, suggested, curve, nodes, "
    "keep_dtype, customize_dtypes, candidates, excluded, trials, exhaustive, newer, warnings, "
    "diagnostics",
    "profile": "model, semantics, newer, calibration, socs, gears",
    "profile --calibrate": "soc, measurements, factors, error_before, error_after, operators, files, left_out",
    "quantize": "model, output, data, format, opset, operator_list, layers, nodes, bytes_before, bytes_after, "
    "quant_bias",
    "quantize --random": "model, written, calibration, folded_norms, balanced, steps, ranges, record, layers, proof, warnings",
    "report": "model, verdict, outputs, gears, report, diagnostics",
    "aipp": "config, picture, settings, steps, dtype, shape, output, warnings",
    "socs": "[name, family, arch, ai_cores, vector_cores, ai_cpus, mhz, l2_bytes, memory_bytes, "
    "cube_dtypes, hf32]",
    "sweep": "rows, kept, seconds, verdicts, table, diagnostics",
    "run": "gear, semantics, outputs, comparisons, nodes, seconds, warnings, diagnostics",
}
"""Names in the document of each command that is done, in brackets those of each of a list."""

WITHOUT = {"atc", "completion", "exec"}
"""Commands without --json: standard output of `exec` is a program's, that of `completion` is a script,
and `atc` has atc's own options."""


def json_lines() -> list[str]:
    """Return the section on --json."""
    rows = [f"| `{command}` | {names} |" for command, names in DOCUMENTS.items()]
    return [
        "## --json",
        "",
        "Every command but `exec`, `completion` and `atc` takes `--json`, which is a file's name for `atc`. The report of",
        "`exec` goes to the file that `--report` names, and has [a schema](exec-report.schema.json) too.",
        "Standard output is then exactly one JSON document, in UTF-8",
        "or ASCII, also where the command fails. A command that cannot do its work prints an object",
        "with `diagnostics`: a list of findings, each with `code`, `name`, `severity`, `message`,",
        "`place`, `rule` and `help`. `check` has a document of its own also for models that break",
        "rules and for files that cannot be read; [its schema](check-report.schema.json) is",
        "published, and so are those of `info` for [an ONNX file](info-onnx.schema.json) and for",
        "[a model of Huawei's atc](info-huawei.schema.json), and",
        "[that of `quantize`](quantize-report.schema.json) for a float model. Where `run --expect`, `compare --fail-under` and `kernels --verify` do their",
        "work and find a difference, it is in `diagnostics` of their document. The exit status is",
        "the same as without `--json`. Infinities and NaN are `null`. `--help` and `--version` print",
        "text; a command that a signal ends prints nothing.",
        "",
        "With `--output`, the report goes to the file and to standard output. `--format json` says",
        "what the report is; beside `--output`, standard output then has text.",
        "",
        "| command | names in the document; in brackets, of each member of a list |",
        "| --- | --- |",
        *rows,
    ]
