"""Direct launches: a host function of the candidate's that launches kernels itself, read, called and carried out."""
