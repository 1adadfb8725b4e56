"""Length: the same workload with samples of another length."""

import pickle
from dataclasses import replace

import pytest

from foretrain.errors import InputError
from foretrain.study.study import read_study
from foretrain.study.workload import with_length
from foretrain.workload.library.entries import build

LLAMA = {"model": "llama-3-8b", "global_batch": 64, "sequence": 4096}


def test_all_but_the_length_stays():
    short, long = with_length(LLAMA, 4096), with_length(LLAMA, 8192)
    assert long == replace(short, model=build("llama-3-8b", sequence=8192))


def test_amount_in_tokens_stays_that_many_tokens():
    amount = {**LLAMA, "amount": "1 T tokens"}
    assert with_length(amount, 8192).samples == with_length(amount, 4096).samples / 2
    counted = {**LLAMA, "amount": "1 M samples"}
    assert with_length(counted, 8192).samples == with_length(counted, 4096).samples


def test_study_of_a_file_knows_its_other_lengths(tmp_path):
    path = tmp_path / "study.toml"
    text = '[workload]\nmodel = "llama-3-8b"\nglobal_batch = 64\nsequence = 4096\n'
    path.write_text(f'{text}[cluster]\nname = "dgx-h100"\nnodes = 1\n')
    study = read_study(path)
    assert study.lengthened(8192) == with_length(LLAMA, 8192)
    assert study == replace(study, lengthened=None)
    assert pickle.loads(pickle.dumps(study)).lengthened(8192) == study.lengthened(8192)


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ({"model": "resnet-50", "global_batch": 64, "image": 224}, "reads images"),
        (
            {
                "model": {
                    "parameters": "1 M parameters",
                    "flop": "2 GFLOP",
                    "activations": "1 M values",
                },
                "global_batch": 64,
            },
            "totals of a model are those of samples of one length",
        ),
    ],
)
def test_samples_of_one_size_have_no_other_length(section, why):
    with pytest.raises(InputError, match=why):
        with_length(section, 1024)
