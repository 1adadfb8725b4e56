"""What is told of options that contradict, belong to another release, or hang on nothing."""

from pathlib import Path

import pytest

from foretrain.errors import InputError
from foretrain.launch.option import Why
from foretrain.search.import_files import import_, settings_of
from foretrain.study.launch_files import launch_file

SIZES = "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --vocab-size 32000"
BATCH = "--micro-batch-size 1 --global-batch-size 64 --seq-length 2048 --bf16"


def megatron(more, line="torchrun --nproc-per-node 8 --nnodes 2", **asked):
    text = f"{line} pretrain_gpt.py \\\n {SIZES} \\\n {BATCH} \\\n {more}\n"
    return import_([launch_file("train.sh", text)], **{"on": "dgx-h100", **asked})


def told(found):
    return [(it.place, it.option, it.kind) for it in found.not_understood]


def test_what_nobody_sets_is_named_with_its_line():
    found = megatron("--tensor-model-parallel-size $TP")
    assert told(found) == [("train.sh:4", "tensor-model-parallel-size", Why.VARIABLE)]
    assert "Nobody sets TP. It is left out." in str(found.not_understood[0])


def test_one_option_twice_is_told_and_the_later_counts():
    found = megatron("--tensor-model-parallel-size 2 --tensor-model-parallel-size 4")
    assert found.document["plan"]["tensor"] == 4
    assert told(found) == [("train.sh:4", "tensor-model-parallel-size", Why.CONFLICT)]
    assert "taken for tensor-model-parallel-size 4" in str(found.not_understood[0])


def test_two_options_that_contradict_are_told_with_what_is_taken():
    found = megatron("--fp16")
    [one] = found.not_understood
    assert one.kind is Why.CONFLICT
    assert {one.option, found.document["workload"]["precision"]} == {"fp16", "bf16"} or {
        one.option,
        found.document["workload"]["precision"],
    } == {"bf16", "fp16"}
    assert "taken for workload.precision" in str(one)


def test_an_option_of_another_release_is_named_with_that_and_what_it_is_taken_for():
    found = megatron("--pipeline-model-parallel-layout 'Et*16|t*16L' --use-custom-fsdp")
    kinds = {it.option: it for it in found.not_understood}
    assert kinds["use-custom-fsdp"].kind is Why.OTHER_RELEASE
    assert "megatron-core-0.12, not of megatron-core-0.18" in str(kinds["use-custom-fsdp"])


def test_an_option_of_an_older_release_is_taken_for_what_it_was():
    found = megatron("--checkpoint-activations --num-experts 8 --expert-model-parallel-size 2")
    [one] = found.not_understood
    assert one.kind is Why.OTHER_RELEASE
    assert found.document["plan"]["recompute"] == "full"
    assert "taken for plan.recompute = full" in str(one)


def test_an_unknown_option_is_named_with_the_nearest():
    found = megatron("--tensor-model-paralel-size 4")
    [one] = found.not_understood
    assert one.kind is Why.UNKNOWN
    assert "Did you mean 'tensor-model-parallel-size'?" in str(one)


def test_a_value_that_means_nothing_is_named_with_those_that_do():
    found = megatron("--cp-comm-type a2a+p2p --context-parallel-size 2")
    [one] = found.not_understood
    assert one.kind is Why.VALUE
    assert "p2p, a2a, all_gather" in str(one)


def test_what_matters_and_is_not_priced_is_listed():
    found = megatron("--ddp-bucket-size 40000000")
    assert told(found) == [("train.sh:4", "ddp-bucket-size", Why.UNPRICED)]


def test_what_changes_nothing_is_ignored_by_what_it_is_about():
    found = megatron("--lr 1e-4 --save here")
    assert told(found) == []
    assert {(it.about, it.options) for it in found.ignored} == {
        ("learning", ("lr",)),
        ("checkpoints", ("save",)),
    }


def test_samples_that_no_replicas_share_are_a_contradiction():
    found = import_(
        [
            launch_file("ds.json", '{"train_batch_size": 100, "train_micro_batch_size_per_gpu": 2,'
                        '\n"gradient_accumulation_steps": 4, "zero_optimization": {"stage": 1}}'),
        ],
        on="1xdgx-h100",
    )  # fmt: skip
    [one] = found.not_understood
    assert one.kind is Why.CONFLICT
    assert found.document["workload"]["global_batch"] == 100


def test_sizes_of_the_library_are_its_model():
    more = (
        "--group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm "
        "--disable-bias-linear --untie-embeddings-and-output-weights --hidden-dropout 0 "
        "--position-embedding-type rope --ffn-hidden-size 14336 --vocab-size 128256"
    )
    assert megatron(more).document["workload"]["model"] == "llama-3-8b"


def test_other_sizes_are_a_decoder_that_a_study_reads():
    found = megatron("")
    assert found.document["workload"]["model"]["decoder"]["feed_forward"] == 16384
    model = found.question().workload.model
    assert model.cuttable_layers == 32
    assert model.tokens == 2048


def test_nodes_that_are_not_said_are_asked_for():
    found = megatron("", line="torchrun --nproc-per-node 8 --nnodes $N")
    assert [it.key for it in found.missing] == ["cluster.nodes"]
    with pytest.raises(InputError, match=r"cluster.nodes: the files do not say"):
        found.question()
    assert megatron("", line="torchrun --nnodes $N", on="4xdgx-h100").document["cluster"] == {
        "name": "dgx-h100",
        "nodes": 4,
    }


def test_settings_say_what_files_leave_open():
    found = import_(
        [launch_file("a.toml", '[model]\nname = "llama3"\nflavor = "8B"\n[parallelism]\n')],
        on="1xdgx-h100",
        settings=settings_of(["workload.global_batch=16", "plan.micro_batch=2"]),
    )
    assert found.document["workload"]["global_batch"] == 16
    assert found.question().space.micro_batch == (2,)


def test_a_setting_is_a_key_with_a_value():
    with pytest.raises(InputError, match="write a key of a study and its value"):
        settings_of(["nodes"])


def test_the_release_is_the_one_that_is_asked_for():
    assert megatron("", trainer="megatron-core-0.12").trainer == "megatron-core-0.12"
    with pytest.raises(InputError, match="no options that are known here"):
        megatron("", trainer="torchtitan-0.3")


def test_files_of_nobody_are_refused():
    with pytest.raises(InputError, match=r"no.*option of a trainer that is known"):
        import_([launch_file("x.sh", "ls -l\n")])


def test_the_study_is_the_document():
    import tomllib

    found = megatron("--tensor-model-parallel-size 2 --sequence-parallel")
    assert tomllib.loads(found.study) == found.document


def test_a_search_takes_all_but_the_plan():
    found = megatron("--tensor-model-parallel-size 2")
    assert found.question().space.tensor == (2,)
    assert found.question(free=True).space.tensor is None


PIPELINED = (Path(__file__).parent / "files" / "titan-llama3-70b-pipelined.toml").read_text("utf-8")


def titan(old, new):
    assert old in PIPELINED
    return import_([launch_file("a.toml", PIPELINED.replace(old, new))], on="dgx-h100")


@pytest.mark.parametrize("said", ["1e400", "inf", "nan", "-inf"])
def test_what_is_no_finite_number_is_not_computed_with(said):
    line = "pipeline_parallel_first_stage_less_layers = "
    found = titan(f"{line}0", f"{line}{said}")
    assert any("first_stage_less_layers" in it.option for it in found.not_understood)


@pytest.mark.parametrize("line", ["pipeline_parallel_degree = ", "layers_per_stage = "])
def test_a_thousand_million_stages_are_not_listed_one_by_one(line):
    [known] = [it for it in PIPELINED.splitlines() if line in it]
    found = titan(known, known.split(line)[0] + line + "1000000000")
    assert found.document["plan"]["cut"] == "even"
