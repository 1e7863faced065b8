"""The subcommands; `main.COMMANDS` names the module of each.

`add_COMMAND(commands)` adds a parser. A command imports its dependencies when it runs,
so that `--help` is quick and commands that work on one process never start MPI.
"""
