"""Looking into an ONNX file for what no text predictor needs: other files, steps without end.

onnxruntime reads other files from where the user is, whatever the hash of the graph says.
The file is a tree of protobuf messages; only those that lead to a tensor are followed, so that
neither `onnx` nor the memory of a parsed model is needed.
"""

from collections.abc import Iterator

# Per message the numbers of the fields that lead on, see onnx.proto; "!" ends at outside data, "?"
# at what a node does.
_FIELDS = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {4: "?", 5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "!", 14: "!"},
}
_REPEATING = (b"Loop", b"Scan", b"SequenceMap")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def why_refused(graph: bytes) -> str | None:
    """Return what an ONNX model asks for that no text predictor needs, None if nothing.

    That is data from other files, or steps that are repeated as often as its own numbers say.

    Raises:
        ValueError: It is no such file, or a damaged one.

    Example:
        >>> why_refused(bytes([0x3A, 2, 0x2A, 0]))
        >>> why_refused(bytes([0x3A, 4, 0x2A, 2, 0x70, 1]))
        'wants other files read, which its hash does not cover'
    """
    view = memoryview(graph)
    left = [("model", 0, len(view))]
    while left:
        message, start, end = left.pop()
        for field, number, inner in _fields_of(view, start, end):
            following = _FIELDS[message].get(field)
            if following == "!" and (inner is not None or number):
                return "wants other files read, which its hash does not cover"
            if following is None or inner is None:
                continue
            if following == "?":
                name = bytes(view[slice(*inner)])
                if name in _REPEATING:
                    return f"repeats steps without a bound, by {name.decode()}"
            elif following != "!":
                left.append((following, *inner))
    return None


def _fields_of(
    view: memoryview, start: int, end: int
) -> Iterator[tuple[int, int, tuple[int, int] | None]]:
    """Give each field's number, its value if that is a number, and where its bytes lie if any."""
    while start < end:
        key, start = _varint(view, start, end)
        field, kind, number, inner = key >> 3, key & 7, 0, None
        if kind == _VARINT:
            number, start = _varint(view, start, end)
        elif kind == _BYTES:
            length, start = _varint(view, start, end)
            inner = (start, start + length)
            start += length
        elif kind in (_FIXED64, _FIXED32):
            start += 8 if kind == _FIXED64 else 4
        else:
            raise ValueError("the graph holds something that is not ONNX")
        if start > end:
            raise ValueError("the graph ends in the middle")
        yield field, number, inner


def _varint(view: memoryview, start: int, end: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and where it ends."""
    number = 0
    for shift, place in enumerate(range(start, min(end, start + 10))):
        number |= (view[place] & 0x7F) << (7 * shift)
        if view[place] < 0x80:
            return number, place + 1
    raise ValueError("the graph ends in the middle")
