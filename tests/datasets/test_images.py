"""PQPP's image columns."""

import pytest
from datasets import load_dataset
from PIL import Image
from support.pqpp_folders import write_v1_0, write_v1_1

pytestmark = pytest.mark.usefixtures("cache")


def write_images(folder, numbers, shade):
    folder.mkdir(parents=True)
    for number in numbers:
        Image.new("L", (4, 4), shade + number).save(folder / f"image_{number}.png")


def get_shades(images):
    return [image.getpixel((0, 0)) for image in images]


def test_reads_mscoco_images(tmp_path):
    root = tmp_path / "archive"
    write_images(root / "images" / "101", range(4, 9), 100)
    write_images(root / "images" / "102", (4, 7), 50)
    rows = load_dataset(
        "pqpp",
        "pqpp-v1.0",
        data_dir=str(write_v1_0(tmp_path / "data")),
        image_dir=str(root),
        split="train",
    )
    assert get_shades(rows[0]["sdxl_images"]) == [104, 105]
    assert get_shades(rows[0]["glide_images"]) == [107, 108]
    assert rows[0]["reference_image"].getpixel((0, 0)) == 106
    assert (len(rows[1]["sdxl_images"]), len(rows[1]["glide_images"])) == (1, 1)
    assert rows[1]["reference_image"] is None and rows[2]["sdxl_images"] == []


@pytest.mark.parametrize("folder", ["drawbench/5", "5"])
def test_reads_drawbench_images(tmp_path, folder):
    root = tmp_path / "images"
    write_images(root / "10", range(4, 9), 100)
    write_images(root / folder, range(4, 8), 0)
    rows = load_dataset(
        "pqpp",
        data_dir=str(write_v1_1(tmp_path / "data")),
        image_dir=str(root),
        split="train",
        streaming=True,
    )
    car = next(row for row in rows if row["prompt_id"] == "drawbench-5")
    assert get_shades(car["sdxl_images"]) == [4, 5] and get_shades(car["glide_images"]) == [6, 7]
    assert car["reference_image"] is None
