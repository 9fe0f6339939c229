"""Answers that launch their kernels themselves, on a device."""
