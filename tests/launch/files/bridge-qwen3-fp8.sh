# Facts of NVIDIA-NeMo/Megatron-Bridge, overrides of a Qwen3 30B-A3B recipe in MXFP8, shortened.
torchrun --nnodes=2 --nproc-per-node=8 scripts/training/run_recipe.py --recipe qwen3_30b_a3b_pretrain_config \
    mixed_precision=bf16_with_mxfp8_mixed model.tensor_model_parallel_size=1 model.pipeline_model_parallel_size=1 model.expert_model_parallel_size=8 model.expert_tensor_parallel_size=1 \
    model.moe_token_dispatcher_type=flex model.moe_flex_dispatcher_backend=hybridep model.moe_permute_fusion=true model.moe_router_force_load_balancing=true model.cuda_graph_impl=transformer_engine model.cuda_graph_scope=[attn] \
    model.recompute_granularity=selective model.recompute_modules=[moe_act] train.micro_batch_size=4 train.global_batch_size=512 dataset.sequence_length=4096 optimizer.use_distributed_optimizer=true
