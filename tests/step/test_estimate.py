"""The verb `estimate`: one plan, what it takes, and how far to believe it."""

from dataclasses import fields, replace

import pytest
from tests.builders import GIB, H100, NVLINK
from tests.small import (
    QUICK_HOST,
    cluster,
    expert_study,
    gpt_study,
    listed,
    llama_study,
    long_study,
    on_ethernet,
    resnet_study,
    with_memory,
)

from foretrain.cluster.device import Level
from foretrain.cluster.offer import Offer
from foretrain.coefficients.uncertainty import Covers
from foretrain.errors import InputError
from foretrain.plan.plan import (
    AXES,
    SAID,
    ContextExchange,
    Offload,
    Plan,
    Recompute,
    Schedule,
    Sends,
    Sharding,
)
from foretrain.plan.study import Limit, Space, Study
from foretrain.remark import About, Remark
from foretrain.step.estimate import estimate
from foretrain.step.price import AGREEMENT
from foretrain.step.result import StageMemory
from foretrain.step.software import unstated
from foretrain.study.catalogue import cluster as catalogued
from foretrain.study.coefficients import SHIPPED
from foretrain.study.study import study_from
from foretrain.workload.library.entries import build
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Data, Workload


def space(**choices):
    """A space of one plan, or of a few where several choices are given."""
    several = {
        name: choice if isinstance(choice, list) else [choice] for name, choice in choices.items()
    }
    return Space(**{name: tuple(choice) for name, choice in several.items()})


def space_of(plan):
    return space(**{name: getattr(plan, name) for name in SAID})


def of_gpt(**choices):
    return gpt_study(space=space(**{"micro_batch": 1} | choices))


def but_for_the_width(answer):
    """The warnings but for the one that the interval is wider."""
    return tuple(each for each in answer.warnings if not each.startswith("the interval is wider"))


def warns(answer, text):
    return any(text in warning for warning in answer.warnings)


def refused(study):
    with pytest.raises(InputError) as caught:
        estimate(study)
    return str(caught.value).splitlines()


def test_several_choices_are_refused_with_every_key_at_once():
    study = gpt_study(
        space=space(
            tensor=[1, 2],
            sequence_parallel=[False, True],
            recompute=[Recompute.NONE, Recompute.FULL],
            attention=[*Attention],
            order=[AXES, ("data", "tensor", "context", "pipeline")],
        )
    )
    orders = "tensor > context > data > pipeline, data > tensor > context > pipeline"
    assert refused(study) == [
        "plan.tensor: has 2 choices (1, 2); give one value.",
        "plan.sequence_parallel: has 2 choices (false, true); give one value.",
        "plan.recompute: has 2 choices (none, full); give one value.",
        "plan.attention: has 2 choices (plain, flash); give one value.",
        f"plan.order: has 2 choices ({orders}); give one value.",
        'plan.micro_batch: is missing; give one value, or use "foretrain search".',
    ]


def test_choice_of_clusters_is_refused_with_its_keys():
    one, other = cluster(8, 2), cluster(16, 2, name="other")
    offers = (Offer(cluster=one, nodes=(2, 8)), Offer(cluster=other, nodes=(2, *range(5, 17))))
    assert refused(replace(of_gpt(), offers=offers)) == [
        "cluster.name: has 2 choices (small, other); give one value.",
        "cluster.nodes: has 13 choices (2, 5, ..., 16); give one value.",
    ]


def test_plan_that_cannot_run_is_refused_with_every_reason_at_once():
    reasons = refused(of_gpt(data=4, tensor=3, micro_batch=5))
    assert [reason.partition(":")[0] for reason in reasons] == [
        "plan.data x plan.tensor x plan.pipeline",
        "plan.micro_batch",
        "plan.tensor",
    ]


def test_degrees_that_leave_no_whole_replica_are_refused():
    assert refused(of_gpt(tensor=32))[0].startswith("plan.data x plan.tensor x plan.pipeline: ")


def test_precision_that_the_device_lacks_is_refused_once():
    study = replace(of_gpt(), cluster=catalogued("dgx-1-v100", nodes=2))
    [reason] = refused(study)
    assert reason.startswith("workload.precision: v100-sxm2-16gb does not compute in bf16.")


def test_replicas_take_the_devices_that_are_left():
    answer = estimate(of_gpt(tensor=2, pipeline=2))
    assert (answer.plan.data, answer.devices) == (4, 16)
    assert not warns(answer, "plan.data")


def test_assumed_values_are_named_after_those_of_the_reader():
    answer = estimate(replace(of_gpt(tensor=2, sharding=Sharding.NONE), assumed=("precision",)))
    assert but_for_the_width(answer) == (
        "assumed precision",
        "assumed plan.pipeline = 1",
        "assumed plan.sequence_parallel = false",
        "assumed plan.recompute = none",
        "assumed plan.attention = flash",
        "assumed plan.order = tensor > context > data > pipeline",
    )


def test_neutral_values_are_named_only_where_they_matter():
    whole = ("data", "sharding", "recompute", "attention")
    study = of_gpt(**{name: getattr(Plan(data=16), name) for name in whole})
    defaults = {"plan.schedule": "1f1b", "plan.sends": "overlapped"}
    reader = tuple(
        Remark(f"{key} = {value}", about=About.ASSUMED, key=key) for key, value in defaults.items()
    )
    answer = estimate(replace(study, assumed=reader))
    assert but_for_the_width(answer) == ("assumed plan.tensor = plan.pipeline = 1",)
    piped = estimate(replace(of_gpt(pipeline=2), assumed=reader)).warnings
    assert {f"assumed {text}" for text in reader} < {*piped}
    assert {"assumed plan.tensor = 1", "assumed plan.interleaving = 1"} < {*piped}


IDLE = {
    "shard": (8, "plan.sharding = none"),
    "reshard": (False, "plan.sharding = none"),
    "exchange": (ContextExchange.ALL_TO_ALL, "plan.context = 1"),
    "sequence_parallel": (True, "plan.tensor = 1"),
    "schedule": (Schedule.GPIPE, "plan.pipeline = 1"),
    "sends": (Sends.BLOCKING, "plan.pipeline = 1"),
    "cut": ("balanced", "plan.pipeline = 1"),
    "order": (("pipeline", "data", "context", "tensor"), "fewer than two axes above 1"),
}


@pytest.mark.parametrize("name", IDLE)
def test_key_without_effect_is_named_and_has_none(name):
    value, why = IDLE[name]
    plain, given = estimate(of_gpt()), estimate(of_gpt(**{name: value}))
    assert not warns(plain, "has no effect")
    assert warns(given, f"plan.{name} = ")
    assert warns(given, f" has no effect with {why}")
    assert given.parts == plain.parts
    assert given.memory == plain.memory


def test_sharding_among_one_replica_has_no_effect():
    choices = {"tensor": 16, "data": 1}
    plain = estimate(of_gpt(**choices))
    given = estimate(of_gpt(sharding=Sharding.PARAMETERS, **choices))
    assert warns(given, "plan.sharding = parameters has no effect with one replica")
    assert (given.parts, given.memory) == (plain.parts, plain.memory)


def test_whole_plan_needs_no_assumption():
    plan = Plan(data=8, tensor=2, sequence_parallel=True)
    answer = estimate(gpt_study(space=space_of(plan)))
    assert answer.plan == plan
    assert but_for_the_width(answer) == ()


def test_time_money_and_energy_are_those_worked_by_hand():
    """A million samples in steps of 16 are 62,500 steps of 16 devices on two nodes."""
    study = of_gpt(tensor=2)
    study = replace(study, workload=replace(study.workload, data=Data(samples=32_000.0)))
    answer = estimate(study)
    seconds = answer.step_time
    assert answer.samples_per_second == pytest.approx(16 / seconds)
    assert answer.tokens_per_second_per_device == pytest.approx(1024 / seconds)
    assert answer.time_to_train == pytest.approx(62_500 * seconds)
    assert answer.epoch_time == pytest.approx(2_000 * seconds)
    assert answer.cost_per_step == pytest.approx(16 * 2.5 / 3600 * seconds)
    assert answer.cost_to_train == pytest.approx(62_500 * 16 * 2.5 / 3600 * seconds)
    assert answer.energy_per_step == pytest.approx(2 * 10_200 * seconds)
    assert answer.step_time_low < seconds < answer.step_time_high


def test_utilisation_is_the_models_share_of_the_peak():
    answer = estimate(of_gpt(tensor=2))
    peak = H100.peak.bf16
    assert answer.mfu == pytest.approx(answer.model_flops_per_second_per_device / peak)
    assert 0 < answer.mfu == answer.hfu < 1
    again = estimate(of_gpt(tensor=2, recompute=Recompute.FULL))
    assert 0 < again.mfu < again.hfu < 1


def test_what_is_not_known_is_not_made_up():
    study = of_gpt()
    workload = replace(study.workload, samples=None)
    poor = replace(study.cluster, price=None, node_power=None)
    answer = estimate(replace(study, workload=workload, cluster=poor))
    assert (answer.time_to_train, answer.cost_to_train, answer.epoch_time) == (None, None, None)
    assert (answer.cost_per_step, answer.energy_per_step) == (None, None)


def test_images_have_no_tokens():
    answer = estimate(replace(resnet_study(), space=space(micro_batch=8)))
    assert answer.fits
    assert answer.plan.data == 8
    assert answer.tokens_per_second_per_device is None
    assert answer.samples_per_second == pytest.approx(64 / answer.step_time)
    assert not answer.confidence.inside_calibration


def test_memory_is_told_stage_by_stage_and_of_the_heaviest():
    memory = estimate(of_gpt(pipeline=4, data=4)).memory
    parts = ("weights", "gradients", "optimizer", "activations", "buffers")
    assert [stage.stage for stage in memory.stages] == [0, 1, 2, 3]
    for stage in memory.stages:
        assert stage.total == pytest.approx(sum(getattr(stage, part) for part in parts), rel=1e-12)
    heaviest = max(memory.stages, key=lambda stage: stage.total)
    assert (
        StageMemory(
            stage=heaviest.stage,
            **{name: getattr(memory, name) for name in parts},
            total=memory.total,
            allocated=memory.allocated,
        )
        == heaviest
    )
    assert memory.low < memory.total < memory.high


def test_plan_that_does_not_fit_is_priced_with_the_reason():
    fitting = estimate(of_gpt(pipeline=2, data=8))
    assert (fitting.fits, fitting.reason) == (True, None)
    answer = estimate(with_memory(of_gpt(pipeline=2, data=8), GIB))
    worst = max(answer.memory.stages, key=lambda stage: stage.total)
    assert not answer.fits
    assert answer.reason.startswith(f"device memory: stage {worst.stage + 1} of 2 needs ")
    assert answer.reason.endswith("per device, h100-sxm-80gb has 1 GiB")
    assert answer.step_time == fitting.step_time
    assert answer.memory.probability_fits < 0.01
    assert fitting.memory.probability_fits > 0.99
    assert replace(answer.memory, probability_fits=fitting.memory.probability_fits) == (
        fitting.memory
    )


def test_memory_that_may_not_suffice_is_a_warning():
    study = of_gpt(tensor=2)
    memory = estimate(study).memory
    for room, warned in (
        (memory.high, False),
        ((memory.total + memory.high) / 2, True),
        (memory.total, True),
        (0.99 * memory.total, False),
    ):
        answer = estimate(with_memory(study, room))
        assert answer.fits == (room >= memory.total)
        assert warns(answer, "memory may not suffice") == warned


@pytest.fixture(scope="module")
def both_resolutions():
    """Every 53rd plan with a pipeline, on links that make the two resolutions differ."""
    study = on_ethernet(llama_study())
    plans = [plan for plan in listed(study) if plan.pipeline > 1][::53]
    studies = [replace(study, space=space_of(plan)) for plan in plans]
    return [estimate(each, coefficients=QUICK_HOST) for each in studies]


def test_resolutions_agree_on_some_plans_and_differ_on_others(both_resolutions):
    differing = [each for each in both_resolutions if each.step_time != each.closed_form]
    assert 0 < len(differing) < len(both_resolutions)
    assert any(each.plan.sends is Sends.BLOCKING for each in differing)


def test_step_is_the_simulations_where_the_closed_form_differs(both_resolutions):
    for answer in both_resolutions:
        difference = answer.closed_form / answer.simulated - 1
        expected = answer.simulated if abs(difference) > AGREEMENT else answer.closed_form
        assert answer.step_time == pytest.approx(expected, rel=1e-9)
        assert warns(answer, "the event simulation decides") == (abs(difference) > AGREEMENT)
        assert warns(answer, f" s, {difference:+.1%}") == (abs(difference) > AGREEMENT)


def test_parts_add_up_whichever_resolution_counts(both_resolutions):
    for answer in both_resolutions:
        parts = [getattr(answer.parts, field.name) for field in fields(answer.parts)]
        assert sum(parts) == pytest.approx(answer.step_time, rel=1e-9)
        assert min(parts) > -1e-9 * answer.step_time


def test_uneven_stages_with_blocking_sends_are_played():
    """The last of three stages has the head, and its sends cross the Ethernet."""
    plan = Plan(
        data=2,
        tensor=2,
        pipeline=3,
        micro_batch=6,
        sequence_parallel=True,
        sharding=Sharding.OPTIMIZER,
        sends=Sends.BLOCKING,
    )
    study = on_ethernet(llama_study(space=space_of(plan)))
    answer = estimate(study, coefficients=QUICK_HOST)
    assert answer.step_time == pytest.approx(answer.simulated, rel=1e-9)
    assert abs(answer.closed_form / answer.step_time - 1) > AGREEMENT
    assert "the event simulation decides" in answer.warnings[0]


def test_step_that_is_not_played_is_the_closed_form():
    study = of_gpt(pipeline=2)
    answer, played = estimate(study, played=False), estimate(study)
    assert answer.simulated is None
    assert answer.step_time == answer.closed_form == played.closed_form


def test_step_of_too_many_passes_is_not_played_and_says_so(monkeypatch):
    monkeypatch.setattr("foretrain.step.price.PASSES", 3)
    answer = estimate(of_gpt(pipeline=2))
    assert answer.simulated is None
    assert warns(answer, "not simulated: 4 passes in one step")


def test_one_level_of_links_is_enough():
    study = of_gpt(tensor=2)
    node = replace(study.cluster, levels=(Level(name="node", members=16, link=NVLINK),))
    assert estimate(replace(study, cluster=node)).step_time < estimate(study).step_time


def mpt_like(**choices):
    """A run like those that the coefficients were fitted to: Llama-2-7B on one node of A100."""
    workload = Workload(model=build("llama-2-7b", sequence=2048), global_batch=32)
    asked = space(**({"micro_batch": 1, "sharding": Sharding.OPTIMIZER} | choices))
    return Study(workload=workload, cluster=catalogued("dgx-a100", nodes=1), space=asked)


@pytest.fixture
def one_node_covered():
    """A set that was fitted to runs like `mpt_like` alone."""
    covers = Covers(
        devices=frozenset({catalogued("dgx-a100", nodes=1).device.name}),
        parameters=(1e9, 30e9),
        counts=(8, 8),
        samples=frozenset({"tokens"}),
    )
    return replace(SHIPPED, covers=covers).coefficients


def test_confidence_knows_the_runs_that_the_coefficients_were_fitted_to(one_node_covered):
    def inside(study):
        return estimate(study, coefficients=one_node_covered).confidence.inside_calibration

    assert inside(mpt_like())
    assert not inside(mpt_like(tensor=2))
    assert not inside(mpt_like(pipeline=2))
    assert not inside(mpt_like(attention=Attention.PLAIN))
    assert not inside(replace(mpt_like(), cluster=catalogued("dgx-a100", nodes=2)))
    assert not inside(replace(mpt_like(), cluster=catalogued("dgx-h100", nodes=1)))


def test_an_interval_is_wider_and_says_so_outside_of_what_was_fitted_to(one_node_covered):
    like = estimate(mpt_like(), coefficients=one_node_covered)
    other = catalogued("dgx-h100", nodes=1)
    unlike = estimate(replace(mpt_like(), cluster=other), coefficients=one_node_covered)
    assert not warns(like, "the interval is wider")
    assert warns(unlike, "the interval is wider")
    assert f"no run on {other.device.name}" in unlike.confidence.outside
    assert unlike.step_time_high / unlike.step_time > like.step_time_high / like.step_time


def test_limits_of_the_study_that_the_plan_breaks_are_warnings():
    study = replace(of_gpt(tensor=2), limit=Limit(deadline=1.0, cost=1e9))
    assert warns(estimate(study), "the whole training is over the study's deadline")
    assert not warns(estimate(study), "cost limit")


def test_plan_over_the_limit_on_memory_is_priced_with_a_warning():
    over = "a device's memory is over the study's memory limit"
    assert warns(estimate(replace(of_gpt(), limit=Limit(memory=1e9))), over)
    assert not warns(estimate(replace(of_gpt(), limit=Limit(memory=H100.memory))), over)


def test_study_without_a_choice_of_experts_divides_them_like_the_rest():
    study = expert_study(space=space(micro_batch=1, tensor=2))
    assert estimate(study).plan.expert_tensor == 2
    divided = replace(study, space=replace(study.space, sequence_parallel=(True,)))
    assert estimate(divided).plan.expert_tensor == 1


def test_plan_whose_host_is_too_small_is_priced_with_the_reason():
    study = long_study(space=space(micro_batch=1, context=4, offload=Offload.BOTH))
    assert estimate(study).fits
    host = replace(study.cluster.host, memory=1e8)
    answer = estimate(replace(study, cluster=replace(study.cluster, host=host)))
    assert answer.reason.startswith("host memory: ")
    assert not answer.fits


def test_what_a_study_states_stays_though_its_trainer_would_have_it_otherwise():
    sections = {
        "workload": {"model": "llama-3-8b", "global_batch": 32, "sequence": 4096},
        "cluster": {"name": "dgx-h100", "nodes": 1},
        "trainer": {"name": "megatron-lm"},
        "plan": {"micro_batch": [1, 2], "tensor": 2},
    }
    space = unstated(study_from(sections, "x"))
    assert space.micro_batch == (1, 2)
    assert space.tensor == (2,)
    assert space.interleaving is None


def test_a_trainers_plan_is_cut_as_its_stages_ask():
    study = study_from(
        {
            "workload": {"model": "llama-3-8b", "global_batch": 64, "sequence": 4096},
            "cluster": {"name": "dgx-h100", "nodes": 2},
            "trainer": {"name": "megatron-bridge"},
            "plan": {"tensor": 4, "pipeline": 2, "micro_batch": 1},
        },
        "study",
    )
    assert estimate(study).plan.cut == "even"
