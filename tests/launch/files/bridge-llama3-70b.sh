# Facts of NVIDIA-NeMo/Megatron-Bridge, scripts/training/run_recipe.py with overrides, shortened.
torchrun --nnodes=8 --nproc_per_node=8 scripts/training/run_recipe.py \
    --recipe llama3_70b_pretrain_config \
    model.num_layers=80 model.hidden_size=8192 model.ffn_hidden_size=28672 model.num_attention_heads=64 model.num_query_groups=8 model.vocab_size=128256 \
    model.gated_linear_unit=true model.add_bias_linear=false model.share_embeddings_and_output_weights=false model.normalization=RMSNorm model.position_embedding_type=rope model.hidden_dropout=0.0 \
    model.tensor_model_parallel_size=4 model.pipeline_model_parallel_size=4 model.virtual_pipeline_model_parallel_size=5 model.context_parallel_size=2 model.sequence_parallel=true \
    train.micro_batch_size=1 train.global_batch_size=128 dataset.sequence_length=8192 train.train_iters=50 mixed_precision=bf16_mixed \
    ddp.grad_reduce_in_fp32=false ddp.overlap_param_gather=true comm_overlap.tp_comm_overlap=true logger.log_interval=1 checkpoint.save=null
