"""TFRecord files: valid, damaged and arbitrary bytes."""

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.richhf_records import encode_example, write_records

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.richhf.tfrecord import parse_example, read_records

CONTENTS = [b"one", b"", b"three" * 1000, b"\x00\xff"]


@pytest.fixture
def path(tmp_path):
    write_records(tmp_path / "some.tfrecord", CONTENTS)
    return tmp_path / "some.tfrecord"


def test_reads_written_records(path):
    locations, contents = zip(*read_records(path), strict=True)
    assert list(contents) == CONTENTS
    assert locations[3] == f"{path}, record 3 at offset 5051"


def test_reads_records_of_the_published_format(tmp_path):
    # The layout is that of io.TFRecordWriter(path).write(b"abc") of TensorFlow 2.
    write_records(tmp_path / "abc", [b"abc"])
    content = (tmp_path / "abc").read_bytes()
    assert content[:8] == struct.pack("<Q", 3) and content[12:15] == b"abc" and len(content) == 19
    # CRC-32C of "123456789" is 0xE3069283 (RFC 3720's polynomial); it is masked.
    write_records(tmp_path / "digits", [b"123456789"])
    crc = 0xE3069283
    masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) % 2**32
    assert (tmp_path / "digits").read_bytes()[-4:] == struct.pack("<I", masked)


@pytest.mark.parametrize("offset", [0, 9, 20, 36, 47, 60, 5050, 5052, 5063, 5066])
def test_rejects_a_flipped_bit(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 16
    path.write_bytes(data)
    record = sum(offset >= start for start in (19, 35, 5051))
    start = (0, 19, 35, 5051)[record]
    with pytest.raises(BenchmarkError, match=rf"record {record} at offset {start}: .*restore"):
        list(read_records(path))


@pytest.mark.parametrize(("size", "record"), [(5, 0), (18, 0), (25, 1), (5000, 2), (5068, 3)])
def test_rejects_truncated_files(path, size, record):
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(
        BenchmarkError, match=rf"record {record} at offset .*truncated at {size} bytes"
    ):
        list(read_records(path))


FLOATS = st.floats(width=32, allow_nan=False)
VALUES = st.one_of(
    st.lists(st.binary(max_size=300)),
    st.lists(FLOATS, min_size=1),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
)


@given(st.dictionaries(st.text(max_size=10), VALUES, max_size=6))
def test_parses_serialized_examples(features):
    encoded = encode_example(features)
    assert parse_example(encoded) == features and encode_example(parse_example(encoded)) == encoded


@given(st.binary(max_size=200))
def test_arbitrary_bytes_raise_value_errors_only(data):
    with contextlib.suppress(ValueError):
        parse_example(data)
