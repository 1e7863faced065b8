"""A forest that follows changes of its graph, exactly."""
