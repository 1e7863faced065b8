"""Sharded graphs on disk: layout, reading, writing."""
