"""Back ends and kernels are found by name, and clashes are reported."""

from importlib.metadata import EntryPoint

import pytest

from atc_py.device import registry
from atc_py.device.registry import device_names, find_backend
from atc_py.device.sim import kernel as kernel_module
from atc_py.device.sim.backend import SimBackend
from atc_py.device.sim.kernel import KERNELS, Call, find_kernel, kernel
from atc_py.device.sim.typing_rules import same_as_x
from atc_py.diag import AtcError
from atc_py.diag.codes import UNKNOWN_DEVICE
from atc_py.target import JOINED_IN_PLACE, operators

SIM = "atc_py.device.sim.backend:SimBackend"


def install(monkeypatch: pytest.MonkeyPatch, *points: tuple[str, str]) -> None:
    """Pretend that packages with these entry points are installed, and no others."""
    found = [EntryPoint(name, value, "atc_py.devices") for name, value in points]
    monkeypatch.setattr(registry, "entry_points", lambda *, group: found if group else [])


def failure(name: str) -> str:
    """Return the text of the UNKNOWN_DEVICE that asking for `name` raises."""
    with pytest.raises(AtcError) as caught:
        find_backend(name)
    (finding,) = caught.value.diagnostics
    assert finding.code is UNKNOWN_DEVICE
    return f"{finding.message}; {finding.help}"


@pytest.mark.parametrize("points", [[], [("sim", SIM)], [("sim", SIM), ("sim", SIM)]])
def test_sim_is_found_with_and_without_installation(
    monkeypatch: pytest.MonkeyPatch, points: list[tuple[str, str]]
) -> None:
    install(monkeypatch, *points)
    assert isinstance(find_backend("sim"), SimBackend)
    assert device_names() == ("ort", "sim")


def test_each_find_makes_a_new_backend() -> None:
    assert find_backend("sim") is not find_backend("sim")


def test_unknown_device_lists_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("acl", "somewhere:Acl"))
    assert failure("npu") == "no device is called 'npu'; installed are acl, ort, sim"


def test_device_of_two_packages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("sim", "somewhere:Sim"))
    assert f"provided by {SIM} and by somewhere:Sim" in failure("sim")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no_such_package:Device", "ModuleNotFoundError"),
        ("json:NoSuchName", "AttributeError"),
        ("fractions:Fraction", "it lacks methods of DeviceBackend"),
        ("json:loads", "TypeError"),
    ],
)
def test_device_that_cannot_be_made_is_refused(
    monkeypatch: pytest.MonkeyPatch, value: str, reason: str
) -> None:
    install(monkeypatch, ("broken", value))
    assert reason in failure("broken")


def test_every_target_operator_has_a_kernel_and_no_other_has() -> None:
    rows = {row.name for row in operators()}
    lacking, others = sorted(rows - KERNELS.all().keys()), sorted(KERNELS.all().keys() - rows)
    assert not lacking, f"write a @kernel in a module of atc_py/device/sim/kernels for {lacking}"
    assert not others, f"add a row in a module of atc_py/target/rows for {others}"


def test_kernels_only_alias_where_no_kernel_is_launched() -> None:
    aliases = {op for op, row in KERNELS.all().items() if row.alias}
    views = {row.name for row in operators() if not row.launches_kernel}
    assert aliases == views - {JOINED_IN_PLACE}  # its parts are apart but in device memory


def test_second_kernel_for_an_operator_is_refused() -> None:
    first = find_kernel("Relu")
    assert first is not None

    def another(_: Call) -> None:
        """Raise nothing: this is never called."""

    with pytest.raises(ValueError, match="kernel of Relu stands twice") as caught:
        kernel("Relu", same_as_x)(another)
    assert "atc_py.device.sim.kernels.elementwise:" in str(caught.value)
    assert "test_device_registry:" in str(caught.value)
    assert kernel_module.find_kernel("Relu") is first


def test_unknown_operator_has_no_kernel() -> None:
    assert find_kernel("Gelu") is None
