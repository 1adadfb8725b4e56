"""Data parallelism: replicas share the samples."""

from hypothesis import given
from tests.random_nouns import questions

from foretrain.plan.table import table_of


@given(question=questions())
def test_replicas_and_micro_batches_pass_every_sample_once(question):
    setting, [plan] = question
    plans = table_of([plan])
    [passes] = setting.workload.micro_batches(plans.data, plans.micro_batch)
    assert passes * plan.micro_batch * plan.data == setting.workload.global_batch
