"""Shared by the steps of a run: options, state, record and checkpoints."""
