"""`open_image`: orientation, mode and size; damaged files give one-line errors."""

import io
import random
import warnings

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")

from pqpp_files.errors import FileError  # noqa: E402
from pqpp_files.foreign.images import open_image, read_header  # noqa: E402

# The edges of the displayed image that are stored as first row and first column (EXIF 2.3, 4.6.4).
EDGES = {1: ("top", "left"), 2: ("top", "right"), 3: ("bottom", "right"), 4: ("bottom", "left")}
EDGES |= {5: ("left", "top"), 6: ("right", "top"), 7: ("right", "bottom"), 8: ("left", "bottom")}


def make_pixels():
    """Return the pixels of a 24 x 16 image whose quarters differ."""
    pixels = np.zeros((16, 24, 3), np.uint8)
    pixels[:8, :12], pixels[:8, 12:], pixels[8:, :12] = (250, 0, 0), (0, 250, 0), (0, 0, 250)
    return pixels


def to_stored(pixels, orientation):
    """Return displayed pixels in the order in which a camera stores them."""
    rows, columns = EDGES[orientation]
    lines = pixels if rows in ("top", "bottom") else pixels.swapaxes(0, 1)
    lines = lines[::-1] if rows in ("bottom", "right") else lines
    return lines[:, ::-1] if columns in ("bottom", "right") else lines


def encode_image(pixels, orientation, kind="PNG", **options):
    """Return an image file with an EXIF orientation."""
    exif, buffer = Image.Exif(), io.BytesIO()
    exif[0x0112] = orientation
    image = Image.fromarray(np.ascontiguousarray(to_stored(pixels, orientation)))
    image.save(buffer, kind, exif=exif, **options)
    return buffer.getvalue()


KINDS = {"PNG": {}, "JPEG": {"quality": 100, "subsampling": 0}, "WEBP": {"lossless": True}}
KINDS |= {"TIFF": {}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("orientation", EDGES)
def test_orientation_is_applied_once(orientation, kind, tmp_path):
    content = encode_image(make_pixels(), orientation, kind, **KINDS[kind])
    path = tmp_path / "a"
    path.write_bytes(content)
    forms = (content, path, str(path), {"bytes": content}, {"path": path})
    for form in (*forms, Image.open(io.BytesIO(content)), open_image(content)):
        image = open_image(form)
        assert image.mode == "RGB" and image.size == (24, 16)
        assert np.abs(np.asarray(image).astype(int) - make_pixels()).max() < 8
    header = read_header(content)
    assert (header.format, header.width, header.height) == (kind, 24, 16)
    assert kind == "TIFF" or header.orientation == orientation
    grey = np.asarray(open_image(content, "L")).astype(int)
    assert np.abs(grey - np.asarray(Image.fromarray(make_pixels()).convert("L"))).max() < 8


@pytest.mark.parametrize("orientation", EDGES)
def test_large_image_is_scaled_down_and_upright(orientation):
    pixels = np.kron(make_pixels(), np.ones((40, 40, 1), np.uint8))
    for kind, options in KINDS.items():
        small = open_image(encode_image(pixels, orientation, kind, **options), longest=24)
        assert small.size == (24, 16)
        assert np.abs(np.asarray(small).astype(int) - make_pixels()).max() < 12, kind


def test_sides_are_not_scaled_below_eight_pixels():
    strip = np.zeros((8, 10_000), np.uint8)
    assert open_image(strip, longest=1000).size == (1000, 8)
    assert open_image(strip[:3], longest=1000).size == (1000, 3)
    assert open_image(strip[:, :9], longest=1000).size == (9, 8)


def test_eps_files_and_pipes_are_refused(tmp_path):
    import os

    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    os.mkfifo(tmp_path / "pipe.png")
    for name in ("a.png", "pipe.png", "none.png", ".", "a\0b"):
        for read in (open_image, read_header):
            with pytest.raises(FileError, match="cannot be read"):
                read(tmp_path / name)
    # Ones of an image from 0 to 1 would become black.
    for form in (None, 7, [], {}, {"path": None}, b"", np.zeros((1, 999), "u1"), np.ones((9, 9))):
        with pytest.raises(FileError, match="an image cannot be read"):
            open_image(form)


@pytest.mark.parametrize("kind", [*KINDS, "GIF", "BMP", "PPM"])
def test_damaged_images_are_one_line_without_warnings(kind):
    exif, buffer = Image.Exif(), io.BytesIO()
    exif[0x0112] = 6
    options = {"exif": exif} if kind in KINDS else {}
    Image.fromarray(make_pixels()).save(buffer, kind, **options)
    original, rng, refused = buffer.getvalue(), random.Random(7), 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(150):
            content = bytearray(original)
            for _ in range(rng.randint(1, 8)):
                content[rng.randrange(len(content))] = rng.randrange(256)
            content = bytes(content[: rng.choice([len(content), rng.randrange(len(content))])])
            try:
                assert open_image(content, longest=100).mode == "RGB"
                read_header(content)
            except FileError as error:
                refused += 1
                assert "\n" not in str(error)
    assert refused > 30


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA", "P", "RGB", "L"])
def test_transparent_pixels_become_white(mode):
    clear = Image.new("RGBA", (600, 20), (0, 0, 0, 0))
    clear.paste((0, 0, 0, 255), (0, 0, 300, 20))
    buffer = io.BytesIO()
    if mode in ("RGBA", "LA", "PA"):
        clear.convert(mode).save(buffer, "TIFF" if mode == "PA" else "PNG")
    else:
        # Declare one colour transparent.
        grey = Image.new("RGB" if mode == "RGB" else "L", (600, 20), 7).convert(mode)
        grey.paste(0, (0, 0, 300, 20))
        grey.save(buffer, "PNG", transparency=(7, 0, 0) if mode == "RGB" else 7)
    for longest in (None, 60):
        pixels = np.asarray(open_image(buffer.getvalue(), longest=longest))
        half = pixels.shape[1] // 2
        assert (pixels[:, : half - 1] == 0).all() and (pixels[:, half + 1 :] == 255).all()
