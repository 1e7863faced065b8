"""Words of requests that belong to minimum forests, or to maximum forests."""

from collections.abc import Iterable, Mapping

from ..host.errors import ConfigError

# The word for minimum forests, and that for maximum forests
PATH = ("path_max", "path_min")
THRESHOLD = ("below", "above")
BOUND = ("threshold", "min_weight")


def check_words(words: Iterable[str], maximum: bool) -> None:
    """Refuse a word that belongs to forests of the other direction.

    `maximum` says whether the request is about a maximum forest. Raises ConfigError,
    which names the word to give.
    """
    kinds = ("minimum", "maximum")
    for word in words:
        for pair in (PATH, THRESHOLD, BOUND):
            if word == pair[not maximum]:
                raise ConfigError(
                    f"{word} belongs to {kinds[not maximum]} spanning forests, and "
                    f"this one is a {kinds[maximum]} spanning forest; give "
                    f"{pair[maximum]}"
                )


def given_of(pair: tuple[str, str], request: Mapping[str, object]) -> float | None:
    """Return the value of the one word of a pair that a request has; None without."""
    given = next((request[word] for word in pair if word in request), None)
    assert given is None or isinstance(given, int | float)
    return given
