"""A command that draws a prompt: one colour a seed, by the standard library alone, quickly.

`COMMAND` is for `pqpp generate --command`; a word behind it is one of prompts that it refuses.
"""

import struct
import sys
import zlib

COMMAND = f"{sys.executable} -I -S {__file__} {{prompt}} {{seed}} {{output}}"
SIDE = 8


def _make_chunk(name: bytes, content: bytes) -> bytes:
    body = name + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def _draw(prompt: str, seed_text: str, output: str, *refused: str) -> None:
    if any(word in prompt for word in refused):
        sys.exit(3)
    seed = int(seed_text)
    row = b"\0" + bytes([seed % 256, seed // 256 % 256, len(prompt) % 256]) * SIDE
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(row * SIDE)), (b"IEND", b"")
    with open(output, "wb") as file:  # noqa: PTH123 -- pathlib takes its time to import
        file.write(b"\x89PNG\r\n\x1a\n" + b"".join(_make_chunk(*chunk) for chunk in chunks))


if __name__ == "__main__":
    _draw(*sys.argv[1:])
