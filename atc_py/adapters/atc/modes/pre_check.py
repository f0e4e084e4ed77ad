"""Mode 3: a model checked before conversion, with the report of ATC's pre-check.

ATC's own check knows types of nodes alone: whether each is registered for the model's opset, and
whether names are unique [proven]. This one has every rule of `atc-py check`; a node that breaks one
fails with ATC's number for wrong parameters. So does a model that ends ATC's parser later.
"""

from pathlib import Path

from atc_py.check.findings import CheckReport, ModelCheck, Standing
from atc_py.check.findings_builder import RulesBrokenError
from atc_py.check.parser_rules import refusals
from atc_py.diag import AtcError
from atc_py.options.compile_options import CheckOptions, CompileOptions
from atc_py.pipeline.check import check_files
from atc_py.report.check.atc_lines import check_atc
from atc_py.report.check.json_document import check_document
from atc_py.system.atomic_files import write_files


def pre_check(model: Path, report: Path, options: CheckOptions) -> None:
    """Check a model and write the report, whatever the outcome.

    Raises:
        AtcError: the file is not a model, which leaves no report; CANNOT_WRITE; RulesBrokenError
            where a node fails, after the report is written.
    """
    found = check_files([model], options)
    check = found.models[0]
    if not check.opsets:
        raise AtcError(*check.faults)
    _save(found, report)
    refused = [each.diagnostic() for each in refusals(check.findings)]
    if refused or check.standing is Standing.ERROR:
        raise RulesBrokenError(check, first=refused)


def save_failed_check(check: ModelCheck, report: Path, options: CompileOptions) -> None:
    """Write the report of a conversion that rules ended, as mode 0 does then alone."""
    precision = options.precision
    found = CheckReport(
        (check,),
        options.precision_mode.value,
        options.soc,
        {},
        precision.operator_list,
        precision.cann,
    )
    _save(found, report)


def _save(found: CheckReport, report: Path) -> None:
    write_files({report: check_atc(check_document(found))})
