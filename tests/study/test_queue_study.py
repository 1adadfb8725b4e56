"""Studies of a shared cluster: what they say is read, what they get wrong is told at once."""

import pytest

from foretrain.cluster.mixed import Outage
from foretrain.errors import InputError
from foretrain.measured.queue_study import Drawn, Target, TargetQuantity
from foretrain.study.queue_study import read_queue_study

PLAIN = """
[fleet]
nodes = 4
devices = 8
price = "2 USD/h"
quota = { research = 16 }

[jobs]
draw = 100
restart = "30 s"

[simulation]
policies = ["fifo", "srtf"]
loads = [0.5, 0.9]
seeds = 3
warm_up = "10 %"
round = "1 min"
target = { p95 = "2 h", most = 16 }
"""


def read(tmp_path, text):
    path = tmp_path / "queue.toml"
    path.write_text(text)
    return read_queue_study(path)


def test_a_study_says_fleet_jobs_and_how_to_simulate(tmp_path):
    study = read(tmp_path, PLAIN)
    assert (study.fleet.devices, dict(study.fleet.quota)) == (32, {"research": 16})
    assert study.fleet.price == pytest.approx(32 * 2 / 3600)
    assert study.jobs == Drawn(jobs=100)
    assert (study.policies, study.loads, study.seeds) == (("fifo", "srtf"), (0.5, 0.9), 3)
    assert (study.warm_up, study.conditions.period, study.restart) == (0.1, 60.0, 30.0)
    assert study.target == Target(quantity=TargetQuantity.P95, seconds=7200.0, most=16)


def test_a_target_is_one_time_of_jobs(tmp_path):
    study = read(tmp_path, PLAIN.replace("p95 =", "waiting ="))
    assert study.target == Target(quantity=TargetQuantity.WAITING, seconds=7200.0, most=16)
    with pytest.raises(InputError, match="needs one of mean, p95, waiting and p95_waiting"):
        read(tmp_path, PLAIN.replace("p95 =", 'mean = "1 h", waiting ='))


def test_a_cluster_of_the_catalogue_is_a_fleet_and_prices_plans(tmp_path):
    study = read(
        tmp_path,
        """
[cluster]
name = "dgx-a100"
nodes = 2
[jobs]
draw = 10
[[jobs.models]]
name = "small"
counts = [4, 8]
workload = { model = "gpt-3-1.3b", global_batch = 64, sequence = 2048, amount = "1 G tokens" }
[simulation]
loads = [0.5]
""",
    )
    [model] = study.jobs.models
    assert (study.fleet.devices, model.counts) == (16, (4, 8))


def test_without_loads_drawn_jobs_come_at_an_assumed_one(tmp_path):
    study = read(tmp_path, "[fleet]\nnodes = 1\ndevices = 4\n[jobs]\ndraw = 10\n")
    assert study.loads == (0.8,)
    assert study.assumed == ("simulation.loads = [0.8]",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[jobs]\ndraw = 1\n", r"fleet: is missing\. Say what the jobs share"),
        ("[fleet]\nnodes = 1\ndevices = 4\n", "jobs: is missing"),
        (PLAIN.replace("draw = 100", 'draw = 100\ntrace = "x.csv"'), "keep one"),
        (PLAIN.replace("devices = 8", "devices = 0"), "fleet.devices: 0 is not between 1"),
        (PLAIN.replace("loads = [0.5, 0.9]", "loads = [-1]"), "is not a number above 0"),
        (PLAIN.replace("loads = [0.5, 0.9]", "loads = []"), r"simulation\.loads: is empty"),
        (
            PLAIN.replace("loads = [0.5, 0.9]", "loads = [1e-300]"),
            "must be at least 1e-06, got 1e-300",
        ),
        (PLAIN.replace("p95", "p99"), "unknown key"),
        (PLAIN.replace("research = 16", "research = 0"), "quota.research: 0 is not between 1"),
    ],
)
def test_a_mistake_is_told_with_its_key(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        read(tmp_path, text)


def test_mistakes_of_all_sections_are_told_at_once(tmp_path):
    text = PLAIN.replace("nodes = 4", "nodes = 0").replace("seeds = 3", "seeds = 0")
    with pytest.raises(InputError, match=r"fleet\.nodes(.|\n)*simulation\.seeds"):
        read(tmp_path, text)


LOGGED = """
[fleet]
nodes = 1
devices = 4
[jobs]
trace = "log.csv"
columns = { arrival = "came", duration = "ran", devices = "gpus", kind = "gpu" }
"""


def logged(tmp_path, text=LOGGED):
    (tmp_path / "log.csv").write_text("came,ran,gpus,gpu\n0,10,1,a100\n1,10,0,a100\n")
    return read(tmp_path, text)


def test_kinds_of_a_log_do_not_matter_where_the_fleet_names_none(tmp_path):
    study = logged(tmp_path)
    assert [job.kinds for job in study.jobs.trace.jobs] == [()]


def test_kinds_of_a_log_matter_where_the_fleet_names_kinds(tmp_path):
    study = logged(tmp_path, LOGGED.replace("devices = 4", 'devices = 4\nkind = "a100"'))
    assert [job.kinds for job in study.jobs.trace.jobs] == [("a100",)]


def test_a_kind_that_the_fleet_has_not_is_told(tmp_path):
    with pytest.raises(InputError, match=r"1 of its jobs ran on a100, and \[fleet\] has h100"):
        logged(tmp_path, LOGGED.replace("devices = 4", 'devices = 4\nkind = "h100"'))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fleet = 3\n[jobs]\ndraw = 1\n", r"fleet: is not a table; write \[fleet\]"),
        ("jobs = 3\n[fleet]\nnodes = 1\ndevices = 1\n", r"jobs: is not a table"),
        ("[fleet]\n[jobs]\ndraw = 1\n", r"fleet\.nodes: is missing"),
        (PLAIN.replace("{ research = 16 }", "5"), r"fleet\.quota: 5"),
        (PLAIN.replace("research = 16", 'research = "x"'), r"quota\.research: 'x' is not a whole"),
        (PLAIN.replace('"fifo", "srtf"', ""), r"simulation\.policies: is empty"),
        (PLAIN.replace("draw = 100", 'draw = 100\npolicy = "fifo"'), r"jobs\.policy: is for jobs"),
    ],
)
def test_a_section_that_cannot_be_read_is_told(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        read(tmp_path, text)


@pytest.mark.parametrize("wrong", ["draw = 0", "draw = 'x'", "trace = 3"])
def test_jobs_whose_source_is_wrong_are_not_called_missing_too(tmp_path, wrong):
    text = f"[fleet]\nnodes = 1\ndevices = 4\n[jobs]\n{wrong}\n"
    with pytest.raises(InputError, match=rf"jobs\.{wrong.split()[0]}: ") as told:
        read(tmp_path, text)
    assert "is missing" not in str(told.value)


def test_keys_of_drawn_jobs_say_nothing_of_a_trace(tmp_path):
    with pytest.raises(InputError, match=r"jobs\.ends(.|\n)*simulation\.seeds: is for jobs that"):
        logged(tmp_path, LOGGED + "ends = false\n[simulation]\nseeds = 3\n")


MODELS = """
[cluster]
name = "dgx-a100"
nodes = 1
[jobs]
draw = 10
[[jobs.models]]
name = "small"
workload = { model = "resnet-50", global_batch = 64, image = 224, amount = "1 M samples" }
"""


def test_a_model_asks_for_no_more_devices_than_there_are(tmp_path):
    with pytest.raises(InputError, match=r"jobs\.models\[0\].*64"):
        read(tmp_path, MODELS.replace('"small"', '"small"\ndevices = 64'))


def test_two_models_have_two_names(tmp_path):
    with pytest.raises(InputError, match="two have one name: small, small"):
        read(tmp_path, MODELS + MODELS[MODELS.index("[[") :])


@pytest.mark.parametrize(
    ("line", "instead", "told"),
    [
        ("nodes = 4", "nodes = 1000000", "fleet.nodes: must be from 1 to 100,000, got 1,000,000"),
        ("devices = 8", "devices = 10000000", "fleet.devices: must be from 1 to 100,000"),
        ("draw = 3", "draw = 1000000", "jobs.draw: must be from 1 to 200,000, got 1,000,000"),
        ("seeds = 1", "seeds = 5000", "simulation.seeds: must be at most 1,000, got 5,000"),
        ("loads = [0.5]", f"loads = [{'0.5,' * 101}]", "simulation.loads: may be 100 at most"),
    ],
)
def test_counts_out_of_all_proportion_are_refused_at_once(tmp_path, line, instead, told):
    jobs = "[jobs]\ndraw = 3\n[simulation]\nloads = [0.5]\nseeds = 1\n"
    text = f"[fleet]\nnodes = 4\ndevices = 8\n{jobs}"
    with pytest.raises(InputError) as error:
        read(tmp_path, text.replace(line, instead))
    assert told in str(error.value)


def test_outages_are_read_with_their_ranges_and_times(tmp_path):
    text = """
[[simulation.outages]]
nodes = "0-1, 3"
start = "2 d"
end = "3 d"
notice = "2 h"
checkpoint = "1 h"
"""
    [outage] = read(tmp_path, PLAIN + text).conditions.outages
    assert outage == Outage(
        nodes=((0, 1), (3, 3)), start=172_800.0, end=259_200.0, notice=7_200.0, checkpoint=3_600.0
    )


def test_nodes_that_the_fleet_has_not_are_told_wherever_they_are_named(tmp_path):
    bare = PLAIN.replace("quota = { research = 16 }\n", "")
    outage = '[[simulation.outages]]\nnodes = "3-4"\nstart = "2 d"\n'
    site = '[[site.closed]]\nnodes = "4"\nstart = "1 d"\nend = "2 d"\n'
    parts = '[[site.partitions]]\nname = "a"\nnodes = "0-3"\n'
    leaf = '[[site.switches]]\nname = "leaf"\nnodes = "0-9"\n'
    with pytest.raises(InputError) as error:
        read(tmp_path, f"{bare}{outage}{site}{parts}{leaf}")
    told = str(error.value)
    assert "simulation.outages[0].nodes: names node 4; the last of the fleet's 4 is 3." in told
    assert "site.closed[0].nodes: names node 4" in told
    assert "site.switches[0].nodes: names node 9" in told
    assert "partitions" not in told


SWEEPS = """
[fleet]
nodes = 4
devices = 8
[jobs]
draw = 5
[[jobs.sweeps]]
name = "a"
{said}
[simulation]
policies = ["aware-sweeps"]
"""


def test_sweeps_say_trials_and_rungs(tmp_path):
    said = 'trials = 27\nfirst = "10 min"\nlast = "90 min"\nrule = "asha"\ndevices = 2'
    [kind] = read(tmp_path, SWEEPS.format(said=said)).jobs.sweeps
    assert kind.sweep.brackets[0].rungs == pytest.approx((600.0, 1800.0, 5400.0))
    assert (kind.sweep.rule, kind.sweep.devices, kind.sweep.eta) == ("asha", 2, 3.0)
    said = 'rule = "hyperband"\nfirst = "10 min"\nlast = "90 min"'
    [kind] = read(tmp_path, SWEEPS.format(said=said)).jobs.sweeps
    assert [each.trials for each in kind.sweep.brackets] == [9, 5, 3]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('first = "1 min"\nlast = "9 min"', "jobs.sweeps\\[0\\].trials: is missing"),
        ("trials = 9", "needs when trials are looked at"),
        ('trials = 9\nrule = "hyperband"\nfirst = "1 min"\nlast = "9 min"', "for other rules"),
        ('trials = 9\nfirst = "1 min"\nrungs = ["1 min"]', "stands beside first and last"),
        ('trials = 2\nfirst = "1 min"\nlast = "9 min"', "none is left at rung"),
    ],
)
def test_a_sweep_that_cannot_be_is_told(tmp_path, said, told):
    with pytest.raises(InputError, match=told):
        read(tmp_path, SWEEPS.format(said=said))
