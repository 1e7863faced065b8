"""What the program needs of the machine and of Python: errors, memory, progress."""
