import torch
from torch import nn


class Model(nn.Module):
    """Every row sums to one."""

    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    scores = torch.empty(48, 1024).uniform_(-2, 2)
    return [scores]


def get_init_inputs():
    return []
