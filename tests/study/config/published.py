"""What published configurations of known families say beside what their readers need.

Written from memory of the published files; with `configs.py` they are whole configurations, which
are read by their fields if their family is taken away.
"""

from tests.study.config.configs import EXACT, ROUNDED

ROTATED = {"rope_theta": 10000.0, "max_position_embeddings": 4096}
OF_LLAMA = {
    "hidden_act": "silu",
    "rms_norm_eps": 1e-05,
    "initializer_range": 0.02,
    "tie_word_embeddings": False,
    "use_cache": True,
    "torch_dtype": "bfloat16",
    **ROTATED,
}
OF_GPT = {"initializer_range": 0.02, "bos_token_id": 0, "eos_token_id": 2, "use_cache": True}

BESIDE = {
    "llama-2-7b": {**OF_LLAMA, "attention_bias": False, "mlp_bias": False, "pretraining_tp": 1},
    "llama-3-8b": {**OF_LLAMA, "attention_bias": False, "rope_theta": 500000.0},
    "mistral-7b": OF_LLAMA,
    "mixtral-8x7b": {**OF_LLAMA, "router_aux_loss_coef": 0.02, "output_router_logits": False},
    "qwen2-7b": {**OF_LLAMA, "use_sliding_window": False, "max_window_layers": 28},
    "qwen1.5-moe-a2.7b": {**OF_LLAMA, "norm_topk_prob": False, "decoder_sparse_step": 1},
    "qwen3-8b": {**OF_LLAMA, "attention_bias": False, "use_sliding_window": False},
    "qwen3-30b-a3b": {**OF_LLAMA, "attention_bias": False, "norm_topk_prob": True},
    "gemma-2b": {**OF_LLAMA, "hidden_act": "gelu", "tie_word_embeddings": True},
    "gemma-2-9b": {**OF_LLAMA, "hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": True},
    "gemma-3-1b": {**OF_LLAMA, "hidden_act": "gelu_pytorch_tanh", "tie_word_embeddings": True},
    "phi-3-mini": {**OF_LLAMA, "attention_bias": False, "resid_pdrop": 0.0, "embd_pdrop": 0.0},
    "gpt-oss-20b": {**OF_LLAMA, "attention_bias": True, "swiglu_limit": 7.0},
    "deepseek-v2-lite": {**OF_LLAMA, "attention_bias": False, "topk_method": "greedy"},
    "deepseek-v2": {**OF_LLAMA, "attention_bias": False, "topk_method": "group_limited_greedy"},
    "deepseek-v3": {**OF_LLAMA, "attention_bias": False, "topk_method": "noaux_tc"},
    "gpt-2": {
        **OF_GPT,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-05,
        "n_ctx": 1024,
        "resid_pdrop": 0.1,
        "attn_pdrop": 0.1,
        "embd_pdrop": 0.1,
    },
    "gpt-j-6b": {
        **OF_GPT,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-05,
        "n_positions": 2048,
        "rotary_dim": 64,
        "tie_word_embeddings": False,
    },
    "gpt-neox-20b": {
        **OF_GPT,
        "hidden_act": "gelu_fast",
        "layer_norm_eps": 1e-05,
        "rotary_pct": 0.25,
        "max_position_embeddings": 2048,
        "use_parallel_residual": True,
        "tie_word_embeddings": False,
    },
    "opt-6.7b": {
        **OF_GPT,
        "activation_function": "relu",
        "do_layer_norm_before": True,
        "dropout": 0.1,
        "attention_dropout": 0.0,
    },
    "bloom-560m": {**OF_GPT, "layer_norm_epsilon": 1e-05, "hidden_dropout": 0.0},
    "falcon-7b": {**OF_GPT, "layer_norm_epsilon": 1e-05, "parallel_attn": True, "alibi": False},
    "mpt-7b": {**OF_GPT, "resid_pdrop": 0, "emb_pdrop": 0, "learned_pos_emb": True},
    "nemotron-4-15b": {**OF_GPT, "hidden_act": "relu2", "norm_eps": 1e-05, **ROTATED},
}
"""By name in `configs.py`."""

WHOLE = {
    name: {**beside, **{**EXACT, **ROUNDED}[name][0]}
    for name, beside in BESIDE.items()
    if name in EXACT or name in ROUNDED
}
