"""How much of a folder of kernels the twin compiles, as it lies, and which missing names hold back the rest."""
