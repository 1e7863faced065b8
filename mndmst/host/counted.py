"""Numbers with their nouns, as people write them."""

_PLURALS = {"vertex": "vertices", "entry": "entries"}


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 tree, 2,000 trees."""
    if number != 1:
        noun = _PLURALS.get(noun, f"{noun}s")
    return f"{number:,} {noun}"
