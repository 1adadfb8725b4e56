"""Networks that recommend."""

from __future__ import annotations

from foretrain.workload.library.convolution.listing import fixed
from foretrain.workload.library.recommendation import (
    neural_collaborative_filtering,
    variational_autoencoder,
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
)
