"""The corpus: operators that are made up, kernels for them in many styles, and the judge's word on every one."""
