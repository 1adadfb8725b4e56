"""Studies of throughput against workers: what is read, and what is refused."""

import pytest

from foretrain.distributions import Constant, LogNormal
from foretrain.errors import InputError
from foretrain.plan.servers import Updates
from foretrain.study.scale_study import read_scale_study
from foretrain.study.spread import read_distribution, read_updates


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
    ],
)
def test_bad_studies_are_refused_by_key_and_with_what_is_allowed(change, said, tmp_path):
    with pytest.raises(InputError) as error:
        read_scale_study(written(tmp_path, WORDS.replace(*change)))
    assert said in str(error.value)
    assert str(error.value).startswith(str(tmp_path))
