import torch
from torch import nn


class Model(nn.Module):
    """A number through its own gate."""

    def forward(self, x):
        return x * torch.sigmoid(x)


rows = 64
cols = 2048


def get_inputs():
    return [torch.rand(rows, cols) * 4 - 2]


def get_init_inputs():
    return []
