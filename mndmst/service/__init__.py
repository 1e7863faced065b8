"""A service that keeps graphs on the ranks and answers requests for their forests.

Start at `serve.py`: what every rank does. `protocol.py` has the requests.
"""
