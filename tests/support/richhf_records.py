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
    write_records(path, map(to_record, rows))


def to_record(row):
    """Return the serialised record of a row; scores have single precision."""
    features = {published: [_to_value(row[name])] for name, published in _FEATURES.items()}
    labels = " ".join(str(int(label)) for label in row["token_labels"])
    return encode_example(
        {
            "filename": [row["filename"].encode()],
            **features,
            "prompt_misalignment_label": [labels.encode()],
        }
    )


def _to_value(value):
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
            file.write(length + _compute_crc(length) + content + _compute_crc(content))


def _compute_crc(data):
    crc = google_crc32c.value(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def encode_example(features):
    """Return a serialised `tf.train.Example` of lists of bytes, floats or integers."""
    entries = (
        _encode(1, _encode(1, name.encode()) + _encode(2, _encode_feature(values)))
        for name, values in features.items()
    )
    return _encode(1, b"".join(entries))


def _encode_feature(values):
    kinds = {type(value) for value in values}
    if kinds <= {bytes}:
        return _encode(1, b"".join(_encode(1, value) for value in values))
    if kinds == {float}:
        return _encode(2, _encode(1, struct.pack(f"<{len(values)}f", *values)))
    assert kinds == {int}
    return _encode(3, _encode(1, b"".join(_encode_varint(value % 2**64) for value in values)))


def _encode(number, content):
    return _encode_varint(number << 3 | 2) + _encode_varint(len(content)) + content


def _encode_varint(value):
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)
