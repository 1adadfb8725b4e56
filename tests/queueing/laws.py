"""One distribution of each kind, with mean 1 s, and random ones."""

from hypothesis import strategies as st

from foretrain.distributions import (
    Constant,
    Exponential,
    LogNormal,
    Normal,
    Pareto,
    Samples,
    Weibull,
)

SMOOTH = (
    Exponential(mean=1.0),
    Exponential(mean=1.0, least=0.6),
    Normal(mean=1.0, deviation=0.2),
    LogNormal(mean=1.0, deviation=0.5),
    Weibull(mean=1.0, shape=0.7),
    Weibull(mean=1.0, shape=3.0),
    Pareto(mean=1.0, shape=5.0),
)
EVERY = (*SMOOTH, Constant(1.0), Samples((0.4, 1.6, 0.7, 1.3)))

means = st.floats(1e-3, 1e3)
distributions = st.one_of(
    st.builds(Constant, means),
    st.builds(
        lambda mean, share: Exponential(mean=mean, least=mean * share), means, st.floats(0, 0.9)
    ),
    st.builds(
        lambda mean, share: Normal(mean=mean, deviation=mean * share), means, st.floats(0.01, 0.3)
    ),
    st.builds(
        lambda mean, share: LogNormal(mean=mean, deviation=mean * share), means, st.floats(0.01, 3)
    ),
    st.builds(lambda mean, shape: Weibull(mean=mean, shape=shape), means, st.floats(0.4, 10)),
    st.builds(lambda mean, shape: Pareto(mean=mean, shape=shape), means, st.floats(1.1, 10)),
    st.builds(lambda values: Samples(tuple(values)), st.lists(means, min_size=1, max_size=8)),
)
