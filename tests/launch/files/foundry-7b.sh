# Facts of mosaicml/llm-foundry, scripts/train/README.md, shortened; its configuration lies beside it.
composer --nproc 8 --world_size 64 --node_rank 0 --master_addr 192.168.0.1 --master_port 7501 train/train.py \
  foundry-mpt-7b.yaml \
  data_local=my-copy-c4 \
  train_loader.dataset.split=train_small \
  eval_loader.dataset.split=val_small \
  max_duration=10ba \
  eval_interval=0 \
  save_folder=mpt-7b
