"""The subcommands: one file each, with its options and what it calls.

`add(commands)` of each adds its parser. What a command needs is imported when it
runs, so that `--help` is quick and commands that work on one process never start MPI.
"""
