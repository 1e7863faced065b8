"""The subcommands: one file each, with what it is asked and what it calls.

`add(commands)` of each adds its parser. What a command needs is imported when it
runs, so that `--help` is quick and commands that work on one process never start MPI.
"""
