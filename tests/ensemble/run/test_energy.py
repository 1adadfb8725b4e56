from dataclasses import replace

import pytest

from foretrain.ensemble.costs import Watts
from foretrain.ensemble.run.machine import EnergyMeter

WATTS = Watts(core=5.0, device=100.0)


def count(folder, zone, joules, *, name="package-0", span=1000.0):
    """Lets a zone of the kernel count so many joules."""
    place = folder / zone
    place.mkdir(exist_ok=True)
    for file, text in (
        ("name", name),
        ("energy_uj", int(joules * 1e6)),
        ("max_energy_range_uj", int(span * 1e6)),
    ):
        (place / file).write_text(f"{text}\n")


def test_packages_and_memory_add_up_and_what_lies_inside_a_package_does_not(tmp_path):
    zones = {"intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:0:1": "dram"}
    for zone, name in zones.items():
        count(tmp_path, zone, 10.0, name=name)
    meter = EnergyMeter(tmp_path)
    for zone, name in zones.items():
        count(tmp_path, zone, 13.0, name=name)
    energy = meter.energy(WATTS, core_seconds=1.0)
    assert meter.measures
    assert energy.joules == pytest.approx(6.0)
    assert (energy.source, energy.note) == ("RAPL", "counted by dram, package-0")


def test_a_counter_that_starts_again_goes_on(tmp_path):
    count(tmp_path, "intel-rapl:0", 990.0)
    meter = EnergyMeter(tmp_path)
    count(tmp_path, "intel-rapl:0", 5.0)
    assert meter.read() == pytest.approx(15.0)
    count(tmp_path, "intel-rapl:0", 7.0)
    assert meter.read() == pytest.approx(17.0)


def test_a_machine_without_counters_says_that_the_power_model_speaks(tmp_path):
    meter = EnergyMeter(tmp_path)
    energy = meter.energy(WATTS, core_seconds=4.0, device_seconds=0.5)
    assert not meter.measures
    assert energy.joules == 70.0
    running = replace(WATTS, running=10.0)
    assert meter.energy(running, core_seconds=4.0, device_seconds=0.5, seconds=3.0).joules == 100.0
    assert energy.source == "power model"
    assert "no energy counters" in energy.note


def test_counters_that_are_not_ours_to_read_leave_it_to_the_power_model(tmp_path, monkeypatch):
    count(tmp_path, "intel-rapl:0", 1.0)

    def refused(self):
        raise PermissionError

    monkeypatch.setattr("foretrain.ensemble.run.machine.Zone.joules", refused)
    assert "root only" in EnergyMeter(tmp_path).energy(WATTS, core_seconds=1.0).note
