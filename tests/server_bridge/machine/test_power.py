"""Where the power comes from, as Linux describes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from server_bridge.machine.power import Supply, drains, is_on_battery

PLUGGED, PULLED = Supply("Mains", "1", "", ""), Supply("Mains", "0", "", "")
EMPTYING = Supply("Battery", "", "Discharging", "System")


@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        ((), False),  # a desktop
        ((PULLED, EMPTYING), True),
        ((EMPTYING,), True),  # not every system names its plug
        ((PULLED, EMPTYING._replace(scope="")), True),
        ((PLUGGED, EMPTYING), False),  # the charger is too weak, or the battery is exercised
        ((Supply("USB", "1", "", ""), PULLED, EMPTYING), False),
        ((PULLED, EMPTYING._replace(status="Full")), False),
        ((PULLED, EMPTYING._replace(status="Unknown")), False),
        ((EMPTYING._replace(scope="Device"),), False),  # a mouse
        ((PULLED, EMPTYING._replace(status="Charging"), EMPTYING), True),  # one of two
    ],
)
def test_whether_a_battery_is_emptied(supplies: tuple[Supply, ...], expected: bool) -> None:
    """A battery of the machine, and only where no plug feeds it."""
    assert drains(supplies) is expected


@pytest.mark.parametrize("plug", ["0\n", "1\n", None])
def test_the_files_of_the_system(
    plug: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is missing says nothing, and neither does one that cannot be read."""
    monkeypatch.setattr("sys.platform", "linux")
    for name, files in {
        "AC": {"type": "Mains\n", "online": plug},
        "BAT0": {"type": "Battery\n", "status": "Discharging\n", "scope": None},
    }.items():
        (tmp_path / name).mkdir()
        for file, text in files.items():
            if text is not None:
                (tmp_path / name / file).write_text(text)
    (tmp_path / "BAT0/scope").mkdir()
    assert is_on_battery(tmp_path) is (plug != "1\n")
    assert not is_on_battery(tmp_path / "nowhere")
