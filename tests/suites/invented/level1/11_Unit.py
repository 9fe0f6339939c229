import torch
from torch import nn


class Model(nn.Module):
    """The whole tensor at length one."""

    def forward(self, x):
        return x / torch.linalg.vector_norm(x)


rows = 64
cols = 2048


def get_inputs():
    return [torch.randint(-4, 5, (rows, cols)).float()]


def get_init_inputs():
    return []
