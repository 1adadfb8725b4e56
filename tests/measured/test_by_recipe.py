"""Rows without a plan are completed by published recipes, and by those alone that fit them."""

from dataclasses import replace

import pytest
from tests.measured.runs import CATALOGUE, GPT

from foretrain.errors import InputError
from foretrain.measured.case import circumstances_of
from foretrain.measured.coverage import Assumptions
from foretrain.measured.recipe import by_recipe
from foretrain.measured.run import (
    Place,
    RunLayout,
    TrainedNetwork,
)
from foretrain.study.launch_files import recipes
from foretrain.study.trainers import trainers
from foretrain.trainers.recipes import nearest
from foretrain.trainers.trainer import recognised
from foretrain.workload.library.entries import known

LORA = replace(
    GPT,
    source_id="mlperf-v9",
    date="2025-11",
    framework="NeMo",
    task="LoRA fine-tune (MLPerf)",
    precision="",
    network=TrainedNetwork(name="Llama 2 70B", sequence=8192),
    place=Place(device="H100 SXM 80GB", devices=8, node_devices=8),
    layout=RunLayout(),
    global_batch=8,
)


def completed(run, known=None):
    at = circumstances_of(run)
    assumptions = Assumptions(recognised(at, trainers()), at)
    found = by_recipe(run, assumptions, recipes() if known is None else known)
    return found.layout, assumptions.words


def test_a_row_without_a_plan_has_the_one_of_its_trainer_s_recipe():
    layout, words = completed(LORA)
    assert (layout.tensor, layout.pipeline, layout.context, layout.data) == (4, 1, 1, 2)
    assert layout.micro_batch == 1
    assert any("recipe for 8 devices" in each for each in words)


@pytest.mark.parametrize(
    "changed",
    [
        {"framework": "maxtext", "source_id": "x"},
        {"task": "pretrain"},
        {"date": "2022-05"},  # more than half a year before any recipe
        {"network": TrainedNetwork(name="Llama 2 70B", sequence=4096)},
        {"network": TrainedNetwork(name="nobody's", sequence=8192)},
        {"place": Place(device="A100 SXM 80GB", devices=8, node_devices=8)},
        {"place": Place(device="H100 SXM 80GB", devices=1, node_devices=1)},
        {"layout": RunLayout(tensor=8)},
        {"layout": RunLayout(data=1)},
        {"layout": RunLayout(accumulation=3)},
        {"global_batch": 7},
    ],
    ids=str,
)
def test_a_recipe_of_something_else_fills_nothing_in(changed):
    run = replace(LORA, **changed)
    assert completed(run) == (run.layout, ())


def test_what_a_row_states_stays_and_what_it_leaves_out_follows():
    run = replace(LORA, layout=RunLayout(tensor=4, accumulation=4, recompute="full"))
    layout, _ = completed(run)
    assert (layout.tensor, layout.data, layout.recompute) == (4, 2, "full")


def test_a_recipe_is_stretched_over_four_times_its_devices_and_no_further():
    [recipe] = [
        each
        for each in recipes()
        if (each.family, each.model, each.devices, each.count)
        == ("MLPerf", "llama-2-70b", (("H100",),), 8)
    ]
    assert recipe.suits("H100 SXM 80GB", 32)
    assert not recipe.suits("H100 SXM 80GB", 36)
    assert not recipe.suits("H100 SXM 80GB", 6)
    assert not recipe.suits("H200 SXM 141GB", 8)


def test_of_recipes_the_nearest_by_devices_counts_then_the_stated_precision_then_the_latest():
    [*found] = [each for each in recipes() if each.model == "llama-3-405b"]
    one = replace(found[0], count=256, tensor=1, pipeline=1, context=1)
    far = replace(one, count=512)
    narrow = replace(one, precision="mxfp8")
    late = replace(one, release="9")
    assert nearest([one, far], count=300, precision="") == one
    assert nearest([narrow, one], count=256, precision="mxfp8") == narrow
    assert nearest([one, late], count=256, precision="") == late
    assert nearest([], count=256, precision="") is None


def test_every_recipe_is_of_a_model_of_the_library_and_of_a_known_trainer():
    families = {each.family for each in trainers()}
    for each in recipes():
        entry = known(each.model)
        assert entry is not None
        assert entry.name == each.model
        assert each.family in families
        assert ":" in each.source


def test_a_recipe_divides_its_devices():
    with pytest.raises(InputError, match="do not divide 8"):
        replace(recipes()[0], count=8, tensor=3, pipeline=1, context=1)
    with pytest.raises(InputError, match=r"PublishedPlan\.tensor must be at least 1, got 0"):
        replace(recipes()[0], tensor=0)


def test_the_catalogue_of_measured_runs_has_the_recipes():
    assert CATALOGUE.recipes() == recipes()
