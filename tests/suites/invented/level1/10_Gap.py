import torch
from torch import nn


class Model(nn.Module):
    """One number: the mean squared gap."""

    def forward(self, predictions, targets):
        return ((predictions - targets) ** 2).mean()


rows = 64
cols = 2048


def get_inputs():
    return [torch.rand(rows, cols), torch.rand(rows, cols)]


def get_init_inputs():
    return []
