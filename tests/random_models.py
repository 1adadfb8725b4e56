"""Random models of every family, whole or partly trained; most can be split by 2, 3, 4 or 8."""

from dataclasses import replace

from hypothesis import strategies as st

from foretrain.workload.library.entries import build
from foretrain.workload.parts.attention import Heads, SlidingWindow
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.encoder_decoder import EncoderDecoder
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.feed_forward import Experts, FeedForward
from foretrain.workload.parts.language_model import Decoder, LanguageModel, decoder, language_model
from foretrain.workload.parts.mixers import Latent, StateSpace
from foretrain.workload.parts.stream import Norm
from foretrain.workload.trainable import Trainable, WeightStorage, adapted
from tests.examples import among

sequences = st.sampled_from([1, 7, 24, 96, 128, 1024, 4096])
widths = st.sampled_from([8, 64, 80, 128])
layers = st.sampled_from([1, 2, 3, 4, 6, 8, 12])


@st.composite
def decoders(draw):
    """A dense decoder of any shape."""
    kv_heads = draw(among([1, 2, 3, 4, 8, 24]))
    heads = kv_heads * draw(among([1, 2, 3, 8]))
    width = draw(widths)
    own_width = draw(st.booleans())
    shape = Decoder(
        layers=draw(among([1, 2, 3, 4, 6, 8, 12, 16, 24])),
        hidden=draw(st.integers(1, 4000)) if own_width else heads * width,
        feed_forward=draw(among([1, 4, 24])) * draw(st.integers(1, 1000)),
        heads=heads,
        kv_heads=kv_heads,
        vocabulary=draw(among([1, 4, 24])) * draw(st.integers(1, 6000)),
        gated=draw(st.booleans()),
        bias=draw(st.booleans()),
        dropout=draw(st.booleans()),
        positions=draw(among([None, 0])),
        tied=draw(st.booleans()),
        head_width=width if own_width else None,
    )
    return decoder("random", shape, sequence=draw(sequences))


@st.composite
def heads(draw, *, causal=True):
    """Multi-head attention, grouped or not, with or without a window."""
    kv_heads = draw(among([1, 2, 8, 24]))
    return Heads(
        heads=kv_heads * draw(among([1, 2, 8])),
        kv_heads=kv_heads,
        width=draw(widths),
        causal=causal,
        window=draw(st.none() | st.builds(SlidingWindow, tokens=st.integers(1, 2048))),
    )


@st.composite
def latents(draw):
    """Multi-head latent attention."""
    rank = st.integers(16, 512)
    return Latent(
        heads=draw(among([4, 24])),
        query_rank=draw(st.none() | rank),
        key_rank=draw(rank),
        plain=64,
        rotary=draw(among([16, 64])),
        value=64,
    )


@st.composite
def mixtures(draw):
    """Experts with or without shared ones, room or imbalance, and a width of their own."""
    each = FeedForward(width=draw(among([24, 48, 768])), gated=draw(st.booleans()))
    capacity = draw(st.none() | st.floats(0.5, 2))
    shared = draw(st.none() | st.just(replace(each, width=24 * draw(st.integers(1, 100)))))
    return Experts(
        count=draw(among([8, 24, 64, 3, 1])),
        chosen=1,
        each=each,
        shared=shared,
        shared_gate=shared is not None and draw(st.booleans()),
        latent=draw(st.none() | st.integers(8, 256)),
        capacity=capacity,
        imbalance=1.0 if capacity else draw(among([1.0, 1.1, 3.0])),
    )


@st.composite
def expert_models(draw):
    """Some dense layers, then layers of experts, and tokens predicted further ahead."""
    mixture = draw(mixtures())
    mixture = replace(mixture, chosen=draw(st.integers(1, min(8, mixture.count))))
    mixer = draw(latents() | heads())
    dense = Run(
        blocks=(Block(mixer=mixer, feed_forward=FeedForward(width=240, gated=True)),),
        repeats=draw(among([1, 2, 3])),
        name="dense",
    )
    routed = Run(blocks=(Block(mixer=mixer, feed_forward=mixture),), repeats=draw(layers))
    shape = LanguageModel(
        hidden=draw(st.integers(1, 2000)),
        embedding=Embedding(vocabulary=24 * draw(st.integers(1, 2000))),
        runs=(*([dense] if draw(st.booleans()) else []), routed),
        head=LanguageHead(tied=draw(st.booleans())),
        predictions=draw(among([0, 0, 1])),
    )
    return language_model("random experts", shape, sequence=draw(sequences))


@st.composite
def encoders(draw):
    """An encoder that predicts some of its tokens, or one whose output a decoder attends to."""
    mixer, sequence = draw(heads(causal=False)), draw(sequences)
    block = Block(mixer=mixer, feed_forward=FeedForward(width=24 * draw(st.integers(1, 100))))
    run = Run(blocks=(block,), repeats=draw(layers))
    shape = {"hidden": draw(st.integers(1, 2000)), "norm": draw(among(Norm))}
    table = Embedding(vocabulary=24 * draw(st.integers(1, 2000)), positions=0, follows=True)
    if draw(st.booleans()):
        head = LanguageHead(tied=True, predicted=0.15, pooler=2)
        one = LanguageModel(embedding=table, runs=(run,), head=head, **shape)
        return language_model("random encoder", one, sequence=sequence)
    second = replace(run, blocks=(replace(block, cross=mixer),), repeats=draw(layers))
    two = EncoderDecoder(
        embedding=table, encoder=run, decoder=second, head=LanguageHead(norm=True), **shape
    )
    return two.model("random pair", sequence)


@st.composite
def hybrids(draw):
    """Layers of state space before layers of attention."""
    space = StateSpace(heads=24, width=draw(widths), groups=24, state=16)
    first = Run(blocks=(Block(mixer=space),), repeats=draw(layers), name="state space")
    second = Run(blocks=(Block(mixer=draw(heads())),), repeats=draw(layers))
    shape = LanguageModel(
        hidden=draw(st.integers(1, 2000)),
        embedding=Embedding(vocabulary=24),
        runs=(first, second),
        head=LanguageHead(),
    )
    return language_model("random hybrid", shape, sequence=draw(sequences))


@st.composite
def images(draw):
    """A network for images: ResNet-50, or a vision transformer with a token more than patches."""
    if draw(st.booleans()):
        return build("resnet-50", image=draw(st.integers(32, 320)))
    return build("vit-b-16", image=16 * draw(st.integers(1, 20)))


@st.composite
def partly_trained(draw, whole):
    """A model with adapters on frozen weights, or with frozen first layers."""
    model = draw(whole)
    rank, stored = (
        draw(among([1, 8, 16])),
        draw(st.none() | st.sampled_from(WeightStorage)),
    )
    if draw(st.booleans()):
        return adapted(model, Trainable(lora=rank, stored=stored))
    return adapted(model, Trainable(frozen=draw(st.integers(1, model.cuttable_layers))))


def within_reach(family):
    """Models that are mostly products, as those that were measured; others are not priced."""
    return lambda *given: family(*given).filter(lambda model: model.multiplied >= 0.36)


decoders, expert_models = within_reach(decoders), within_reach(expert_models)
encoders, hybrids = within_reach(encoders), within_reach(hybrids)
partly_trained = within_reach(partly_trained)

# Images have few structures: one example in eight is enough of them.
FAMILIES = (decoders, decoders, expert_models, expert_models, expert_models, encoders, hybrids)
whole = st.one_of(*(family() for family in FAMILIES))
models = st.one_of(whole, whole, partly_trained(whole), images())
