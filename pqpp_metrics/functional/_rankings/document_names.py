"""Names of documents of many lines: told apart by hashes of 64 bits, and surely where these agree.

Most names of a run stand on one line, so that numbering the distinct ones costs more than reading.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_metrics.functional._containers import Integers

Keys = NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2 ** 64 over the golden ratio
_SPREAD, _HALF = np.uint64(0xD6E8FEB86659FD93), np.uint64(32)
_AT_ONCE = 1 << 15  # lines whose names fit into the cache
_MASKS = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype=np.uint64)


def hashes_of(names: Any) -> Keys:
    """A hash of each name of a pyarrow array of bytes; equal names have equal ones."""
    parts = [_hashes(names.slice(at, _AT_ONCE)) for at in range(0, len(names), _AT_ONCE)]
    return np.concatenate(parts)


def _hashes(names):
    start, length, words = _in_words(names)
    key = length.astype(np.uint64)
    for at in range(0, int(length.max(initial=0)), 8):
        rows: Any = slice(None)
        if not (goes_on := length > at).all():
            rows = np.flatnonzero(goes_on)
        own = (key[rows] ^ _word(start[rows], length[rows], words, at)) * _ODD
        key[rows] = own ^ (own >> _HALF)
    return key


def _in_words(names):
    """Where each name starts, its length, and the eight bytes from each place on."""
    ends = np.frombuffer(names.buffers()[1], np.int32)[names.offset :][: len(names) + 1]
    size = ends[-1] - ends[0]
    text = np.zeros(size + 8, np.uint8)
    if size:
        text[:size] = np.frombuffer(names.buffers()[2], np.uint8, size, ends[0])
    return ends[:-1] - ends[0], np.diff(ends), np.ndarray(size + 1, "<u8", text, strides=(1,))


def _word(start, length, words, at):
    """Eight bytes of names that are longer than `at`, from there on, 0 behind their ends."""
    return words[start + at] & _MASKS[np.minimum(length - at, 8)]


def are_same(names: Any, lines: Integers, others: Any, their_lines: Integers) -> bool:
    """Whether the names on some lines are those on as many others."""
    start, length, words = _in_words(names)
    their_start, their_length, their_words = _in_words(others)
    start, length, their_start = start[lines], length[lines], their_start[their_lines]
    if (length != their_length[their_lines]).any():
        return False
    for at in range(0, int(length.max(initial=0)), 8):
        if not (goes_on := length > at).all():
            start, length, their_start = start[goes_on], length[goes_on], their_start[goes_on]
        own = _word(start, length, words, at)
        if (own != _word(their_start, length, their_words, at)).any():
            return False
    return True


def line_keys(queries: Integers, hashes: Keys) -> Keys:
    """One key for each query and document, from numbers of queries and hashes of names."""
    return hashes ^ (queries.astype(np.uint64) * _SPREAD)


def places_of(keys: Keys, among: Keys) -> Integers | None:
    """Where each key stands among others, -1 for nowhere; no key is there twice on a side.

    Both are sorted at once, with their places in the lowest bits. None where three keys agree but
    for these, so that no neighbours tell who belongs together.
    """
    both = np.concatenate([among, keys])
    bits = np.uint64(len(both).bit_length())
    packed = both >> bits << bits | np.arange(len(both), dtype=np.uint64)
    packed.sort()
    are_alike = (packed[1:] ^ packed[:-1]) >> bits == 0
    if (are_alike[1:] & are_alike[:-1]).any():
        return None
    pairs, low = np.flatnonzero(are_alike), (np.uint64(1) << bits) - np.uint64(1)
    first, second = ((packed[places] & low).astype(np.intp) for places in (pairs, pairs + 1))
    kept = (both[first] == both[second]) & (first < len(among)) & (second >= len(among))
    places = np.full(len(keys), -1)
    places[second[kept] - len(among)] = first[kept]
    return places
