"""Records what training costs on this machine, with PyTorch and nothing else."""
