"""The forest of a sharded graph: the steps on a rank, options, state, and merging."""
