"""The certificate: whether a forest file is the minimum spanning forest of a graph.

Needs the two files only and trusts nothing the solver has computed.
"""

from .certificate import Verdict, verify

__all__ = ["Verdict", "verify"]
