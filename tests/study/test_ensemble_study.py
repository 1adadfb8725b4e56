"""Studies of an ensemble: what they say is read, what they get wrong is told at once."""

import pytest

from foretrain.errors import InputError
from foretrain.measured.ensemble_study import (
    Code,
    Halving,
    Input,
    Lag,
    OnError,
    usual_handing,
)
from foretrain.study.ensemble_study import read_ensemble_study

PLAIN = """
[ensemble]
name = "rates"
data = "pictures:dataset"
shared = "pictures:decode"
private = "pictures:augment"
workers = 2
memory = "64 MiB"
cores = 2
input = "shared"
on_error = "skip"
batch = 25
epochs = 4
loss = "cross_entropy"
optimizer = { name = "sgd", lr = 0.1 }

[[members]]
name = "plain"
model = "models:build"

[[members]]
name = "wide"
model = "package.models:build"
options = { width = 16 }
batch = 50
policy = "detach"
optimizer = { name = "own.optimizers:lion", lr = 0.01 }
loss = "models:loss"

[halving]
eta = 3

[checkpoints]
folder = "kept"
every = "1 min"

[logs]
csv = "log.csv"
every = "2 s"
"""

SHORT = """
[ensemble]
name = "rates"
data = "pictures:dataset"
batch = 25
epochs = 4
loss = "cross_entropy"
optimizer = { name = "sgd", lr = 0.1, momentum = 0.9 }
"""


def read(tmp_path, text):
    path = tmp_path / "ensemble.toml"
    path.write_text(text)
    return read_ensemble_study(path)


def problems_of(tmp_path, text):
    with pytest.raises(InputError) as raised:
        read(tmp_path, text)
    return str(raised.value)


def test_a_study_says_data_members_and_what_is_kept(tmp_path):
    study = read(tmp_path, PLAIN)
    assert (study.data, study.shared) == (Code("pictures", "dataset"), Code("pictures", "decode"))
    assert (study.workers, study.memory, study.cores) == (2, 2.0**26, 2)
    assert (study.input, study.on_error, study.epochs) == (Input.SHARED, OnError.SKIP, 4)
    assert study.halving == Halving(eta=3, first=1)
    assert study.checkpoints.folder == str(tmp_path / "kept")
    assert (study.checkpoints.every, study.logs.every) == (60.0, 2.0)
    assert study.logs.csv == str(tmp_path / "log.csv")
    assert study.logs.tensorboard is None


def test_a_member_says_what_differs_from_the_others(tmp_path):
    plain, wide = read(tmp_path, PLAIN).recipes
    assert (plain.batch, plain.lag, plain.loss) == (25, Lag.BLOCK, "cross_entropy")
    assert plain.optimizer.options == {"lr": 0.1}
    assert (wide.batch, wide.lag, wide.loss) == (50, Lag.DETACH, Code("models", "loss"))
    assert (wide.options, wide.private) == ({"width": 16}, Code("pictures", "augment"))
    assert wide.optimizer.name == Code("own.optimizers", "lion")


def test_code_that_a_study_names_is_listed_once(tmp_path):
    code = [str(each) for each in read(tmp_path, PLAIN).code]
    assert len(code) == len({*code})
    assert {"pictures:dataset", "models:loss", "own.optimizers:lion"} < {*code}


def test_a_grid_is_a_member_for_each_combination(tmp_path):
    text = """
[[members]]
name = "net"
model = "models:build"
grid.optimizer.lr = [0.1, 0.01]
grid.options.width = [8, 16]
"""
    recipes = read(tmp_path, SHORT + text).recipes
    assert [each.name for each in recipes] == [
        "net-lr=0.1-width=8",
        "net-lr=0.1-width=16",
        "net-lr=0.01-width=8",
        "net-lr=0.01-width=16",
    ]
    assert recipes[2].optimizer.options == {"lr": 0.01, "momentum": 0.9}
    assert recipes[1].options == {"width": 16}


def test_every_problem_is_told_at_once(tmp_path):
    text = """
[ensemble]
name = "rates"
data = "pictures.py"
workrs = 2
memory = "64"
input = "both"
batch = 0
epochs = 4
loss = "cross_entrpy"

[[members]]
name = "a"
model = "models:build"
optimizer = { name = "sdg" }

[[members]]
name = "b"
model = "models:build"
optimizer = { lr = 0.1 }
grid.optimizer.lr = 0.1

[halving]
eta = 1

[log]
"""
    told = problems_of(tmp_path, text)
    for part in (
        "ensemble.data: 'pictures.py' is no function; write package.module:function.",
        "ensemble.workrs: unknown key. Did you mean 'workers'?",
        "ensemble.memory: '64' has no unit",
        "ensemble.input: unknown 'both'. Known: auto, shared, private.",
        "ensemble.batch: 0 is not between 1",
        "unknown loss 'cross_entrpy'. Did you mean 'cross_entropy'?",
        "unknown optimizer 'sdg'. Did you mean 'sgd'?",
        "members[1].grid.optimizer.lr: 0.1 is not a list of values to try",
        "halving.eta: must be at least 2",
        "log: unknown key. Did you mean 'logs'?",
    ):
        assert part in told, told


def test_what_was_measured_elsewhere_can_be_said(tmp_path):
    said = """
sample = { prepare = "3 ms", size = "600 kB", count = 1000 }
alone = { time = "2 ms", cpu = "0.5 ms", memory = "40 MB" }
[[members]]
name = "a"
model = "m:b"
"""
    given = read(tmp_path, SHORT + said).given
    assert (given.sample.prepare, given.sample.count, given.measured) == (0.003, 1000, False)
    assert given.members["a"].rate == pytest.approx(500)
    assert given.usual
    assert given.handing == usual_handing(600e3)
    costs = '{ store = "80 us", deliver = "70 us", collate = "30 us", queue = "0.4 ms" }'
    own = read(tmp_path, f"{SHORT}handing = {costs}\n{said}").given
    assert (own.handing.store, own.handing.queue, own.usual) == (80e-6, 0.4e-3, False)
    alone = problems_of(
        tmp_path, f"{SHORT}handing = {costs}\n[[members]]\nname = 'a'\nmodel = 'm:b'"
    )
    assert "[ensemble] sample is missing beside what else is given" in alone
    told = problems_of(tmp_path, SHORT + said.replace("alone", "# alone"))
    assert "alone of a is missing beside what else is given" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "members: is missing. Write [[members]]"),
        ('[ensemble]\nname = "a b"\ndata = "m:d"', "members: is missing"),
        ("members = 3\n" + SHORT, "members: is not a table; write [[members]]"),
        ("members = [3]\n" + SHORT, "members[0]: 3 is not a table of keys and values."),
        ('[[members]]\nname = "a"', "members[0].model: is missing."),
        ('[[members]]\nname = "a b"\nmodel = "m:b"', "names files too"),
        ('[[members]]\nname = "a"\nmodel = "m:b"\n' * 2, "two are called 'a'"),
        ('[[members]]\nname = "a"\nmodel = "m:b"\ngrid.batch = [1, 0]', "0 is not between 1"),
        ('[[members]]\nname = "a"\nmodel = "m:b"\ngrid = {}', "is not a list of values"),
        (
            f'[[members]]\nname = "a"\nmodel = "m:b"\ngrid.epochs = {[*range(1, 1002)]}',
            "makes 1,001 members; at most 1,000.",
        ),
    ],
)
def test_what_is_wrong_with_members_is_told(tmp_path, text, told):
    whole = text if "[ensemble]" in text else SHORT + text
    assert told in problems_of(tmp_path, whole)
