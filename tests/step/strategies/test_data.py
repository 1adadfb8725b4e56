"""Data parallelism: replicas share the samples."""

from hypothesis import given
from tests.random_nouns import questions

from foretrain.plan.table import table_of
from foretrain.step.strategies.data import micro_batches


@given(question=questions())
def test_replicas_and_micro_batches_pass_every_sample_once(question):
    setting, [plan] = question
    passes = micro_batches(setting.workload, table_of([plan]))[0]
    assert passes * plan.micro_batch * plan.data == setting.workload.global_batch
