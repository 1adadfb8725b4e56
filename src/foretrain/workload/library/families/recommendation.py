"""Networks that recommend."""

from __future__ import annotations

from foretrain.workload.library.convolution.listing import fixed
from foretrain.workload.library.recommendation import (
    deep_learning_recommendation,
    neural_collaborative_filtering,
    variational_autoencoder,
    wide_and_deep,
)

ENTRIES = (
    fixed(
        "ncf",
        neural_collaborative_filtering,
        summary="NeuMF for MovieLens 20M; a sample is one user with one item",
        source="he2017b, section 3.4",
        aliases=("neumf",),
    ),
    fixed(
        "vae-cf",
        variational_autoencoder,
        summary="variational autoencoder for MovieLens 20M; a sample is one user",
        source="liang2018, section 4",
    ),
    fixed(
        "dlrm",
        deep_learning_recommendation,
        summary="DLRM for Criteo 1TB, 26 tables of 128; a sample is one shown advertisement",
        source="naumov2019, section 2; sizes of NVIDIA's small model, from memory",
        aliases=("dlrm-small",),
    ),
    fixed(
        "wide-and-deep",
        wide_and_deep,
        summary="Wide & Deep for Outbrain's clicks; a sample is one shown advertisement",
        source="cheng2016, section 3; sizes of NVIDIA's model, from memory",
        aliases=("wideanddeep", "wide-deep"),
    ),
)
