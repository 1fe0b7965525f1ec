"""Images without all that stands beside their pixels, which stay as they are, bit by bit."""

import re
import struct
from collections.abc import Callable, Iterator

_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_KEPT = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")
_WEBP_KEPT = (b"VP8X", b"ALPH", b"VP8 ", b"VP8L")
_WEBP_NOTES = 0x2C  # the bits of VP8X that say: a profile, EXIF, XMP
_JFIF = b"\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
_AFTER_SCAN = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")
_EOI, _SOS = 0xD9, 0xDA
_APP0, _APP14, _APP15, _COM = 0xE0, 0xEE, 0xEF, 0xFE
_ADOBE = 16  # bytes of the segment that says how colours are kept


def stripped(content: bytes, kind: str) -> bytes:
    """Return an image with its pixels, and nothing else that a program or a person wrote into it.

    Texts, EXIF, XMP, profiles, thumbnails, comments, further images and whatever follows the end
    are left out. What is kept says how pixels are to be decoded.

    Args:
        content: A whole file.
        kind: `PNG`, `JPEG`, `MPO` or `WEBP`, as Pillow calls it.

    Raises:
        ValueError: It is not laid out as its kind is.

    Example:
        >>> import io
        >>> from PIL import Image, PngImagePlugin
        >>> note, file = PngImagePlugin.PngInfo(), io.BytesIO()
        >>> note.add_text("parameters", "Model: sdxl")
        >>> Image.new("RGB", (2, 1)).save(file, "png", pnginfo=note)
        >>> b"sdxl" in file.getvalue(), b"sdxl" in stripped(file.getvalue(), "PNG")
        (True, False)
    """
    try:
        return b"".join(_PARTS[kind](content))
    except (IndexError, struct.error):
        raise ValueError(f"the {kind} ends too early") from None


def _png(content: bytes) -> Iterator[bytes]:
    if not content.startswith(_PNG):
        raise ValueError("it does not begin as PNG does")
    yield _PNG
    place, name = len(_PNG), b""
    while name != b"IEND":
        length, name = struct.unpack_from(">I4s", content, place)
        end = place + length + 12
        if end > len(content):
            raise ValueError("a part of the PNG is cut off")
        if name in _PNG_KEPT:
            yield content[place:end]
        place = end


def _jpeg(content: bytes) -> Iterator[bytes]:
    if content[:2] != b"\xff\xd8":
        raise ValueError("it does not begin as JPEG does")
    yield content[:2]
    place = 2
    while True:
        if content[place] != 0xFF:
            raise ValueError("a segment of the JPEG is malformed")
        marker = content[place + 1]
        if marker == 0xFF:  # a filling byte
            place += 1
            continue
        if marker == _EOI:
            yield content[place : place + 2]
            return
        end = place + 2 + struct.unpack_from(">H", content, place + 2)[0]
        if marker == _SOS:
            match = _AFTER_SCAN.search(content, end)
            if match is None:
                raise ValueError("the JPEG ends within its pixels")
            end = match.start()
        part = content[place:end]
        if marker == _APP0:
            if part[4:9] == b"JFIF\0":  # without the thumbnail that may be in it
                yield _JFIF
        elif marker == _APP14:
            if part[4:9] == b"Adobe":
                yield part[:2] + struct.pack(">H", _ADOBE - 2) + part[4:_ADOBE]
        elif not (_APP0 < marker <= _APP15 or marker == _COM):
            yield part
        place = end


def _webp(content: bytes) -> Iterator[bytes]:
    if content[:4] != b"RIFF" or content[8:12] != b"WEBP":
        raise ValueError("it does not begin as WebP does")
    end = min(len(content), 8 + struct.unpack_from("<I", content, 4)[0])
    place, parts = 12, []
    while place + 8 <= end:
        name, length = struct.unpack_from("<4sI", content, place)
        part = content[place : place + 8 + length + length % 2]
        if name == b"VP8X":
            part = part[:8] + bytes([part[8] & ~_WEBP_NOTES]) + part[9:]
        if name in _WEBP_KEPT:
            parts.append(part)
        place += len(part)
    if not any(part.startswith((b"VP8 ", b"VP8L")) for part in parts):
        raise ValueError("the WebP has frames of an animation alone")
    kept = b"".join(parts)
    yield b"RIFF" + struct.pack("<I", len(kept) + 4) + b"WEBP" + kept


_PARTS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "PNG": _png,
    "JPEG": _jpeg,
    "MPO": _jpeg,
    "WEBP": _webp,
}
