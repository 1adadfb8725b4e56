"""Studies of throughput against workers: what is read, and what is refused."""

import json
import re

import pytest

from foretrain.distributions import Constant, LogNormal, Normal, Samples
from foretrain.errors import InputError
from foretrain.plan.servers import Updates
from foretrain.study.scale_sections import read_distribution, read_stragglers, read_updates
from foretrain.study.scale_study import read_scale_study


def written(folder, text):
    path = folder / "scale.toml"
    path.write_text(text)
    return path


WORDS = """
[scale]
workers = [1, 2]
steps = 40
[worker]
compute = "200 ms"
samples = 2
pulled = "50 MB"
pushed = "50 MB"
link = "1 GB/s"
"""


def test_servers_have_the_link_of_a_worker_where_nobody_says_theirs(tmp_path):
    study = read_scale_study(written(tmp_path, WORDS))
    assert study.training.servers.link is None
    assert study.training.server_link == study.training.worker.link == 1e9
    assert study.assumed == ("assumed servers.link = worker.link",)


def test_what_staleness_wastes_is_assumed_and_said(tmp_path):
    study = read_scale_study(
        written(tmp_path, WORDS.replace("steps", "updates = 'asynchronous'\nsteps"))
    )
    assert study.training.waste == 0.005
    assert "assumed scale.waste = 0.5 %" in study.assumed


def test_times_are_one_or_a_law():
    assert read_distribution("200 ms") == Constant(0.2)
    assert read_distribution({"mean": "200 ms"}) == Constant(0.2)
    found = read_distribution({"mean": "2 s", "deviation": "1 s", "law": "lognormal"})
    assert found == LogNormal(mean=2.0, deviation=1.0)


def test_updates_are_a_word_or_a_number_of_steps_or_workers():
    assert read_updates("asynchronous") == Updates(stale=None)
    assert read_updates({"stale": 3}) == Updates(stale=3)
    assert read_updates({"backup": 2}) == Updates(backup=2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("workers = [1, 2]", "workers = [0]"), "workers[0]: 0 is not between 1"),
        (("workers = [1, 2]", "workers = []"), "needs at least one number"),
        (('"200 ms"', '"-1 s"'), "worker.compute: "),
        (('"200 ms"', '{ law = "pareto", shape = 0.5, mean = "1 s" }'), "above 1, got 0.5"),
        (('"200 ms"', '{ law = "normal" }'), "has no mean"),
        (('"200 ms"', '{ mean = "1 s", law = "gamma" }'), "unknown law 'gamma'"),
        (('"50 MB"', '"50 MB/s"'), "worker.pulled: "),
        (("steps = 40", "steps = 4"), "at least 40"),
        (("steps = 40", "updates = { stale = -1 }"), "at least 0 steps"),
        (("steps = 40", 'updates = "sometimes"'), "is not known. Write"),
        (("steps = 40", 'aggregation = "all-reduce"\nupdates = "asynchronous"'), "is synchronous"),
        (("steps = 40", "updates = { backup = 2 }"), "more than the backup workers, 2, got 1"),
        (("[worker]", "[servers]\ncount = 0\n[worker]"), "servers.count: 0 is not between"),
        (('compute = "200 ms"', 'profile = "none.json"'), "none.json"),
        (("steps = 40", 'latency = "1 ms"'), "With servers, write servers.latency"),
        (("samples = 2", 'samples = 2\nprofile = "none.json"'), "stands beside a profile"),
        (("[worker]", "[workload]\nmodel = 'resnet-50'\n[worker]"), "keep one"),
        (("[worker]", "[provision]\nmodel = 'alexnet'\n[worker]"), "stands beside [provision]"),
        (("1 GB/s", "0 GB/s"), "worker.link: must be above 0 B/s, got 0.0"),
        (("[worker]", "[servers]\nlink = '0 GB/s'\n[worker]"), "servers.link: must be above 0 B/s"),
        (("[worker]", "[plan]\nmicro_batch = 4\n[worker]"), "plan: is of a model"),
        (("steps = 40", "stragglers = { deviation = '5 %' }"), "is for a model's worker"),
    ],
)
def test_bad_studies_are_refused_by_key_and_with_what_is_allowed(change, said, tmp_path):
    with pytest.raises(InputError) as error:
        read_scale_study(written(tmp_path, WORDS.replace(*change)))
    assert said in str(error.value)
    assert str(error.value).startswith(str(tmp_path))


PROFILE = {
    "schema": "foretrain/profile/1",
    "name": "one layer",
    "nodes": 2,
    "samples": 32,
    "link": 1.25e9,
    "latency": 0.05,
    "steps": [
        {
            "number": 0,
            "operations": [
                {"name": "pull", "resource": "downlink", "start": 0, "end": 0.1, "size": 1e7},
                {"name": "work", "resource": "compute", "start": 0.1, "end": 0.2},
                {"name": "push", "resource": "uplink", "start": 0.2, "end": 0.3, "size": 2e7},
                {"name": "apply", "resource": "server", "start": 0.3, "end": 0.31},
            ],
        }
    ],
}
PROFILED = """
[scale]
workers = [1, 2]
steps = 40
[worker]
profile = "profile.json"
{link}
[servers]
{servers}
"""


def profiled(folder, link="", servers=""):
    (folder / "profile.json").write_text(json.dumps(PROFILE))
    return read_scale_study(written(folder, PROFILED.format(link=link, servers=servers))).training


def test_a_profile_says_link_latency_and_update_unless_the_study_does(tmp_path):
    found = profiled(tmp_path)
    assert (found.worker.link, found.servers.latency) == (1.25e9, 0.05)
    assert found.servers.update == pytest.approx(0.01)
    said = profiled(tmp_path, "link = '1 GB/s'", "latency = '1 ms'\nupdate = '2 ms'")
    assert (said.worker.link, said.servers.latency, said.servers.update) == (1e9, 1e-3, 2e-3)


START = """
[start]
samples = 1000
read = "1 GB/s"
files = 1000
opening = "1 ms"
total_opens = 50
access = "broadcast"
[servers]
latency = "2 ms"
"""


def test_files_that_are_opened_for_all_nodes_and_latencies_are_those_of_a_job(tmp_path):
    start = read_scale_study(written(tmp_path, WORDS + START)).job.start
    assert (start.total_opens, start.latency, start.link) == (50.0, 2e-3, None)


def test_stragglers_have_mean_one_whatever_their_law():
    for said in (
        {"deviation": "10 %"},
        {"deviation": "40 %", "law": "lognormal"},
        {"shape": 1.5, "law": "weibull"},
        {"shape": 2.5, "law": "pareto"},
        {"least": "80 %", "law": "exponential"},
        {"samples": ["190 ms", "200 ms", "250 ms"]},
    ):
        assert read_stragglers(said).mean == pytest.approx(1.0)
    assert read_stragglers({"deviation": "10 %"}) == Normal(mean=1.0, deviation=0.1)
    assert read_stragglers({"samples": ["1 s", "3 s"]}) == Samples((0.5, 1.5))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("10 %", "is no distribution. Write"),
        ({}, "is no distribution. Write"),
        ({"law": "weibull"}, "needs shape"),
        ({"law": "gamma", "shape": 1}, "unknown law 'gamma'"),
        ({"law": "pareto", "shape": 0.5}, "there is no mean"),
        ({"mean": "1 s"}, "unknown key"),
        ({"samples": ["0 s"]}, "all 0 s"),
    ],
)
def test_stragglers_that_cannot_be_are_refused(value, said):
    with pytest.raises(InputError, match=re.escape(said)):
        read_stragglers(value)


PROVISION = """
[scale]
workers = [2, 4]
[provision]
model = "alexnet"
image = 224
samples = 1000
chunk = 100
multiply_add = "1 ns"
memory = "4 GB"
link = "1 GB/s"
"""


def test_machines_are_those_of_the_study_and_waste_is_assumed_and_said(tmp_path):
    study = read_scale_study(written(tmp_path, PROVISION))
    asked = study.training
    assert (asked.samples, asked.chunk, asked.cores, asked.multiply_add) == (1000, 100, 1, 1e-9)
    assert (asked.memory, asked.link, asked.value, asked.waste) == (4e9, 1e9, 4.0, 0.005)
    assert asked.model.name == "alexnet"
    assert study.assumed == ("assumed scale.waste = 0.5 %",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[2, 4]", "[1, 4]"), "scale.workers: must be at least 2 machines"),
        (("[2, 4]", "[2]\nupdates = 'synchronous'"), "scale.updates: is not for [provision]"),
        (("[provision]", "[servers]\n[provision]"), "servers: is not for [provision]"),
        (("'1 ns'", "'0 s'"), "provision.multiply_add: must be above 0"),
        (("chunk = 100", "chunk = 100\nmemory_share = '150 %'"), "must lie from 0 to 1, got 1.5"),
        (("chunk = 100", ""), "provision.chunk: is missing"),
        (("image = 224", ""), "give image (pixels)"),
        (('"alexnet"', '"alexnett"'), "Did you mean 'alexnet'?"),
    ],
)
def test_provisions_that_cannot_be_are_refused_by_key(change, said, tmp_path):
    text = PROVISION.replace('"1 ns"', "'1 ns'")
    with pytest.raises(InputError) as error:
        read_scale_study(written(tmp_path, text.replace(*change)))
    assert said in str(error.value)
