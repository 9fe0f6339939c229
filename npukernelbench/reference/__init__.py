"""What operators mean: their semantics in double precision, one module per category.

A reference is a plain function. It is called with one keyword per input and per attribute. Inputs hold the values the
kernel got (rounded to the task's element type): real floats as float64, complex as complex128, integers and booleans
in their own type, tensor lists as lists, absent optional inputs as None. It returns one array, a tuple of arrays in
output order, or a list for a tensor list.
"""

from npukernelbench.reference.evaluate import expected_outputs, resolve

__all__ = ["expected_outputs", "resolve"]
