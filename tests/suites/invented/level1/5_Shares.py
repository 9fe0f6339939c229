import torch
from torch import nn


class Model(nn.Module):
    """Every row sums to one."""

    def forward(self, x):
        return torch.softmax(x, dim=1)


rows = 64
cols = 2048


def get_inputs():
    return [torch.rand(rows, cols) * 4 - 2]


def get_init_inputs():
    return []
