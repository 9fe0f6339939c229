import torch
from torch import nn


class Model(nn.Module):
    """Running sums."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.cumsum(x, dim=self.dim)


rows = 64
cols = 2048


def get_inputs():
    return [torch.rand(rows, cols) * 4 - 2]


def get_init_inputs():
    return [1]
