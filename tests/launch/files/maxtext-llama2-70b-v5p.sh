# Facts of AI-Hypercomputer/maxtext, configs/tpu/v5p/llama2_70b.sh, shortened.
EXECUTABLE="train.py"
export LIBTPU_INIT_ARGS="--xla_tpu_enable_async_collective_fusion_fuse_all_gather=true"
python3 -m MaxText.train MaxText/configs/base.yml model_name=llama2-70b \
    base_output_directory=$OUTPUT_PATH dataset_path=${DATASET_PATH} \
    tokenizer_path=assets/tokenizer.llama2 remat_policy=save_dot_except_mlpwi per_device_batch_size=4 \
    ici_fsdp_parallelism=-1 ici_tensor_parallelism=1 steps=30 enable_checkpointing=false use_iota_embed=true max_target_length=2048
