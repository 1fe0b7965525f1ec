"""Text files of columns between blanks, split by array operations, with errors that name a line."""

from pathlib import Path

import numpy as np

from pqpp_metrics.errors import MetricInputError

_NEWLINE, _BLANK, _UNDERSCORE, _ZERO = 10, 32, 95, 48
_BEHIND = 64


class Columns:
    """A file whose every line has the same number of fields between blanks."""

    def __init__(self, path, names):
        """Read a file and find its fields.

        Args:
            path: The file.
            names: What the fields of a line are called, between blanks, for error messages.

        Raises:
            MetricInputError: an empty file, or the first line with another number of fields.
        """
        self.path, self.names = Path(path), names
        # Zeros behind the text end the last field, and let a window of it reach beyond the text.
        self._bytes = np.zeros(self.path.stat().st_size + _BEHIND, dtype=np.uint8)
        with self.path.open("rb") as file:
            file.readinto(memoryview(self._bytes)[:-_BEHIND])
        # Fields begin and end where blank meets not blank.
        inside = self._bytes > _BLANK
        edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
        if inside[0]:
            edges = np.concatenate([[0], edges])
        if not len(edges):
            raise MetricInputError(f"{path} is empty; a line is '{names}'")
        starts, ends = edges[::2], edges[1::2]
        newlines = np.flatnonzero(self._bytes[: ends[-1]] == _NEWLINE)
        width = len(names.split())
        if not _is_even(starts, ends, newlines, width):
            self._raise_for_width(width)
        self._starts, self._ends = starts.reshape(-1, width), ends.reshape(-1, width)

    def __len__(self):
        return len(self._starts)

    def _raise_for_width(self, width):
        text = bytes(self._bytes).rstrip(bytes(range(_BLANK + 1)))
        for number, line in enumerate(text.split(b"\n"), start=1):
            came = len(line.translate(_BLANKS).split())
            if came != width:
                raise self.error(number, f"{came} columns; a line is '{self.names}'")

    def error(self, line, message):
        """Return the error for a line, counted from 1."""
        return MetricInputError(f"{self.path}, line {line}: {message}")

    def letters(self, column):
        """The bytes of a field on every line, (lines, longest), filled up with zeros."""
        starts = self._starts[:, column]
        lengths = self._ends[:, column] - starts
        longest = int(lengths.max())
        padded = self._bytes
        if longest > _BEHIND:
            padded = np.concatenate([padded, np.zeros(longest, np.uint8)])
        windows = np.lib.stride_tricks.sliding_window_view(padded, longest)
        letters = windows[starts]
        letters[np.arange(longest) >= lengths[:, None]] = 0
        return letters

    def text(self, column):
        """A field of every line as numpy byte strings."""
        letters = self.letters(column)
        return letters.view(f"S{letters.shape[1]}")[:, 0]

    def floats(self, column, name):
        """A field of every line as finite float64.

        Args:
            column: The field's place.
            name: What it is called, for error messages.

        Raises:
            MetricInputError: the first line with anything else.
        """
        letters = self.letters(column)
        text = letters.view(f"S{letters.shape[1]}")[:, 0]
        try:
            values = text.astype(np.float64)
        except ValueError:
            values = np.array([_float_or_nan(field) for field in text.tolist()])
        # Python's own syntax for numbers allows what no file should hold: 1_000.
        wrong = ~np.isfinite(values) | (letters == _UNDERSCORE).any(axis=1)
        if wrong.any():
            line = int(np.argmax(wrong))
            raise self.error(
                line + 1, f"the {name} is {_shown(text[line])}; it must be a finite number"
            )
        return values

    def integers(self, column, name):
        """A field of every line as int64.

        Args:
            column: The field's place.
            name: What it is called, for error messages.

        Raises:
            MetricInputError: the first line with anything else.
        """
        letters = self.letters(column)
        if letters.shape[1] == 1 and ((letters >= _ZERO) & (letters < _ZERO + 10)).all():
            return letters[:, 0].astype(np.int64) - _ZERO
        text = letters.view(f"S{letters.shape[1]}")[:, 0].tolist()
        values = np.zeros(len(text), dtype=np.int64)
        for line, field in enumerate(text):
            try:
                values[line] = int(field) if b"_" not in field else int("_")
            except (ValueError, OverflowError):
                raise self.error(
                    line + 1, f"the {name} is {_shown(field)}; it must be a whole number"
                ) from None
        return values


# What counts as a blank: every byte up to the space, as in the arrays.
_BLANKS = bytes(_BLANK if byte <= _BLANK else byte for byte in range(256))


def _is_even(starts, ends, newlines, width):
    """Whether every line has as many fields."""
    lines = len(newlines) + 1
    if len(starts) != width * lines:
        return False
    first, last = starts[::width], ends[width - 1 :: width]
    return bool((first[1:] > newlines).all() and (last[:-1] <= newlines).all())


def _float_or_nan(field):
    try:
        return float(field)
    except ValueError:
        return float("nan")


def _shown(field):
    return repr(bytes(field).decode("utf-8", "replace"))


def hashes(text, salt):
    """A 64-bit hash of each byte string, and of nothing else: equal text gives equal hashes.

    Args:
        text: numpy byte strings.
        salt: A whole number that changes the hashes.

    Returns:
        uint64 array, same length.
    """
    width = -(-text.dtype.itemsize // 8)
    words = text.astype(f"S{8 * width}").view(np.uint64).reshape(len(text), width)
    mixed = np.full(len(text), salt, dtype=np.uint64)
    for word in words.T:
        # A word of zeros changes nothing, so a wider column of the same text hashes alike.
        mixed = np.where(word == 0, mixed, scrambled(mixed ^ word))
    return mixed


def scrambled(values):
    """Spread the bits of uint64 values over all places (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
