"""What is learned: the model as a graph of operators, the batch, the training."""
