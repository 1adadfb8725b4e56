#!/bin/bash
# Facts of deepspeedai/Megatron-DeepSpeed, examples_deepspeed/rebase/ds_pretrain_gpt_1.3B_megatron.sh's kind, shortened.
num_gpus=16
num_gpus_pernode=8
num_node=$(( num_gpus / num_gpus_pernode ))
deepspeed --num_nodes ${num_node} --num_gpus ${num_gpus_pernode} pretrain_gpt.py \
    --no-pipeline-parallel --tensor-model-parallel-size 1 --zero-stage 3 \
    --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 \
    --micro-batch-size 4 --global-batch-size 512 --train-iters 1000 --lr 2.0e-4 --min-lr 1.0e-06 --lr-decay-style cosine \
    --fp16 --checkpoint-activations --deepspeed-activation-checkpointing --deepspeed --deepspeed_config ds_config_gpt_zero3.json \
    --tokenizer-type GPT2BPETokenizer --data-impl mmap --split 949,50,1 --log-interval 10 --hysteresis 2 --num-workers 0
