"""The driver of the emulated device."""


class CUDADriverError(RuntimeError):
    """An error of the driver."""


def occupancyMaxActiveBlocksPerMultiprocessor(  # noqa: N802
    function: int, threads: int, shared: int
) -> int:
    """Return one block: the blocks of a grid run one after the other."""
    return 1
