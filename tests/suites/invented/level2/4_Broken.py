import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.no_such_method()


def get_inputs():
    return [torch.rand(32, 64)]
