"""Drawn texts whose wording is known: fonts, rotations and clutter by seed."""

from pathlib import Path

import numpy as np

WORDS = """
Grand Canyon National Park Open House Summer Sale Fresh Bread Coffee Jazz Night Museum of Modern Art
Keep Calm and Carry On Happy Birthday Welcome Home New York City Love Peace Stop Wars Ocean River
Forest Mountain Bakery Hotel Paradise Exit Only Drive Slow School Zone Book Shop Garden Street Music
Festival Winter Lights Food Market Blue Moon Cafe Silver Star
""".split()  # noqa: SIM905
FONTS = (
    *("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSans-Oblique.ttf", "DejaVuSerif.ttf"),
    *("DejaVuSerif-Bold.ttf", "DejaVuSerif-Italic.ttf", "DejaVuSansMono.ttf"),
    *("DejaVuSansMono-Bold.ttf", "STIXGeneral.ttf", "STIXGeneralBol.ttf"),
)


def draw_text(seed, size=512, degrees=15):
    """Return a drawn picture and its text: one to three lines, turned by up to `degrees`."""
    from PIL import Image, ImageDraw

    random = np.random.default_rng([seed, 7])
    lines = [
        " ".join(random.choice(WORDS, random.integers(1, 4))) for _ in range(random.integers(1, 4))
    ]
    dark = bool(random.random() < 0.5)
    paper, ink = (random.integers(low, low + 60, 3) for low in ((20, 190) if dark else (190, 20)))
    image = Image.new("RGB", (size, size), tuple(int(v) for v in paper))
    _draw_clutter(random, ImageDraw.Draw(image), size)
    layer = _draw_layer(random, lines, size)
    mask = layer.rotate(float(random.uniform(-degrees, degrees)), Image.Resampling.BICUBIC)
    image.paste(Image.new("RGB", (size, size), tuple(int(v) for v in ink)), mask=mask)
    grain = random.normal(0, random.uniform(0, 8), (size, size, 3))
    pixels = np.clip(np.asarray(image) + grain, 0, 255).astype(np.uint8)
    return Image.fromarray(pixels), " ".join(lines)


def _draw_layer(random, lines, size):
    """The lines in one font, centred, as large as three quarters of the picture's width allow."""
    import matplotlib
    from PIL import Image, ImageDraw, ImageFont

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    path, height = folder / str(random.choice(FONTS)), int(random.integers(26, 56))
    font = ImageFont.truetype(str(path), height)
    widest = max(font.getlength(line) for line in lines)
    if widest > 0.75 * size:
        height = int(height * 0.75 * size / widest)
        font = ImageFont.truetype(str(path), height)
    layer = Image.new("L", (size, size), 0)
    centre = size / 2 + random.uniform(-0.08, 0.08, 2) * size
    for number, line in enumerate(lines):
        y = centre[1] + (number - (len(lines) - 1) / 2) * 1.6 * height
        ImageDraw.Draw(layer).text((centre[0], y), line, fill=255, font=font, anchor="mm")
    return layer


def _draw_clutter(random, pen, size):
    """Shapes of middle brightness all over the ground."""
    for _ in range(int(random.integers(5, 25))):
        x, y, w, h = (float(v) for v in random.uniform(0, size, 4))
        box = (x, y, x + w / 3, y + h / 3)
        colour = tuple(int(v) for v in random.integers(90, 160, 3))
        shape = random.integers(3)
        if shape == 0:
            pen.ellipse(box, outline=colour, width=3)
        elif shape == 1:
            pen.rectangle(box, outline=colour, width=2)
        else:
            pen.line(box, fill=colour, width=2)
