"""Shards of edge files, random graphs and recipes; `partition` is the sequence."""
