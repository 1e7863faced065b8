"""Partitions that end as by a kill, and stages that a restart must not repeat."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import ModuleType
from unittest.mock import patch

import pytest

from mndmst.io.partitioner import partition, write_parts
from mndmst.io.shards.shard_writer import ShardWriter

MODULES = partition, write_parts


@contextmanager
def killed_in(
    stage: str, call: int = 1, modules: tuple[ModuleType, ...] = MODULES
) -> Iterator[list[tuple]]:
    """Expect a KeyboardInterrupt at one of the calls of a stage.

    Nothing is tidied up, as after a kill. Yields the arguments of the calls so far.
    """
    calls: list[tuple] = []
    with ExitStack() as stack:
        for module in modules:
            if hasattr(module, stage):
                true = getattr(module, stage)

                def run(
                    *given: object, true: Callable = true, **named: object
                ) -> object:
                    calls.append(given)
                    if len(calls) == call:
                        raise KeyboardInterrupt
                    return true(*given, **named)

                stack.enter_context(patch.object(module, stage, run))
        stack.enter_context(patch.object(ShardWriter, "__exit__", lambda *_: None))
        with pytest.raises(KeyboardInterrupt):
            yield calls


def without(stage: str) -> AbstractContextManager[None]:
    """Let a partition fail if it calls a stage."""
    return patch.object(partition, stage, None)
