"""RichHF's published record format, written: TFRecord files of `tf.train.Example`."""

import io
import struct

import google_crc32c
from PIL import Image

_FEATURES = {
    "plausibility": "artifact_score",
    "alignment": "misalignment_score",
    "aesthetics": "aesthetics_score",
    "overall": "overall_score",
    "implausibility_map": "artifact_map",
    "misalignment_map": "misalignment_map",
}


def write_split(path, rows):
    """Write rows as `load_dataset("pqpp", "richhf")` gives them; PIL images become PNG."""
    write_records(path, map(record_of, rows))


def record_of(row):
    """Return the serialised record of a row; scores are kept in single precision."""
    features = {theirs: [_value_of(row[ours])] for ours, theirs in _FEATURES.items()}
    labels = " ".join(str(int(label)) for label in row["token_labels"])
    return encode_example(
        {
            "filename": [row["filename"].encode()],
            **features,
            "prompt_misalignment_label": [labels.encode()],
        }
    )


def _value_of(value):
    if isinstance(value, Image.Image):
        file = io.BytesIO()
        value.save(file, "PNG")
        return file.getvalue()
    if isinstance(value, dict):
        value = value["bytes"]
    return value if isinstance(value, bytes) else float(value)


def write_records(path, contents):
    """Write a TFRecord file: of each record length, masked CRC-32C, data, masked CRC-32C."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for content in contents:
            length = struct.pack("<Q", len(content))
            file.write(length + _masked_crc(length) + content + _masked_crc(content))


def _masked_crc(data):
    crc = google_crc32c.value(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def encode_example(features):
    """Return a serialised `tf.train.Example` of lists of bytes, floats or integers."""
    entries = (
        _message(1, _message(1, name.encode()) + _message(2, _feature(values)))
        for name, values in features.items()
    )
    return _message(1, b"".join(entries))


def _feature(values):
    kinds = {type(value) for value in values}
    if kinds <= {bytes}:
        return _message(1, b"".join(_message(1, value) for value in values))
    if kinds == {float}:
        return _message(2, _message(1, struct.pack(f"<{len(values)}f", *values)))
    assert kinds == {int}
    return _message(3, _message(1, b"".join(_varint(value % 2**64) for value in values)))


def _message(number, content):
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value):
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)
