"""Networks that read neither text nor images."""

from dataclasses import replace

import pytest
from tests.measured.runs import RESNET, case

from foretrain.measured import defaults
from foretrain.measured.coverage import NotCovered
from foretrain.measured.run import TableKind, TrainedNetwork
from foretrain.workload.library.entries import build

SPEECH = replace(
    RESNET,
    table=TableKind.OTHER_TRAINING,
    task="speechrecognition",
    network=TrainedNetwork(name="Jasper"),
)


def test_speech_has_the_length_of_the_corpus_that_such_rows_read():
    found = case(SPEECH)
    assert found.workload.model == build("jasper-10x5", sequence=1230)
    assert defaults.SEQUENCES["jasper-10x5"].words in found.assumed


def test_samples_of_one_size_need_no_length():
    run = replace(SPEECH, network=TrainedNetwork(name="VAE-CF"), task="recommendation")
    assert case(run).workload.model == build("vae-cf")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"network": TrainedNetwork(name="FastPitch")},
            "network 'FastPitch' is not in the library",
        ),
        ({"network": TrainedNetwork(name="wav2vec2")}, "length of a sample not stated"),
        ({"doubt": "batch printed in thousands"}, "numbers in doubt: batch printed in thousands"),
    ],
)
def test_a_row_that_is_not_covered_says_why(change, reason):
    with pytest.raises(NotCovered, match=reason):
        case(replace(SPEECH, **change))
