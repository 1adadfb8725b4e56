"""On macOS everything imports, what a stream needs is told by name, and figures are estimated."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.needs import needs

import batchcast
from batchcast.errors import BatchcastError, OtherSystem, require_linux

needs("torch")

BEGIN = "import numpy, torch\nfrom tests.batchcast import mac\nmac.become()\n"

STUDY = """
[ensemble]
name = "two"
data = "nowhere:data"
batch = 10
epochs = 1
loss = "cross_entropy"
optimizer = { name = "sgd", lr = 0.1 }
alone = { time = "2 ms", cpu = "2 ms", memory = "10 MB" }
sample = { prepare = "9 ms", size = "100 kB", count = 1000 }

[[members]]
name = "first"
model = "nowhere:build"

[[members]]
name = "second"
model = "nowhere:build"
"""


def on_mac(program, *, cwd=None):
    """What a program says on what looks like macOS."""
    path = [str(Path(__file__).parents[2]), *sys.path]
    code = f"import sys; sys.path[:] = {path!r}\n{BEGIN}{program}"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def test_every_module_imports_and_the_doctor_says_what_is_missing():
    every = "mac.import_all('batchcast'); mac.import_all('foretrain')"
    done = on_mac(f"{every}\nfrom foretrain.app.doctor import doctor; print(doctor().checks[-1])")
    assert done.returncode == 0, done.stderr
    assert "need Linux" in done.stdout


CALLS = (
    "batchcast.share([1, 2], name='numbers')",
    "batchcast.attach('numbers')",
    "batchcast.arena.make_arena(None, 0)",
)


def test_what_cannot_be_there_says_so_by_type_and_what_to_do():
    lines = ["import batchcast.arena"]
    for call in CALLS:
        lines += ["try:", f"    {call}", "except batchcast.OtherSystem as error:"]
        lines += ["    print(error)"]
    done = on_mac("\n".join(lines))
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) == len(CALLS)
    for each in said:
        assert "needs Linux, and this is darwin" in each
        assert "DataLoader of its own" in each


def test_an_ensemble_with_figures_is_estimated_and_one_without_is_refused_in_words(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    begin = "from foretrain.app.main import start\nsys.argv = ['foretrain', 'ensemble', "
    told = on_mac(f"{begin}'estimate', 'study.toml']\nstart()", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "second" in told.stdout
    ran = on_mac(f"{begin}'run', 'study.toml']\nstart()", cwd=tmp_path)
    assert ran.returncode == 1
    assert "needs Linux, and this is darwin" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_the_error_is_one_of_ours_and_one_of_pythons(monkeypatch):
    require_linux(what="this")
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(OtherSystem, match="this needs Linux"):
        require_linux(what="this")
    assert issubclass(batchcast.OtherSystem, BatchcastError)
    assert issubclass(batchcast.OtherSystem, NotImplementedError)
