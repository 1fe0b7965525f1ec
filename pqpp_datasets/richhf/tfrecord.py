"""TFRecord files of `tf.train.Example`, read without TensorFlow.

Format: tensorflow.org/tutorials/load_data/tfrecord. A record is its length (8 bytes, little
endian), the masked CRC-32C of the length (4), the data, and the masked CRC-32C of the data (4).
Other packages than TensorFlow, such as `tfrecord` 1.14, ignore the checksums and do not notice
damage. `google-crc32c` computes the checksums.
"""

import functools
import mmap
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.tables import file_error, require_file
from pqpp_files.extras import require_extra

_HEADER = struct.Struct("<QI")
_CHECKSUM = struct.Struct("<I")
_MASK_DELTA = 0xA282EAD8


def read_records(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the location, for errors, and the content of each record; verify checksums.

    Raises:
        BenchmarkError: The file is missing, empty, truncated or damaged.
    """
    require_file(path)
    if not path.stat().st_size:
        raise BenchmarkError(f"{path} is empty; download it again")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        if view[:8] == b"version ":
            raise BenchmarkError(f"{path} is a Git LFS pointer; run `git lfs pull`")
        number = offset = 0
        while offset < len(view):
            location = f"{path}, record {number} at offset {offset}"
            if offset + _HEADER.size > len(view):
                raise file_error(location, f"the file is truncated at {len(view)} bytes")
            length, checksum = _HEADER.unpack_from(view, offset)
            if _compute_masked_crc(view[offset : offset + 8]) != checksum:
                raise file_error(location, "the length does not match its checksum")
            end = offset + _HEADER.size + length + _CHECKSUM.size
            if end > len(view):
                raise file_error(location, f"the file is truncated at {len(view)} bytes")
            data = view[offset + _HEADER.size : end - _CHECKSUM.size]
            if _compute_masked_crc(data) != _CHECKSUM.unpack_from(view, end - _CHECKSUM.size)[0]:
                raise file_error(location, "the data do not match their checksum")
            yield location, data
            number, offset = number + 1, end


def _compute_masked_crc(data: bytes) -> int:
    crc = _import_libraries()[0](data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def parse_example(data: bytes) -> dict[str, list]:
    r"""Return the features of a `tf.train.Example`: bytes, floats (single precision) or integers.

    Raises:
        ValueError: The data are not such a message.

    Example:
        >>> value = b"\n\x03\n\x01a"  # a list of bytes with one value, "a"
        >>> parse_example(b"\n\r\n\x0b\n\x02id\x12\x05" + value)
        {'id': [b'a']}
    """
    _, example, error = _import_libraries()
    try:
        entries = example.FromString(data).features.entry
    except error as damage:
        raise ValueError(str(damage)) from None
    values = {entry.key.decode("utf-8"): entry.value for entry in entries}
    return {
        name: [*value.bytes.value, *value.floats.value, *value.integers.value]
        for name, value in values.items()
    }


@functools.cache
def _import_libraries() -> tuple[Callable[[bytes], int], Any, type[Exception]]:
    """Return the CRC function, the class `tf.train.Example`, and its parsing error."""
    with require_extra("reading RichHF-18K", "richhf"):
        import google_crc32c
        from google.protobuf import descriptor_pb2, message, message_factory, text_format
    messages = Path(__file__).with_name("example.txt").read_text("utf-8")
    descriptor = text_format.Parse(messages, descriptor_pb2.FileDescriptorProto())
    example = message_factory.GetMessages([descriptor])["pqpp.Example"]
    return google_crc32c.value, example, message.DecodeError
