"""A checkout's own rules, read from its texts: limits, generators, cases, prompt. Nothing of the checkout is executed.

:mod:`.evaluate` works out what a function of a file returns, as far as it is made of a small part of Python;
:mod:`.drawn` stands in for the tensors that generators make; :mod:`.table` reads lists of cases.
"""
