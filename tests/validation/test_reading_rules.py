"""Published rows are read as their sources mean them: a test for each rule of the page on rows."""

import pytest
from tests.tables import by_id

from foretrain.measured import defaults
from foretrain.measured.case import case_of
from foretrain.measured.coverage import NotCovered
from foretrain.measured.place import Catalogue
from foretrain.plan.plan import Offload, Sharding
from foretrain.study.catalogue import cluster, device
from foretrain.study.trainers import trainers
from foretrain.workload.workload import Optimizer, Precision

CATALOGUE = Catalogue(device=device, cluster=cluster, trainers=trainers)
"""Without recipes: what is believed of a row that no recipe completes."""
ROWS = by_id("llm_training")


def of(source, *names):
    return [
        run
        for run in ROWS.values()
        if run.source_id.startswith(source) and (not names or run.network.name in names)
    ]


def case(run):
    return case_of(run, CATALOGUE)


def test_the_sequence_of_packed_bert_is_a_maximum_and_teaches_nothing():
    rows = of("mlperf", "BERT-large")
    assert len(rows) == 64
    assert {case(run).workload.model.tokens for run in rows} == {256}
    assert not any(run.may_be_fitted for run in rows)


@pytest.mark.parametrize("name", ["nv-dle-0101", "nv-dle-0103"])
def test_binned_bert_is_shorter_than_its_sequence(name):
    assert case(ROWS[name]).workload.model.tokens == 288


def test_fp32_of_containers_is_tf32_on_ampere():
    rows = [run for run in of("nv-dle") if run.precision == "fp32" and "A100" in run.place.device]
    assert all(case(run).workload.precision is Precision.TF32 for run in rows)


def test_int8_on_tpus_is_not_predicted_as_something_else():
    rows = [run for run in of("mlperf-v4.0", "GPT-3 175B") if "TPU" in run.place.device]
    assert rows
    for run in rows:
        with pytest.raises(NotCovered):
            case(run)


def test_layers_of_an_encoder_and_a_decoder_count_per_side():
    run = of("nv-dle", "BART-large")[0]
    assert run.network.layers == 12
    assert case(run).workload.model.parameters == pytest.approx(0.406e9, rel=0.05)


def test_electra_runs_a_generator_too():
    model = case(of("nv-dle", "ELECTRA-base")[0]).workload.model
    assert any("generator" in layer.name for layer in model.layers)


def test_fine_tuning_of_biobert_has_128_tokens():
    rows = [run for run in of("nv-dle", "BERT-base (BioBERT)") if run.network.sequence is None]
    assert rows
    assert {case(run).workload.model.tokens for run in rows} == {128}


def test_odd_rows_say_why_and_teach_nothing():
    odd = [f"bigscience-v100-{n:04}" for n in (1, 10, 22, 25)] + ["mpt-0080"]
    assert all(ROWS[name].doubt for name in odd)
    assert not any(ROWS[name].may_be_fitted for name in odd)


def test_one_configuration_of_bigscience_is_one_group_of_repeats():
    groups = {ROWS[f"bigscience-v100-{n:04}"].repeat for n in range(22, 26)}
    assert groups == {"bigscience-v100-0022"}


@pytest.mark.parametrize("name", ["mbridge-0242", "mbridge-0263", "mbridge-0269", "nv-dle-0238"])
def test_rows_whose_batch_or_rate_is_wrong_are_not_scored(name):
    assert ROWS[name].check


def test_a_regression_that_the_source_knows_is_told():
    rows = [run for run in of("mbridge") if run.doubt]
    assert {run.doubt for run in rows} == {"regression known to the source"}


def test_rows_without_a_device_stand_on_their_publishers():
    rows = of("libai")
    assert all(run.doubt == "device not stated" for run in rows)
    assert defaults.OF_LIBAI.words in case(rows[0]).assumed


def test_rows_that_state_flop_rates_alone_have_no_step_to_score():
    rows = [ROWS[name] for name in ("opt175b-0001", "zero-100b-0001", "megatron-2019-0001")]
    assert all(run.measured is None and run.token_rate is None for run in rows)


def test_recomputation_is_never_guessed_where_it_is_stated():
    assert all(not case(run).heavier for run in of("mpt"))
    assert any(case(run).heavier for run in of("mbridge", "Llama 3 70B"))


def test_options_of_the_notes_reach_the_plan_and_the_workload():
    assert {case(run).workload.optimizer for run in of("mbridge") if run.optimizer} == {
        Optimizer.MUON
    }
    assert case(ROWS["bigscience-v100-0069"]).plan.offload in (Offload.NONE, Offload.ACTIVATIONS)
    assert case(of("mpt")[0]).plan.sharding is Sharding.PARAMETERS


def test_micro_batches_of_mlperfs_gpt_3_are_a_multiple_of_its_stages_as_interleaving_demands():
    rows = [run for run in of("mlperf", "GPT-3 175B") if run.layout.pipeline]
    assert len(rows) == 11
    for run in rows:
        plan = case(run).plan
        replica = run.global_batch // (plan.data * plan.micro_batch)
        assert replica % plan.pipeline == 0
        assert plan.interleaving * plan.pipeline == 96


def test_batches_of_libai_that_keep_all_activations_do_not_fit_in_16_gb():
    """Korthikanti et al., equation 1: s b h (34 + 5 a s / h) bytes per layer."""
    layout = ROWS["libai-0001"].layout
    network = ROWS["libai-0001"].network
    assert (layout.recompute, layout.micro_batch) == ("none", 24.0)
    values = network.sequence * layout.micro_batch * network.hidden
    per_value = 34 + 5 * network.heads * network.sequence / network.hidden
    assert network.layers * values * per_value > 16e9
