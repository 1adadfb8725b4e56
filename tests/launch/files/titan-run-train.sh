#!/usr/bin/bash
# Facts of pytorch/torchtitan, run_train.sh at 0.2, shortened.
set -ex
NGPU=${NGPU:-"8"}
export LOG_RANK=${LOG_RANK:-0}
CONFIG_FILE=${CONFIG_FILE:-"titan-debug.toml"}
TRAIN_FILE=${TRAIN_FILE:-"torchtitan.train"}
PYTORCH_ALLOC_CONF="expandable_segments:True" \
TORCHFT_LIGHTHOUSE=${TORCHFT_LIGHTHOUSE} \
torchrun --nproc_per_node=${NGPU} --rdzv_backend c10d --rdzv_endpoint="localhost:0" \
--local-ranks-filter ${LOG_RANK} --role rank --tee 3 \
-m ${TRAIN_FILE} --job.config_file ${CONFIG_FILE} --parallelism.tensor_parallel_degree 2 --training.global_batch_size=64 "$@"
