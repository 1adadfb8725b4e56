"""Kept traces: read while nothing has changed, made anew after any change, never half."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.needs import needs

from foretrain.errors import InputError
from foretrain.study.tracing import kept as keeping
from foretrain.study.tracing.kept import kept, place, plain, read_kept, written
from foretrain.workload.library.entries import build

HERE = Path(__file__).parent
MODEL = build("resnet-50", image=224)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FORETRAIN_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def refuses():
    raise InputError("cannot be traced")


@pytest.mark.parametrize("name", ["resnet-50", "llama-3-8b", "mixtral-8x7b", "bert-base"])
def test_model_comes_back_as_it_was(name, tmp_path):
    sizes = {"image": 224} if name == "resnet-50" else {"sequence": 128}
    model, path = build(name, **sizes), tmp_path / "model.json"
    path.write_text(written(model))
    assert read_kept(path) == model
    assert repr(read_kept(path)) == repr(plain(model))


def test_what_was_made_once_is_read_and_another_question_is_not(folder):
    assert kept(["a", 1], lambda: MODEL) == MODEL
    assert kept(["a", 1], refuses) == MODEL
    for parts in (["a", 2], ["a"], ["a1"], [("a", 1)], None):
        with pytest.raises(InputError, match="cannot be traced"):
            kept(parts, refuses)
    assert len(list(folder.iterdir())) == 1


def test_what_fails_leaves_nothing(folder):
    with pytest.raises(InputError):
        kept(["a"], refuses)
    assert not folder.exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("1000", "1001", 1),
        lambda text: "",
        lambda text: "[1, 2]",
        lambda text: json.dumps({"sha256": "0", "model": {}}),
    ],
)
def test_damaged_file_is_made_anew(damage, folder):
    kept(["a"], lambda: MODEL)
    (path,) = folder.iterdir()
    path.write_text(damage(path.read_text()))
    with pytest.raises(InputError):
        kept(["a"], refuses)
    assert kept(["a"], lambda: MODEL) == MODEL
    assert kept(["a"], refuses) == MODEL


def test_folder_that_cannot_be_written_keeps_nothing_and_answers(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("FORETRAIN_CACHE", str(tmp_path / "file"))
    assert kept(["a"], lambda: MODEL) == MODEL


def test_place_is_the_user_s_cache_or_what_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("FORETRAIN_CACHE", "off")
    assert place() is None
    monkeypatch.delenv("FORETRAIN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert place() == tmp_path / "foretrain" / "traces"


def test_other_code_of_ours_makes_it_anew(folder, monkeypatch):
    kept(["a"], lambda: MODEL)
    monkeypatch.setattr(keeping, "code", lambda: "other")
    with pytest.raises(InputError):
        kept(["a"], refuses)


CODE = """
import torch
from helper import factor
class Net(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.width, self.product = width, torch.nn.Linear(4, width)
    def forward(self, x):
        return self.product(x) * factor
def build():
    return Net(), torch.zeros(4, 4)
"""


SCRIPT = """
import json, sys
from importlib import invalidate_caches
from pathlib import Path
from foretrain.study.tracing.module import traced_code

folder, cache, versions = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
for files in versions:
    for name, code in files.items():
        (folder / f"{name}.py").write_text(code)
        sys.modules.pop(name, None)
    invalidate_caches()
    model = traced_code("net_kept:build", folder=str(folder), sequence=None, image=None)
    print(json.dumps([str(model), len(list(cache.iterdir()))]))
"""


def version(code=CODE, helper="factor = 2"):
    return {"net_kept": code, "helper": helper}


def traced_by_a_process(folder, cache, *versions):
    """What a process answers to versions of the code, and how many traces are kept after each."""
    source = str(Path(keeping.__file__).parents[3])
    environment = {**os.environ, "FORETRAIN_CACHE": str(cache), "PYTHONPATH": source}
    command = [sys.executable, "-B", "-c", SCRIPT, str(folder), str(cache), json.dumps(versions)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_source_of_a_network_decides_whether_its_trace_is_read(tmp_path):
    needs("torch")
    code, cache = tmp_path / "code", tmp_path / "kept"
    code.mkdir()
    wider = CODE.replace("width=8", "width=16")
    [(first, many)] = traced_by_a_process(code, cache, version())
    assert many == 1
    again, *others = traced_by_a_process(
        code, cache, version(), version(helper="factor = 3"), version(code=wider)
    )
    assert again == [first, 1]
    assert [many for _, many in others] == [2, 3]
    assert others[1][0] != first


def test_modules_that_differ_in_a_value_are_not_one():
    torch = needs("torch")
    from foretrain.study.tracing.kept import fingerprint

    def made(**options):
        return fingerprint(torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, **options)), None)

    assert made() == made()
    assert len({repr(made(stride=stride)) for stride in (1, 2, 3)}) == 3
    frozen = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3)).requires_grad_(False)
    assert fingerprint(frozen, None) != made()


def test_module_that_holds_what_nobody_can_tell_is_not_kept():
    torch = needs("torch")
    from foretrain.study.tracing.kept import fingerprint

    net = torch.nn.Linear(2, 2)
    net.secret = iter([1, 2])
    assert fingerprint(net, None) is None
