"""Hosts, storage and power: what cannot be is refused."""

import pytest

from foretrain.cluster.cluster import Host, Power, Storage
from foretrain.errors import InputError

HOST = {"cores": 64, "memory": 1e12, "memory_bandwidth": 2e11, "device_bandwidth": 3e10}
STORAGE = {"read": 1e9, "write": 1e9}


@pytest.mark.parametrize("value", [0, -1, float("nan")])
@pytest.mark.parametrize("name", HOST)
def test_host_without_a_rate_is_refused(name, value):
    with pytest.raises(InputError, match=rf"Host\.{name} must be above 0"):
        Host(**{**HOST, name: value})


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
@pytest.mark.parametrize("name", ["read", "write", "total_read", "total_write"])
def test_storage_that_never_answers_is_refused(name, value):
    with pytest.raises(InputError, match=rf"Storage\.{name} must be above 0"):
        Storage(**{**STORAGE, name: value})


@pytest.mark.parametrize(
    ("name", "value", "legal"),
    [
        ("idle", -1.0, "at least 0 W"),
        ("host", 1.0, "at least 0 and below 1"),
        ("host", float("nan"), "at least 0 and below 1"),
        ("pue", 0.9, "at least 1"),
        ("pue", float("nan"), "at least 1"),
    ],
)
def test_power_that_cannot_be_is_refused(name, value, legal):
    with pytest.raises(InputError, match=rf"Power\.{name} must be {legal}"):
        Power(**{name: value})
