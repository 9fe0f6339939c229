import torch
from torch import nn


class Model(nn.Module):
    """A product with weights, a norm over the batch, dropout."""

    def __init__(self, features, out):
        super().__init__()
        self.linear = nn.Linear(features, out)
        self.norm = nn.BatchNorm1d(out)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.norm(self.linear(x)))


batch_size = 1 << 21
features = 512
out = 256


def get_inputs():
    return [torch.randn(batch_size, features)]


def get_init_inputs():
    return [features, out]
