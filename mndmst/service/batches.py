"""Tables as record batches, at least one of them."""

from typing import Any

from ..host.errors import optional

arrow = optional("pyarrow", "serve", "The service needs")


def batches_of(table: Any, rows: int) -> list[Any]:
    """Return the batches of a table, each of at most so many rows.

    A table without rows is an empty batch, for a stream must have one to be a stream.
    """
    empty = [arrow.array([], field.type) for field in table.schema]
    batches: list[Any] = table.combine_chunks().to_batches(rows)
    return batches or [arrow.record_batch(empty, schema=table.schema)]
