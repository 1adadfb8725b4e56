# Facts of NVIDIA/Megatron-LM's use of PyTorch's FSDP2, shortened.
NPROC=8
torchrun --nnodes=2 --nproc-per-node=$NPROC pretrain_gpt.py --use-torch-fsdp2 --no-gradient-accumulation-fusion \
  --num-layers 40 --hidden-size 5120 --num-attention-heads 40 --seq-length 4096 --max-position-embeddings 4096 --ffn-hidden-size 13824 \
  --swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type rope \
  --tokenizer-type Llama2Tokenizer --tokenizer-model t.model --micro-batch-size 1 --global-batch-size 64 --bf16 \
  --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 --ckpt-format torch_dist --lr 1e-4 --train-iters 100
