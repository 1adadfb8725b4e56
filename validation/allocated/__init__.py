"""What PyTorch allocates for whole training programs, without a device, beside our predictions."""
