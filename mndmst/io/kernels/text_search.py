"""Binary search in concatenated ascending texts."""

from ...native.kernel import kernel


@kernel
def find_texts(text, begins, wanted, wanted_begins, positions):
    """Find the positions of ascending texts among ascending texts, by bisection.

    Texts are concatenated UTF-8 (uint8) and where each begins (int64 [texts + 1]).
    `positions` (int64) is filled with positions; -1 for a text that is missing.
    """
    count = len(begins) - 1
    passed = 0
    for k in range(len(wanted_begins) - 1):
        low, high = passed, count
        begin, end = wanted_begins[k], wanted_begins[k + 1]
        while low < high:
            middle = (low + high) // 2
            first, last = begins[middle], begins[middle + 1]
            if compare(text, first, last, wanted, begin, end) < 0:
                low = middle + 1
            else:
                high = middle
        positions[k] = -1
        if low < count:
            first, last = begins[low], begins[low + 1]
            if compare(text, first, last, wanted, begin, end) == 0:
                positions[k] = low
        passed = low


@kernel
def compare(one, begin, end, other, other_begin, other_end):
    """Return -1, 0 or 1 if bytes [begin, end) are below, equal to or above others."""
    length, other_length = end - begin, other_end - other_begin
    for k in range(min(length, other_length)):
        a, b = one[begin + k], other[other_begin + k]
        if a != b:
            return -1 if a < b else 1
    if length == other_length:
        return 0
    return -1 if length < other_length else 1
