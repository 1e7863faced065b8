"""How parts merge: the choice of a strategy, and the strategies."""
