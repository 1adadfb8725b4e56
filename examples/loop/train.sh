#!/bin/bash
# Two processes, one on each core; options behind it are handed on.
accelerate launch --config_file accelerate.yaml train.py \
    --model_name_or_path small --max_length 128 --attn_implementation eager --optim adamw_torch \
    --per_device_train_batch_size 1 --gradient_accumulation_steps 8 --gradient_checkpointing true "$@"
