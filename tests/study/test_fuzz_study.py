"""Whatever a file holds, its reader answers with a study or with an error that a user can mend."""

import copy
from contextlib import suppress

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foretrain.errors import ForetrainError
from foretrain.plan.study import Study
from foretrain.study.study import read_study, study_from

GOOD = {
    "workload": {
        "model": "llama-3-70b",
        "global_batch": 1024,
        "sequence": 8192,
        "precision": "bf16",
        "optimizer": "adamw",
        "trainable": {"lora": 8, "targets": ["q_proj"], "quantised": "nf4"},
        "gradients": {"top": "1 %"},
        "amount": "15 T tokens",
        "data": {"samples": 1000, "sample_bytes": "110 kB", "prepare": "9 ms"},
        "evaluation": {"every": "1 epoch", "samples": 500},
        "batch_ramp": {"start": 512, "increment": 256, "samples": 4096},
    },
    "cluster": {
        "name": "mine",
        "nodes": 8,
        "price": "2 USD/h",
        "node_power": "5 kW",
        "device": {
            "name": "device",
            "memory": "80 GB",
            "memory_bandwidth": "2 TB/s",
            "units": 100,
            "power": "400 W",
            "peak": {"fp32": "20 TFLOP/s", "bf16": "300 TFLOP/s"},
        },
        "levels": [
            {
                "name": "node",
                "members": 8,
                "link": {"latency": "3 us", "bandwidth": "300 GB/s", "technology": "nvlink"},
            },
            {
                "name": "fabric",
                "link": {"latency": "9 us", "bandwidth": "200 Gb/s", "technology": "infiniband"},
            },
        ],
    },
    "plan": {"tensor": [4, 8], "mbs": 1, "order": ["tensor", "data", "pipeline"]},
    "job": {"checkpoint": "30 min", "checkpoint_mode": "asynchronous", "start": "3 min"},
    "search": {"objective": "cost", "limit": {"devices": 64, "cost": "2 MUSD"}},
}

words = st.sampled_from(
    ["bf16", "GB/s", "80 GB", "400 Gb/s", "9 us", "dgx-a100", "h100-sxm", "1 steps", "none", "-1 s"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | words | st.dates()
keys = st.text() | st.sampled_from(
    ["name", "nodes", "levels", "members", "link", "value", "tp", "tensor", "limit", "data"]
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)
sections = st.sampled_from(["workload", "cluster", "plan", "job", "search"])


def places(value, path=()):
    """Every place in a document, as a path of keys."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in pairs:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


@st.composite
def mutated_studies(draw):
    """A good study in which a few values were replaced, added or taken away."""
    document = copy.deepcopy(GOOD)
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(list(places(document))))
        inside = document
        for key in path:
            inside = inside[key]
        if draw(st.booleans()):
            inside[last] = draw(values)
        elif isinstance(inside, dict):
            inside[draw(keys)] = inside.pop(last)
        else:
            del inside[last]
    return document


def study_or_error(document):
    with suppress(ForetrainError):
        assert isinstance(study_from(document, "fuzz"), Study)


def test_study_that_is_mutated_is_good():
    assert isinstance(study_from(GOOD, "fuzz"), Study)


@given(document=mutated_studies())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_mutated_study_is_read_or_refused(document):
    study_or_error(document)


@given(document=st.dictionaries(sections | keys, values))
def test_any_document_is_read_or_refused(document):
    study_or_error(document)


lines = st.sampled_from(
    [
        "[workload]",
        "[plan]",
        "[[plan]]",
        "[cluster.device]",
        "tp = 8",
        "tp = ",
        "model = 'gpt-3-175b'",
        "a.b = 1",
        "[a]",
        "x = [1,",
        "x = '''",
        "nodes = 1e400",
        "nodes = nan",
        "d = 1979-05-27",
    ]
)
files = st.binary() | st.lists(lines | st.text()).map(lambda each: "\n".join(each).encode())


@given(content=files)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_is_read_or_refused(tmp_path, content):
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with suppress(ForetrainError):
        read_study(path)
