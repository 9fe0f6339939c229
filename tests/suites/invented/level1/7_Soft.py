import torch
from torch import nn


class Model(nn.Module):
    """A curve with soft ends."""

    def forward(self, x):
        return x / (x.abs() + 1)


size = 1 << 17


def get_inputs():
    return [2 - 4 * torch.rand(size)]


def get_init_inputs():
    return []
