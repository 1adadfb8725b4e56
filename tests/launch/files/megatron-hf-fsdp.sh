# Facts of NVIDIA/Megatron-LM's documentation of its own FSDP at 0.14, shortened.
torchrun --nnodes 4 --nproc_per_node 8 pretrain_gpt.py \
    --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params --no-gradient-accumulation-fusion --use-distributed-optimizer \
    --calculate-per-token-loss --init-model-with-meta-device --ckpt-format fsdp_dtensor --grad-reduce-in-bf16 --fsdp-double-buffer \
    --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 --group-query-attention --num-query-groups 8 \
    --seq-length 8192 --max-position-embeddings 8192 --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear \
    --untie-embeddings-and-output-weights --vocab-size 128256 --hidden-dropout 0 --attention-dropout 0 --micro-batch-size 1 --global-batch-size 128 --bf16 \
    --cpu-offloading-num-layers 20 --mock-data --tokenizer-type NullTokenizer --train-iters 20 --lr 1e-5
