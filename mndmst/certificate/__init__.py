"""The certificate: whether a forest file is the minimum spanning forest of a graph.

It needs only the two files, and trusts no result of the solver.
"""

from .certificate import Verdict, verify

__all__ = ["Verdict", "verify"]
