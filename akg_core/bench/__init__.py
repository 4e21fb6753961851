"""Many tasks through the whole pipeline on one machine, in one go, compared with eager PyTorch and torch.compile."""
