"""Configurations of published models, as far as a reader needs them, and their parameters.

All written from memory of the published files; the counts are those of the checkpoints' tensors, or
of the formula of the architecture where a checkpoint pads or adds.
"""


def llama(hidden, layers, heads, **more):
    return {
        "model_type": "llama",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        **more,
    }


def opt(hidden, layers, heads, **more):
    return {
        "model_type": "opt",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "ffn_dim": 4 * hidden,
        "max_position_embeddings": 2048,
        "vocab_size": 50272,
        **more,
    }


def t5(d_model, d_ff, layers, heads, **more):
    return {
        "model_type": "t5",
        "d_model": d_model,
        "d_ff": d_ff,
        "num_layers": layers,
        "num_heads": heads,
        "d_kv": 64,
        "vocab_size": 32128,
        **more,
    }


LLAMA_2 = llama(4096, 32, 32, intermediate_size=11008, vocab_size=32000)
GROUPED = {"num_key_value_heads": 8}
MIXTRAL = {
    **llama(4096, 32, 32, intermediate_size=14336, vocab_size=32000),
    **GROUPED,
    "model_type": "mixtral",
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
    "sliding_window": None,
}
GEMMA_2 = {
    **llama(3584, 42, 16, intermediate_size=14336, vocab_size=256000),
    **GROUPED,
    "model_type": "gemma2",
    "head_dim": 256,
    "sliding_window": 4096,
}
GEMMA_3 = {
    **llama(1152, 26, 4, intermediate_size=6912, vocab_size=262144),
    "model_type": "gemma3_text",
    "num_key_value_heads": 1,
    "head_dim": 256,
    "sliding_window": 512,
    "sliding_window_pattern": 6,
}
GPT_OSS = {
    **llama(2880, 24, 64, intermediate_size=2880, vocab_size=201088),
    **GROUPED,
    "model_type": "gpt_oss",
    "head_dim": 64,
    "num_local_experts": 32,
    "num_experts_per_tok": 4,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
    "tie_word_embeddings": False,
}
DEEPSEEK_V2_LITE = {
    **llama(2048, 27, 16, intermediate_size=10944, vocab_size=102400),
    "model_type": "deepseek_v2",
    "q_lora_rank": None,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "moe_intermediate_size": 1408,
    "n_routed_experts": 64,
    "n_shared_experts": 2,
    "num_experts_per_tok": 6,
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
}
DEEPSEEK_V2 = {
    **DEEPSEEK_V2_LITE,
    **llama(5120, 60, 128, intermediate_size=12288),
    "model_type": "deepseek_v2",
    "q_lora_rank": 1536,
    "moe_intermediate_size": 1536,
    "n_routed_experts": 160,
    "n_group": 8,
    "topk_group": 3,
}
DEEPSEEK_V3 = {
    **DEEPSEEK_V2,
    **llama(7168, 61, 128, intermediate_size=18432, vocab_size=129280),
    "model_type": "deepseek_v3",
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "topk_group": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "num_nextn_predict_layers": 1,
}
KIMI_K2 = {
    **DEEPSEEK_V3,
    "model_type": "kimi_k2",
    "num_attention_heads": 64,
    "vocab_size": 163840,
    "n_routed_experts": 384,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
}
QWEN_3_MOE = {
    **llama(2048, 48, 32, intermediate_size=6144, vocab_size=151936),
    "model_type": "qwen3_moe",
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 768,
}
LLAMA_4 = {
    "model_type": "llama4",
    "text_config": {
        **llama(5120, 48, 40, intermediate_size=8192, intermediate_size_mlp=16384),
        **GROUPED,
        "vocab_size": 202048,
        "head_dim": 128,
        "num_local_experts": 16,
        "num_experts_per_tok": 1,
        "interleave_moe_layer_step": 1,
        "attention_chunk_size": 8192,
    },
}
MAVERICK = {
    "model_type": "llama4",
    "text_config": {
        **LLAMA_4["text_config"],
        "num_local_experts": 128,
        "interleave_moe_layer_step": 2,
    },
}
BERT = {
    "model_type": "bert",
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "vocab_size": 30522,
}
ROBERTA = {
    **BERT,
    "model_type": "roberta",
    "max_position_embeddings": 514,
    "type_vocab_size": 1,
    "vocab_size": 50265,
}
FALCON = {
    "model_type": "falcon",
    "hidden_size": 4544,
    "num_hidden_layers": 32,
    "num_attention_heads": 71,
    "multi_query": True,
    "parallel_attn": True,
    "bias": False,
    "vocab_size": 65024,
}
GPT_2 = {
    "model_type": "gpt2",
    "n_embd": 768,
    "n_layer": 12,
    "n_head": 12,
    "n_positions": 1024,
    "vocab_size": 50257,
}
BART = {
    "model_type": "bart",
    "d_model": 1024,
    "vocab_size": 50265,
    "max_position_embeddings": 1024,
    **{
        f"{part}_{key}": value
        for part in ("encoder", "decoder")
        for key, value in (("layers", 12), ("attention_heads", 16), ("ffn_dim", 4096))
    },
}
VIT = {
    "model_type": "vit",
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "patch_size": 16,
    "image_size": 224,
}
NEMOTRON_H = {
    **llama(4096, 52, 32, intermediate_size=21504, vocab_size=131072),
    **GROUPED,
    "model_type": "nemotron_h",
    "head_dim": 128,
    "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
    "mamba_num_heads": 128,
    "mamba_head_dim": 64,
    "n_groups": 8,
    "ssm_state_size": 128,
    "conv_kernel": 4,
    "chunk_size": 128,
}

EXACT = {
    "llama-2-7b": (LLAMA_2, 6_738_415_616),
    "llama-3-8b": (
        llama(4096, 32, 32, intermediate_size=14336, vocab_size=128256, **GROUPED),
        8_030_261_248,
    ),
    "llama-3.2-1b": (
        llama(
            2048,
            16,
            32,
            intermediate_size=8192,
            vocab_size=128256,
            tie_word_embeddings=True,
            **GROUPED,
        ),
        1_235_814_400,
    ),
    "mistral-7b": (
        {
            **llama(4096, 32, 32, intermediate_size=14336, vocab_size=32000, **GROUPED),
            "model_type": "mistral",
            "sliding_window": 4096,
        },
        7_241_732_096,
    ),
    "mixtral-8x7b": (MIXTRAL, 46_702_792_704),
    "mixtral-8x22b": (
        {
            **MIXTRAL,
            **llama(6144, 56, 48, intermediate_size=16384, vocab_size=32768),
            "model_type": "mixtral",
        },
        140_630_071_296,
    ),
    "qwen2-7b": (
        {
            **llama(3584, 28, 28, intermediate_size=18944, vocab_size=152064),
            "model_type": "qwen2",
            "num_key_value_heads": 4,
            "use_sliding_window": False,
            "sliding_window": 131072,
            "max_window_layers": 28,
        },
        7_615_616_512,
    ),
    "qwen1.5-moe-a2.7b": (
        {
            **llama(2048, 24, 16, intermediate_size=5632, vocab_size=151936),
            "model_type": "qwen2_moe",
            "num_experts": 60,
            "num_experts_per_tok": 4,
            "moe_intermediate_size": 1408,
            "shared_expert_intermediate_size": 5632,
        },
        14_315_784_192,
    ),
    "qwen3-8b": (
        {
            **llama(4096, 36, 32, intermediate_size=12288, vocab_size=151936),
            **GROUPED,
            "model_type": "qwen3",
            "head_dim": 128,
        },
        8_190_735_360,
    ),
    "qwen3-30b-a3b": (QWEN_3_MOE, 30_532_122_624),
    "gemma-2b": (
        {
            **llama(2048, 18, 8, intermediate_size=16384, vocab_size=256000),
            "model_type": "gemma",
            "num_key_value_heads": 1,
            "head_dim": 256,
        },
        2_506_172_416,
    ),
    "gemma-2-9b": (GEMMA_2, 9_241_705_984),
    "gemma-3-1b": (GEMMA_3, 999_885_952),
    "phi-3-mini": (
        {
            **llama(3072, 32, 32, intermediate_size=8192, vocab_size=32064),
            "model_type": "phi3",
            "sliding_window": 2047,
        },
        3_821_079_552,
    ),
    "gpt-oss-20b": (GPT_OSS, 20_914_757_184),
    "gpt-oss-120b": (
        {
            **GPT_OSS,
            "num_hidden_layers": 36,
            "layer_types": ["sliding_attention", "full_attention"] * 18,
            "num_local_experts": 128,
        },
        116_829_156_672,
    ),
    "deepseek-v2-lite": (DEEPSEEK_V2_LITE, 15_706_484_224),
    "deepseek-v2": (DEEPSEEK_V2, 235_741_434_880),
    "gpt-2": (GPT_2, 124_439_808),
    "gpt-2-xl": ({**GPT_2, "n_embd": 1600, "n_layer": 48, "n_head": 25}, 1_557_611_200),
    "gpt-j-6b": (
        {
            "model_type": "gptj",
            "n_embd": 4096,
            "n_layer": 28,
            "n_head": 16,
            "vocab_size": 50400,
            "n_inner": None,
            "tie_word_embeddings": False,
        },
        6_050_882_784,
    ),
    "gpt-neox-20b": (
        {
            **llama(6144, 44, 64, intermediate_size=24576, vocab_size=50432),
            "model_type": "gpt_neox",
        },
        20_554_567_680,
    ),
    "opt-125m": (opt(768, 12, 12), 125_239_296),
    "opt-350m": (
        opt(1024, 24, 16, word_embed_proj_dim=512, do_layer_norm_before=False),
        331_196_416,
    ),
    "opt-6.7b": (opt(4096, 32, 32), 6_658_473_984),
    "bloom-560m": (
        {"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "n_head": 16, "vocab_size": 250880},
        559_214_592,
    ),
    "bloom-176b": (
        {
            "model_type": "bloom",
            "hidden_size": 14336,
            "n_layer": 70,
            "num_attention_heads": 112,
            "vocab_size": 250880,
        },
        176_247_271_424,
    ),
    "falcon-7b": (FALCON, 6_921_720_704),
    "falcon-40b": (
        {
            **FALCON,
            "hidden_size": 8192,
            "num_hidden_layers": 60,
            "num_attention_heads": 128,
            "num_kv_heads": 8,
            "new_decoder_architecture": True,
        },
        41_303_293_952,
    ),
    "mpt-7b": (
        {
            "model_type": "mpt",
            "d_model": 4096,
            "n_layers": 32,
            "n_heads": 32,
            "expansion_ratio": 4,
            "max_seq_len": 2048,
            "no_bias": True,
            "vocab_size": 50432,
            "attn_config": {"alibi": True},
        },
        6_649_286_656,
    ),
    "bert-base for pre-training": (
        {**BERT, "architectures": ["BertForPreTraining"]},
        110_106_428,
    ),
    "bert-base for masked words": ({**BERT, "architectures": ["BertForMaskedLM"]}, 109_514_298),
    "roberta-base": (ROBERTA, 124_697_433),
    "roberta-large": (
        {
            **ROBERTA,
            "hidden_size": 1024,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "intermediate_size": 4096,
        },
        355_412_057,
    ),
    "t5-small": (t5(512, 2048, 6, 8), 60_506_624),
    "t5-base": (t5(768, 3072, 12, 12), 222_903_552),
    "t5-large": (t5(1024, 4096, 24, 16), 737_668_096),
    "flan-t5-base": (
        t5(768, 2048, 12, 12, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
        247_577_856,
    ),
    "mt5-small": (
        {
            **t5(512, 1024, 8, 6, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
            "model_type": "mt5",
            "vocab_size": 250112,
        },
        300_176_768,
    ),
    "bart-large": (BART, 406_291_456),
    "vit-base": (VIT, 86_567_656),
    "vit-large": (
        {
            **VIT,
            "hidden_size": 1024,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "intermediate_size": 4096,
        },
        304_326_632,
    ),
}
"""Published to the last parameter."""

ROUNDED = {
    "deepseek-v3": (DEEPSEEK_V3, 671e9, 0.5e9),
    "kimi-k2": (KIMI_K2, 1.03e12, 0.01e12),
    "llama-4-scout": (LLAMA_4, 108e9, 1e9),
    "llama-4-maverick": (MAVERICK, 400e9, 2e9),
    "nemotron-h-8b": (NEMOTRON_H, 8.1e9, 0.1e9),
    "nemotron-4-15b": (
        {
            **llama(6144, 32, 48, intermediate_size=24576, vocab_size=256000, **GROUPED),
            "model_type": "nemotron",
        },
        15.6e9,
        0.1e9,
    ),
    "umt5-small": (
        {
            **t5(512, 1024, 8, 6, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
            "model_type": "umt5",
            "vocab_size": 256384,
        },
        306.6e6,
        0.1e6,
    ),
    "electra-small-generator": (
        {
            **BERT,
            "model_type": "electra",
            "hidden_size": 256,
            "embedding_size": 128,
            "num_attention_heads": 4,
            "intermediate_size": 1024,
            "architectures": ["ElectraForMaskedLM"],
        },
        13.6e6,
        0.2e6,
    ),
}
"""Published with fewer digits: parameters, and half a unit of the last one."""

ALL = {name: config for name, (config, *_) in {**EXACT, **ROUNDED}.items()}
