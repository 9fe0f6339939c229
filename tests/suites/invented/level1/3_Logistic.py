import torch
from torch import nn


class Model(nn.Module):
    """The logistic curve."""

    def forward(self, x):
        return 1 / (1 + torch.exp(-x))


rows = 64
cols = 2048


def get_inputs():
    return [torch.rand(rows, cols) * 4 - 2]


def get_init_inputs():
    return []
