"""The errors that a user can mend."""


class MndmstError(Exception):
    """Something the user can mend; the message names the place and the mend.

    Raised on every rank alike (see `comm.Comm.raise_on_all`), printed by one.

    Attributes
    ----------
    ranks : int
        How many ranks raise it together; `__main__` ends the others.
    status : int
        The exit status of the program.
    """

    ranks: int = 1
    status: int = 1


class InputError(MndmstError):
    """A graph or forest file that is damaged, incomplete or inconsistent."""


class OutputError(MndmstError):
    """A result that cannot be written where it was asked for."""


class ConfigError(MndmstError):
    """Options that contradict each other or the machine."""


class MissingExtraError(MndmstError):
    """An optional package that a command needs; the message says how to install it."""


class StoppedError(MndmstError):
    """A run that has stopped after a signal, has saved its state and can resume."""

    status = 75  # EX_TEMPFAIL of sysexits.h: try again later
