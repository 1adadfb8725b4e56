"""What batchcast offers, and that it costs nothing until it is used."""

import subprocess
import sys

import pytest

import batchcast


def test_every_public_name_is_there():
    for name in batchcast.__all__:
        assert getattr(batchcast, name).__name__ == name
    assert dir(batchcast) == sorted(batchcast.__all__)


def test_another_name_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'shear'"):
        _ = batchcast.shear


def test_importing_it_loads_neither_pytorch_nor_foretrain():
    code = "import sys, batchcast; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"torch", "numpy", "foretrain"} & {name.split(".")[0] for name in loaded}
