#!/bin/bash
# Facts of NVIDIA/Megatron-LM 2.5, examples/sc21: SBATCH.sh, SRUN.sh, CONFIG.sh and run_table_1.sh (39.1 B) in one.
#SBATCH --nodes=64
#SBATCH --exclusive
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
TP=8
PP=2
MBS=4
GBS=1536
NLS=48
HS=8192
NAH=64
DDP=local
NNODES=64
options=" \
	--tensor-model-parallel-size ${TP} \
	--pipeline-model-parallel-size ${PP} \
	--num-layers ${NLS} \
	--hidden-size ${HS} \
	--num-attention-heads ${NAH} \
	--DDP-impl ${DDP} \
	--data-path PATH \
	--vocab-file gpt2-vocab.json \
	--merge-file gpt2-merges.txt \
	--save-interval 1000 \
	--activations-checkpoint-method uniform \
	--seq-length 2048 \
	--max-position-embeddings 2048 \
	--micro-batch-size ${MBS} \
	--global-batch-size ${GBS} \
	--train-iters 500000 \
	--lr 0.00015 --fp16 --loss-scale 0 \
	--log-interval 1 --eval-iters -1 \
	--checkpoint-num-layers 1 "
srun -l sh -c "python -u pretrain_gpt.py ${options}"
