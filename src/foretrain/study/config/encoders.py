"""Encoders (BERT, RoBERTa, ELECTRA, ViT) and encoder-decoders (T5, mT5, umT5, BART)."""

from __future__ import annotations

from foretrain.errors import UnsupportedModel
from foretrain.study.config.config import Config
from foretrain.workload.parts.encoder import VisionTransformer, encoder, vision_transformer
from foretrain.workload.parts.encoder_decoder import SPANS, EncoderDecoder, encoder_decoder
from foretrain.workload.parts.language_model import LanguageModel

BUCKETS = 32
"""Distances that T5 tells apart where relative_attention_num_buckets is absent."""


def bert(config: Config) -> LanguageModel:
    """BERT with the head of its pre-training, or for masked words alone."""
    heads = {"BertForPreTraining": 2, "BertForMaskedLM": 0}
    return _encoder(config, pooler=heads[_architecture(config, *heads)])


def roberta(config: Config) -> LanguageModel:
    """RoBERTa for masked words."""
    _architecture(config, "RobertaForMaskedLM")
    return _encoder(config, types=1, first=config.count("pad_token_id", 1) + 1)


def electra(config: Config) -> LanguageModel:
    """ELECTRA's generator; the head of its discriminator is not known here."""
    _architecture(config, "ElectraForMaskedLM")
    hidden = config.count("hidden_size")
    width = config.count("embedding_size", hidden)
    return _encoder(config, width=None if width == hidden else width)


def vit(config: Config) -> VisionTransformer:
    """ViT with its classifier."""
    labels = config.keys.get("id2label")
    heads = config.count("num_attention_heads")
    config.head_width("hidden_size", heads)
    return vision_transformer(
        patch=config.count("patch_size"),
        layers=config.count("num_hidden_layers"),
        hidden=config.count("hidden_size"),
        heads=heads,
        feed_forward=config.count("intermediate_size"),
        bias=config.flag("qkv_bias", True),
        classes=config.count("num_labels", len(labels) if isinstance(labels, dict) else 1000),
        channels=config.count("num_channels", 3),
    )


def t5(config: Config) -> EncoderDecoder:
    """T5 and mT5: one table of distances per stream."""
    return _t5(config, tables=1)


def umt5(config: Config) -> EncoderDecoder:
    """umT5: a table of distances in every layer."""
    return _t5(config, tables=config.count("num_layers"))


def _t5(config: Config, *, tables: int) -> EncoderDecoder:
    layers, heads, wide = (config.count(key) for key in ("num_layers", "num_heads", "d_ff"))
    return encoder_decoder(
        layers=layers,
        hidden=config.count("d_model"),
        heads=heads,
        head_width=config.count("d_kv"),
        feed_forward=wide,
        vocabulary=config.count("vocab_size"),
        decoder=(config.count("num_decoder_layers", layers), heads, wide),
        gated=str(config.keys.get("feed_forward_proj", "relu")).startswith("gated"),
        distances=tables * config.count("relative_attention_num_buckets", BUCKETS),
        tied=config.flag("tie_word_embeddings", True),
        dropout=config.drops("dropout_rate", default=0.1),
        spans=SPANS,
    )


def bart(config: Config) -> EncoderDecoder:
    """BART: learned positions with two more rows, norms after each part and the embedding."""
    layers, heads, feed_forward = _side(config, "encoder")
    return encoder_decoder(
        layers=layers,
        hidden=config.count("d_model"),
        heads=heads,
        feed_forward=feed_forward,
        vocabulary=config.count("vocab_size"),
        decoder=_side(config, "decoder"),
        attention_bias=True,
        feed_forward_bias=True,
        layer_norm=True,
        positions=config.count("max_position_embeddings") + 2,
        first=2,
        embedding_norm=True,
        final_norm=False,
        tied=config.flag("tie_word_embeddings", True),
        dropout=config.drops("dropout", default=0.1),
    )


def _side(config: Config, side: str) -> tuple[int, int, int]:
    """Layers, heads and feed-forward width of BART's encoder or decoder."""
    heads = config.count(f"{side}_attention_heads")
    config.head_width("d_model", heads)
    return config.count(f"{side}_layers"), heads, config.count(f"{side}_ffn_dim")


def _architecture(config: Config, *known: str) -> str:
    """What the configuration is of; the first known one where it does not say.

    Raises:
        UnsupportedModel: if it is something else.
    """
    named = [str(each) for each in config.listed("architectures")]
    found = next((each for each in named if each in known), None)
    if named and found is None:
        raise UnsupportedModel(
            f"architectures is {named[0]}; foretrain reads {config.family} as "
            f"{' or '.join(known)} only."
        )
    return found or known[0]


def _encoder(
    config: Config, *, types: int = 2, pooler: int = 0, width: int | None = None, first: int = 0
) -> LanguageModel:
    """An encoder with logits for every token, as the library that it is written for has them."""
    heads = config.count("num_attention_heads")
    config.head_width("hidden_size", heads)
    return encoder(
        layers=config.count("num_hidden_layers"),
        hidden=config.count("hidden_size"),
        heads=heads,
        feed_forward=config.count("intermediate_size"),
        vocabulary=config.count("vocab_size"),
        positions=config.count("max_position_embeddings"),
        first=first,
        types=config.count("type_vocab_size", types),
        embedding_width=width,
        predicted=1.0,
        pooler=pooler,
        tied=config.flag("tie_word_embeddings", True),
        dropout=config.drops("hidden_dropout_prob", default=0.1),
    )
