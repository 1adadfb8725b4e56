# Facts of huggingface/trl, trl/scripts/sft.py (full training), shortened.
accelerate launch --config_file=accelerate-zero2.yaml --num_processes 8 trl/scripts/sft.py \
    --model_name_or_path Qwen/Qwen2-0.5B \
    --dataset_name trl-lib/Capybara \
    --learning_rate 2.0e-5 \
    --num_train_epochs 1 \
    --packing \
    --per_device_train_batch_size 2 \
    --gradient_accumulation_steps 8 \
    --gradient_checkpointing \
    --bf16 \
    --max_length 1024 \
    --attn_implementation flash_attention_2 \
    --eval_strategy steps \
    --eval_steps 100 \
    --output_dir Qwen2-0.5B-SFT
