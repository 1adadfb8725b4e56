"""Words of other software: each stands for one value, and none is guessed."""

import pytest

from foretrain.errors import InputError
from foretrain.plan.plan import Schedule, Sharding
from foretrain.study.keys import NOT_THE_SAME, SAME, known, reader, spelled, words_of
from foretrain.study.study import study_from
from foretrain.workload.workload import Optimizer, Precision

KINDS = [Sharding, Precision, Optimizer, Schedule]


@pytest.mark.parametrize("kind", KINDS)
def test_no_word_stands_for_two_values(kind):
    told = [(spelled(word), each) for each in kind for word in {*words_of(each)}]
    assert len({word for word, _ in {*told}}) == len({*told})


def test_no_word_is_both_the_same_and_not():
    same = {spelled(word) for kind in KINDS for each in kind for word in words_of(each)}
    assert not same & {spelled(word) for word in NOT_THE_SAME}
    assert {*SAME} <= {*KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_every_value_is_read_as_studies_and_as_others_write_it(kind):
    for each in kind:
        for word in words_of(each):
            assert reader(kind)(word) is each
            assert reader(kind)(word.upper().replace("-", "_")) is each


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("zero3", Sharding.PARAMETERS),
        ("zero-3", Sharding.PARAMETERS),
        ("ZeRO-2", Sharding.GRADIENTS),
        ("zero1", Sharding.OPTIMIZER),
        ("fsdp", Sharding.PARAMETERS),
        ("FULL_SHARD", Sharding.PARAMETERS),
        ("NO_SHARD", Sharding.NONE),
        ("ddp", Sharding.NONE),
        ("bfloat16", Precision.BF16),
        ("bf16-mixed", Precision.BF16),
        ("float16", Precision.FP16),
        ("torch.float32", Precision.FP32),
        ("adamw_torch_fused", Optimizer.ADAMW),
        ("AdamW", Optimizer.ADAMW),
        ("adamw_bnb_8bit", Optimizer.ADAMW_8BIT),
    ],
)
def test_what_other_software_calls_it_is_understood(word, value):
    assert reader(type(value))(word) is value


@pytest.mark.parametrize(
    ("kind", "word", "told"),
    [
        (Sharding, "hsdp", "shard = the devices that share one copy"),
        (Sharding, "SHARD_GRAD_OP", "reshard = false"),
        (Sharding, "zero", "Known: none, optimizer, gradients, parameters"),
        (Precision, "bf16-true", "without a copy in fp32 are not priced"),
        (Precision, "bf17", "Did you mean 'bf16'?"),
        (Optimizer, "paged_adamw_8bit", "plan.offload"),
        (Optimizer, "galore_adamw", "Known: sgd, momentum"),
        (Schedule, 3, "unknown 3. Known: 1f1b"),
    ],
)
def test_what_says_more_than_one_value_or_nothing_known_is_refused(kind, word, told):
    with pytest.raises(InputError) as raised:
        reader(kind)(word)
    assert told in str(raised.value)
    assert f"Known: {', '.join(known(kind))}." in str(raised.value)


def test_a_study_may_be_written_in_them():
    study = study_from(
        {
            "workload": {
                "model": "gpt-2-124m",
                "global_batch": 64,
                "sequence": 1024,
                "precision": "bf16-mixed",
                "optimizer": "adamw_torch",
            },
            "cluster": {"name": "dgx-a100", "nodes": 1},
            "plan": {"sharding": ["zero3", "ddp"]},
        },
        "study",
    )
    assert (study.workload.precision, study.workload.optimizer) == ("bf16", "adamw")
    assert study.space.sharding == (Sharding.PARAMETERS, Sharding.NONE)
