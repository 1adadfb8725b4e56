#!/bin/bash
# Facts of Megatron-LM 0.14 and newer as models of DeepSeek-V3's kind are run by it, shortened.
torchrun --nproc-per-node 8 --nnodes 32 --node-rank ${NODE_RANK} --master-addr ${MASTER_ADDR} pretrain_gpt.py \
    --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --kv-channels 128 \
    --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 \
    --num-experts 256 --moe-layer-freq "([0]*3+[1]*58)" --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048 \
    --moe-router-topk 8 --moe-router-num-groups 8 --moe-router-group-topk 4 --moe-router-score-function sigmoid \
    --moe-router-enable-expert-bias --moe-router-bias-update-rate 1e-3 --moe-router-topk-scaling-factor 2.5 --moe-router-dtype fp32 \
    --moe-grouped-gemm --moe-token-dispatcher-type flex --moe-enable-deepep --moe-permute-fusion --moe-aux-loss-coeff 1e-4 \
    --seq-length 4096 --max-position-embeddings 4096 --position-embedding-type rope --normalization RMSNorm --swiglu \
    --disable-bias-linear --untie-embeddings-and-output-weights --attention-dropout 0.0 --hidden-dropout 0.0 --vocab-size 129280 \
    --micro-batch-size 1 --global-batch-size 8192 --bf16 --fp8-format e4m3 --fp8-recipe blockwise \
    --tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 8 --expert-model-parallel-size 32 --expert-tensor-parallel-size 1 \
    --pipeline-model-parallel-layout "Et*3|(tt|)*29m|L" --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
    --recompute-granularity selective --recompute-modules mla_up_proj moe_act layernorm --attention-backend fused --cross-entropy-loss-fusion \
    --lr 3.9e-6 --min-lr 3.9e-7 --train-samples 585937500 --tokenizer-type HuggingFaceTokenizer --tokenizer-model deepseek-ai/DeepSeek-V3 --mock-data
