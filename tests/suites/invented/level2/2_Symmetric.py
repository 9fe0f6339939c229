import torch
from torch import nn


class Model(nn.Module):
    """A product with a symmetric matrix."""

    def forward(self, x):
        return x @ x


n = 128


def get_inputs():
    half = torch.rand(n, n)
    return [half + half.T]


def get_init_inputs():
    return []
