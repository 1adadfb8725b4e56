# Facts of AI-Hypercomputer/maxtext, configs of Llama 3.1 405B on GPUs, shortened.
export XLA_FLAGS="--xla_gpu_enable_latency_hiding_scheduler=true"
python3 -m MaxText.train MaxText/configs/base.yml run_name=runner_405b hardware=gpu model_name=llama3.1-405b \
  steps=10 dtype=bfloat16 max_target_length=8192 per_device_batch_size=1 attention=cudnn_flash_te remat_policy=full \
  use_iota_embed=true scan_layers=true dataset_type=synthetic logits_dot_in_fp32=false enable_checkpointing=false \
  dcn_fsdp_parallelism=64 ici_fsdp_parallelism=8 base_output_directory=gs://runner tokenizer_path=assets/tokenizer
