"""What the steps of a run share: options, state, record and checkpoints."""
