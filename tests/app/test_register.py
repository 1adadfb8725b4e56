"""register: what is one's own gets a name that studies may use."""

import pytest

import foretrain
from foretrain import plugins
from foretrain.jobs.ordered import Ordering
from foretrain.jobs.policies.table import named
from foretrain.step.collectives.line import Line
from foretrain.study import catalogue


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    """Registers of this test alone."""
    empty = {plugins.POLICY: {}, plugins.COLLECTIVE: {}}
    monkeypatch.setattr(plugins, "_REGISTERED", empty)
    monkeypatch.setattr(catalogue, "_REGISTERED", {})


def newest_first():
    return Ordering(key=lambda active, now: -active.job.arrival)


def test_a_registered_policy_is_simulated_by_its_name(tmp_path):
    foretrain.register(policies={"newest-first": newest_first()})
    assert named("newest-first").says == "a policy of one's own"
    study = "[fleet]\nnodes = 1\ndevices = 4\n[jobs]\ndraw = 20\n[simulation]\npolicies = "
    (tmp_path / "queue.toml").write_text(study + '["fifo", "newest-first"]\n')
    answer = foretrain.simulate(foretrain.read_queue_study(tmp_path / "queue.toml"))
    assert set(answer.points[0].policies) == {"fifo", "newest-first"}


def test_a_registered_collective_speeds_up_what_uses_it(tmp_path):
    foretrain.register(collectives={"magic": lambda group: Line(fixed=0.0, per_byte=0.0)})
    study = """
[workload]
model = "gpt-2"
global_batch = 64
sequence = 1024
precision = "fp16"
[cluster]
name = "dgx-1-v100"
nodes = 8
[plan]
data = 64
micro_batch = 1
sharding = "none"
recompute = "none"
"""
    (tmp_path / "plain.toml").write_text(study)
    own = study.replace("nodes = 8", 'nodes = 8\ncollectives = { all-reduce = "magic" }')
    (tmp_path / "own.toml").write_text(own)
    plain, quicker = (
        foretrain.estimate(foretrain.read_study(tmp_path / name))
        for name in ("plain.toml", "own.toml")
    )
    assert quicker.parts.gradients < plain.parts.gradients


@pytest.mark.parametrize(
    ("brought", "says"),
    [
        ({"policies": {"three": 3}}, "three: is a int; a policy is"),
        ({"collectives": {"three": 3}}, "three: is a int; a function is wanted"),
        ({"policies": {"a:b": newest_first()}}, "is no name for a policy"),
        ({"catalogue": "no such folder"}, "has no devices"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(brought, says):
    with pytest.raises(foretrain.InputError, match=says):
        foretrain.register(**brought)
