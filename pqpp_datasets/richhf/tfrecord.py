"""TFRecord files of `tf.train.Example`, read without TensorFlow.

Format: tensorflow.org/tutorials/load_data/tfrecord. A record is its length (8 bytes, little
endian), the masked CRC-32C of the length (4), the data, and the masked CRC-32C of the data (4). The
packages that read it either are TensorFlow or, like `tfrecord` 1.14, never look at the checksums,
so that a flipped bit becomes a label; the checksums themselves are computed by `google-crc32c`.
"""

import functools
import mmap
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pqpp_datasets.errors import DataFileError
from pqpp_datasets.tables import REMEDY, require_file
from pqpp_files.extras import needing

_HEADER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
_MASK_DELTA = 0xA282EAD8


@dataclass(frozen=True)
class Span:
    """Some records of a file, in a row.

    Attributes:
        first: The number of the first record, counted from 0.
        start: The offset of its first byte.
        stop: The offset behind the last record.
    """

    first: int
    start: int
    stop: int


@dataclass(frozen=True)
class Record:
    """One record.

    Attributes:
        number: Counted from 0.
        offset: Of its first byte in the file.
        data: What it holds, checksum verified.
    """

    number: int
    offset: int
    data: bytes


def spans(path: Path, records: int) -> list[Span]:
    """Cut a file into spans of so many records, the last one maybe of fewer.

    Only the lengths are read and verified.

    Raises:
        MissingFileError: If there is no such file.
        DataFileError: If it is empty, cut, or a length is damaged; names record and offset.
    """
    with _mapped(path) as view:
        offsets = []
        offset = 0
        while offset < len(view):
            offsets.append(offset)
            offset = _end_of(path, view, len(offsets) - 1, offset)
    starts = range(0, len(offsets), records)
    stops = [*offsets[records::records], offset]
    return [Span(n, offsets[n], stop) for n, stop in zip(starts, stops, strict=True)]


def read_records(path: Path, span: Span | None = None) -> Iterator[Record]:
    """Read records in order, both checksums of each verified.

    Raises:
        MissingFileError: If there is no such file.
        DataFileError: If it is empty, cut or damaged; names record and offset.
    """
    with _mapped(path) as view:
        number, offset, stop = (span.first, span.start, span.stop) if span else (0, 0, len(view))
        while offset < stop:
            end = _end_of(path, view, number, offset)
            data = view[offset + _HEADER.size : end - _CHECKSUM.size]
            if _masked_crc(data) != _CHECKSUM.unpack_from(view, end - _CHECKSUM.size)[0]:
                raise _damaged(path, number, offset, "the data do not match their checksum")
            yield Record(number, offset, data)
            number, offset = number + 1, end


def _mapped(path: Path) -> mmap.mmap:
    require_file(path)
    if not path.stat().st_size:
        raise _damaged(path, 0, 0, "the file is empty")
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _end_of(path: Path, view: mmap.mmap, number: int, offset: int) -> int:
    """Verify the length of the record at an offset and return where the record ends."""
    if offset + _HEADER.size > len(view):
        raise _damaged(path, number, offset, f"the file is cut at {len(view)} bytes")
    length, checksum = _HEADER.unpack_from(view, offset)
    if _masked_crc(view[offset : offset + 8]) != checksum:
        if offset == 0 and view[:8] == b"version ":
            raise DataFileError(
                f"{path}: this is a Git LFS pointer and not the file itself; fetch it by "
                "`git lfs pull`"
            )
        raise _damaged(path, number, offset, "the length does not match its checksum")
    end = offset + _HEADER.size + length + _CHECKSUM.size
    if end > len(view):
        raise _damaged(path, number, offset, f"the file is cut at {len(view)} of {end} bytes")
    return end


@functools.cache
def _crc32c() -> Callable[[bytes], int]:
    with needing("RichHF-18K", "richhf"):
        import google_crc32c
    return google_crc32c.value


def _masked_crc(data: bytes) -> int:
    crc = _crc32c()(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def _damaged(path: Path, number: int, offset: int, what: str) -> DataFileError:
    return DataFileError(f"{path}, record {number} at offset {offset}: {what}; {REMEDY}")


# tf.train.Example in the protocol buffers' wire format: a message is a row of fields, each a tag
# (number << 3 | wire type) and a value; wire type 0 is a varint, 1 is 8 bytes, 2 is a length and as
# many bytes, 5 is 4 bytes. Example: features = 1. Features: a map feature = 1 with key = 1,
# value = 2. Feature: bytes_list = 1, float_list = 2, int64_list = 3. Each list: value = 1.
_BYTES, _FLOATS, _INTEGERS = 1, 2, 3


def parse_example(data: bytes) -> dict[str, list]:
    r"""Return the features of a `tf.train.Example`: bytes, floats (single precision) or integers.

    Raises:
        ValueError: If it is no such message.

    Example:
        >>> value = b"\n\x03\n\x01a"  # a list of bytes with one value, "a"
        >>> parse_example(b"\n\r\n\x0b\n\x02id\x12\x05" + value)
        {'id': [b'a']}
    """
    found: dict[str, list] = {}
    for number, features in _fields(data):
        if number != 1:
            continue
        for entry_number, entry in _fields(_is_bytes(features)):
            if entry_number != 1:
                continue
            pair = dict(_fields(_is_bytes(entry)))
            name = _is_bytes(pair.get(1, b"")).decode("utf-8")
            found[name] = _values(_is_bytes(pair.get(2, b"")))
    return found


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Read the fields of a message: number, and an integer or bytes."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        kind = tag & 7
        if kind == 0:
            value, position = _varint(data, position)
            yield tag >> 3, value
            continue
        if kind == 2:
            length, position = _varint(data, position)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind}")
        end = position + length
        if end > len(data):
            raise ValueError("a field is longer than its message")
        yield tag >> 3, data[position:end]
        position = end


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError("an integer has no end")


def _is_bytes(value: bytes | int) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number where a message is needed")
    return value


def _values(feature: bytes) -> list:
    values: list = []
    for kind, items in _fields(feature):
        for number, value in _fields(_is_bytes(items)):
            if number == 1 and kind == _BYTES:
                values.append(_is_bytes(value))
            elif number == 1 and kind == _FLOATS:
                content = _is_bytes(value)
                if len(content) % 4:
                    raise ValueError("a list of floats that is cut")
                values += struct.unpack(f"<{len(content) // 4}f", content)
            elif number == 1 and kind == _INTEGERS:
                values += [value] if isinstance(value, int) else _packed(value)
    if any(isinstance(value, int) for value in values):
        values = [value - 2**64 if value >= 2**63 else value for value in values]
    return values


def _packed(data: bytes) -> list[int]:
    values, position = [], 0
    while position < len(data):
        value, position = _varint(data, position)
        values.append(value)
    return values
