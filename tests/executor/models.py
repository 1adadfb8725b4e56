"""The networks of the executor as the cost model knows them, built from the library's operators."""

from tests.executor.networks import Pictures

from foretrain.workload.convolution.operators import Picture, Window
from foretrain.workload.convolution.trunk import Trunk
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.feed_forward import Experts, FeedForward
from foretrain.workload.parts.language_model import LanguageModel


def model_of(network):
    return _pictures(network) if isinstance(network, Pictures) else _text(network)


def _pictures(network):
    trunk = Trunk(Picture(channels=network.channels, sides=(network.side,) * network.dimensions))
    for place, stage in enumerate(network.stages, start=1):
        window = Window(
            size=stage.size,
            stride=stage.stride,
            padding=stage.padding,
            dilation=stage.dilation,
        )
        trunk.convolve("convolution", stage.channels, window=window, bias=True)
        if network.norms:
            trunk.normalise("norm")
        trunk.activate("activation")
        if stage.pooling:
            pool = stage.pooling
            trunk.pool("pooling", Window(size=pool.size, stride=pool.stride, padding=pool.padding))
        trunk.section(f"stage {place}")
    if network.average:
        trunk.average("average")
    trunk.connect("classes", network.classes)
    return trunk.finish("classifier").model("pictures")


def _text(network):
    feed_forward = FeedForward(width=network.feed_forward)
    heads = Heads(heads=network.heads, kv_heads=network.kv_heads, width=network.width, rotary=False)
    working = (
        Experts(count=network.experts, chosen=network.chosen, each=feed_forward)
        if network.experts
        else feed_forward
    )
    shape = LanguageModel(
        hidden=network.hidden,
        embedding=Embedding(vocabulary=network.vocabulary),
        runs=(Run(blocks=(Block(mixer=heads, feed_forward=working),), repeats=network.blocks),),
        head=LanguageHead(),
    )
    return shape.model("text", network.tokens)
