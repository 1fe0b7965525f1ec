"""Blind copies of images: no traces of the model, and points in pixels of the original file."""

import hashlib
import io
import json
import re
import shutil
import struct
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageCms, PngImagePlugin
from sqlalchemy import update
from support.kinds import make_vote
from support.served import get_next_state, join, open_client
from support.studies import write_table

from pqpp_annotation.kinds import get_task_kind
from pqpp_annotation.store.answers import iterate_votes, read_records
from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.tables import Asset
from pqpp_annotation.store.work import reserve_item
from pqpp_annotation.study import add_prompts, make_study
from pqpp_annotation.study.images import make_blind_copy

SECRETS = (b"sdxl", b"glide-secret", b"Exif", b"xmpmeta", b"ICC_PROFILE", b"iCCP", b"Photoshop")
XMP_METADATA = b'<x:xmpmeta xmlns:x="adobe:ns:meta/">glide-secret</x:xmpmeta>'


def make_copy(content, *options):
    """Return an image's record with the content of its copy."""
    image, copy = make_blind_copy(content, "a.png", *options)
    return SimpleNamespace(**asdict(image), content=copy)


def make_image(size=(64, 40), seed=0):
    draw = np.random.default_rng(seed)
    small = draw.integers(0, 255, (5, 8, 3), np.uint8)
    return Image.fromarray(small).resize(size, Image.Resampling.BICUBIC)


def encode_with_metadata(kind, orientation=1, image=None):
    """Return an image file with the model's name in all metadata that the format supports."""
    image, file, exif = image or make_image(), io.BytesIO(), Image.Exif()
    exif[0x0131] = "glide-secret"  # Software
    exif[0x0112] = orientation
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    options = {"exif": exif, "icc_profile": profile}
    if kind == "PNG":
        png_info = PngImagePlugin.PngInfo()
        png_info.add_text("parameters", "Model: sdxl_v1.0")
        png_info.add_itxt("XML:com.adobe.xmp", XMP_METADATA.decode())
        options["pnginfo"] = png_info
    elif kind == "JPEG":
        options |= {"xmp": XMP_METADATA, "comment": b"sdxl", "quality": 90}
    else:
        options |= {"xmp": XMP_METADATA, "lossless": True}
    image.save(file, kind, **options)
    content = file.getvalue()
    if kind == "JPEG":  # a thumbnail, a Photoshop segment, and data after the end
        thumbnail = b"JFXX\0\x10" + content[:200] + b"sdxl"
        segments = b"".join(
            b"\xff" + bytes([marker]) + struct.pack(">H", len(text) + 2) + text
            for marker, text in ((0xE0, thumbnail), (0xED, b"Photoshop 3.0\0sdxl"))
        )
        content = content[:2] + segments + content[2:] + b"sdxl" + content
    return content


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_copy_has_the_same_pixels_and_no_metadata(kind):
    content = encode_with_metadata(kind)
    assert any(secret in content for secret in SECRETS)
    copy = make_copy(content)
    for secret in SECRETS:
        assert secret not in copy.content, secret
    copied, original = Image.open(io.BytesIO(copy.content)), Image.open(io.BytesIO(content))
    assert copied.format == "PNG" and copy.media_type == "image/png"
    assert np.array_equal(np.asarray(copied.convert("RGB")), np.asarray(original.convert("RGB")))
    assert not copied.getexif() and not copied.info
    second_copy = make_copy(copy.content)
    assert second_copy.content == copy.content


def test_exif_orientation_is_undone_and_points_map_back():
    upright = make_image()
    names = ("FLIP_LEFT_RIGHT", "ROTATE_180", "FLIP_TOP_BOTTOM", "TRANSPOSE", "ROTATE_90")
    names = (None, *names, "TRANSVERSE", "ROTATE_270")
    for orientation, name in enumerate(names, 1):
        stored = upright.transpose(Image.Transpose[name]) if name else upright
        copy = make_copy(encode_with_metadata("PNG", orientation, stored))
        assert (copy.width, copy.height) == upright.size, orientation
        copied = Image.open(io.BytesIO(copy.content)).convert("RGB")
        assert np.array_equal(np.asarray(copied), np.asarray(upright)), orientation
        assert (copy.file_width, copy.file_height) == stored.size
        assert copy.orientation == orientation
        # A pixel of the upright copy is exported as the same pixel of the stored file.
        width, height = upright.size
        pixels = ((0, 0), (63, 3), (17, 29))
        points = [[(x + 0.5) / width, (y + 0.5) / height] for x, y in pixels]
        value = {"implausible": points, "misaligned": [], "words": [], "inappropriate": True}
        size = {"width": copy.file_width, "height": copy.file_height}
        rated = make_vote("1.png", "ann", {**value, "scores": {}}, orientation=orientation, **size)
        [row] = get_task_kind("rich").export_tables([rated])["feedback"]
        array = np.asarray(stored)
        for (row_, column), (x, y) in zip(row["implausible_points"], pixels, strict=True):
            assert row_ == int(row_) and column == int(column)
            assert tuple(array[int(row_), int(column)]) == upright.getpixel((x, y))


def to_linear(level):
    return level / 12.92 if level <= 0.04045 else ((level + 0.055) / 1.055) ** 2.4


@pytest.mark.parametrize("mode", ["RGB", "CMYK"])
def test_cmyk_profile_is_ignored_for_rgb_images(mode):
    # This profile maps every ink to mid grey.
    lut = b"mft1" + bytes(4) + bytes([4, 3, 2, 0]) + bytes(36) + bytes(range(256)) * 4
    lut += bytes([128, 128, 128]) * 16 + bytes(range(256)) * 3
    header = struct.pack(">I4sI4s4s4s", 144 + len(lut), b"lcms", 2 << 24, b"prtr", b"CMYK", b"Lab ")
    header += bytes(12) + b"acsp" + bytes(28) + struct.pack(">3I", 63190, 65536, 54061) + bytes(48)
    profile = header + struct.pack(">I4sII", 1, b"A2B0", 144, len(lut)) + lut
    file, red = io.BytesIO(), Image.new("RGB", (8, 8), (200, 40, 40))
    red.convert(mode).save(file, "TIFF", icc_profile=profile)
    _, copy = make_blind_copy(file.getvalue(), "a.tiff")
    color = Image.open(io.BytesIO(copy)).getpixel((0, 0))
    assert color == (200, 40, 40) if mode == "RGB" else max(color) - min(color) < 4


def test_linear_profile_is_converted_to_srgb():
    original = make_image()
    linear_image = original.point([round(255 * to_linear(level / 255)) for level in range(256)] * 3)
    expected = np.asarray(original).astype(int)
    is_bright = expected > 60  # darker levels lose most of their steps in eight linear bits
    assert np.abs(np.asarray(linear_image).astype(int) - expected)[is_bright].max() > 50
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    offset = profile.index(b"para", 200)  # the curve that the three channels share: gamma 1
    profile[offset + 8 : offset + 10] = b"\0\0"
    profile[offset + 12 : offset + 16] = struct.pack(">I", 1 << 16)
    file = io.BytesIO()
    linear_image.save(file, "PNG", icc_profile=bytes(profile))
    assert b"sRGB" in bytes(profile).replace(b"\0", b"")
    copied = Image.open(io.BytesIO(make_copy(file.getvalue()).content))
    assert np.abs(np.asarray(copied).astype(int) - expected)[is_bright].max() <= 6


@pytest.mark.parametrize("kind", ["TIFF", "BMP", "AVIF"])
def test_other_file_formats_are_accepted(kind):
    file, original = io.BytesIO(), make_image()
    original.save(file, kind)
    copied = np.asarray(Image.open(io.BytesIO(make_copy(file.getvalue()).content))).astype(int)
    assert np.abs(copied - np.asarray(original).astype(int)).mean() < 5


@pytest.mark.parametrize("fit", ["pad", "crop"])
def test_copies_have_one_size_and_format(fit):
    files = (encode_with_metadata("PNG", image=make_image(box)) for box in ((64, 40), (20, 30)))
    copies = [make_copy(file, 48, fit) for file in files]
    properties = {(copy.width, copy.height, copy.media_type) for copy in copies}
    assert properties == {(48, 48, "image/jpeg")}
    wide_frame, high_frame = (copy.frame for copy in copies)
    if fit == "pad":  # 64 x 40 becomes 48 x 30 in the middle, 20 x 30 32 x 48
        assert (wide_frame, high_frame) == ([0, 9 / 48, 1, 39 / 48], [8 / 48, 0, 40 / 48, 1])
    else:  # 77 x 48 and 48 x 72, cropped to the middle
        assert (wide_frame, high_frame) == ([-15 / 48, 0, 62 / 48, 1], [0, -12 / 48, 1, 60 / 48])
    color = Image.open(io.BytesIO(copies[0].content)).getpixel((24, 1))
    assert (max(np.abs(np.array(color) - 127)) <= 2) == (fit == "pad")
    # Points are exported in the file's pixels; a point on a bar is moved to the image's edge.
    points = [[(copy.frame[0] + copy.frame[2]) / 2, 0.5] for copy in copies] + [[0.5, 0.0]]
    for copy, (width, height) in zip(copies, ((64, 40), (20, 30)), strict=True):
        value = {"implausible": points, "misaligned": [], "words": [], "inappropriate": True}
        size = {"width": width, "height": height, "frame": copy.frame}
        marked = make_vote("1.png", "a", {**value, "scores": {}}, **size)
        [row] = get_task_kind("rich").export_tables([marked])["feedback"]
        assert row["implausible_points"][0] == pytest.approx(
            [height / 2 - 0.5, width / 2 - 0.5], abs=0.4
        )
        assert fit == "crop" or row["implausible_points"][2][0] == 0


@pytest.mark.parametrize("differs", ["width", "sharpness", ""])
def test_warns_if_models_can_be_recognised(tmp_path, caplog, differs):
    (tmp_path / "images").mkdir()
    lines = ["prompt,image,model"]
    for number in range(30):
        for model in ("glide", "sdxl"):
            image = make_image((64, 64), seed=100 * number + (model == "sdxl"))
            if model == "sdxl" and differs == "width":
                image = image.resize((48, 64))
            elif model == "sdxl" and differs:
                noise = np.random.default_rng(number).integers(-20, 20, (64, 64, 3))
                image = Image.fromarray((np.asarray(image) + noise).clip(0, 255).astype(np.uint8))
            image.save(tmp_path / "images" / f"{number}-{model}.png")
            lines.append(f"a cat {number},{number}-{model}.png,{model}")
    (tmp_path / "prompts.csv").write_text("\n".join(lines))
    make_study(tmp_path / "study.yaml", tmp_path / "prompts.csv", tmp_path / "images", "rating")
    messages = (record.getMessage() for record in caplog.records)
    warnings = [message for message in messages if "recognised" in message]
    assert len(warnings) == bool(differs)
    if differs:
        match = re.search(r"glide and sdxl .* in (\d+)% .* by (\w+)", warnings[0])
        assert match[2] == differs and int(match[1]) >= 95


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
def test_animation_becomes_its_first_frame(kind):
    file = io.BytesIO()
    frames = [make_image(seed=seed) for seed in (1, 2)]
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    options = {"comment": b"sdxl"} if kind == "GIF" else {"icc_profile": profile, "lossless": True}
    frames[0].save(file, kind, save_all=True, append_images=frames[1:], **options)
    copy = make_copy(file.getvalue())
    assert copy.media_type == "image/png" and b"sdxl" not in copy.content
    copied = Image.open(io.BytesIO(copy.content))
    assert getattr(copied, "n_frames", 1) == 1
    first = np.asarray(Image.open(io.BytesIO(file.getvalue())).convert("RGB"))
    assert np.array_equal(np.asarray(copied), first)


def make_marked_study(folder, kind="relevance", **settings):
    """Make a study with control items, whose image files name their models."""
    table = write_table(folder, prompts=6, controls=2)
    for number, path in enumerate(sorted((folder / "images").iterdir())):
        path.write_bytes(encode_with_metadata("PNG", image=make_image(seed=number)))
    return make_study(folder / "study.yaml", table, folder / "images", kind, **settings)


def join_study(store):
    client = open_client(store)
    join(client)
    return client


def test_responses_never_reveal_models_or_controls(tmp_path):
    store = open_store(make_marked_study(tmp_path, control={"every": 2}))
    client, received = join_study(store), []

    def get(path):
        response = client.get(path)
        received.append(str(response.headers).encode() + response.content)
        return response

    purposes = set()
    for number in range(6):
        get("/work")
        state = get_next_state(client)
        next_item = get_next_state(client, after=state["task"]["assignment"])
        received.append(json.dumps([state, next_item]).encode())
        purposes.add(state["task"].get("purpose"))
        for index, image in enumerate(state["task"]["images"]):
            response = get(image["url"])
            assert response.status_code == 200 and response.content.startswith(b"\xff\xd8")
            cache_headers = {"last-modified", "etag"} & set(response.headers)
            assert not cache_headers
            saved = client.post(
                "/api/answers",
                json={
                    "client_id": f"{number}-{index}".ljust(16, "x"),
                    "assignment": state["task"]["assignment"],
                    "image": image["id"],
                    "value": {"label": 2},
                },
                headers={"X-CSRF-Token": state["csrf"]},
            )
            assert saved.json()["saved"]
    content = b"\n".join(received).replace(b"cache-control", b"")
    for secret in (*SECRETS, b"purpose", b"control", b"reference", b"sha256"):
        assert secret not in content, secret
    assert purposes == {None} and len(list(iterate_votes(read_records(store)))) == 12
    store.close()


def test_image_names_are_random_per_person(tmp_path):
    store = open_store(make_marked_study(tmp_path))
    names, n_in_order = [], 0
    for _ in range(6):
        client = join_study(store)
        task = get_next_state(client)["task"]
        ids = [image["id"] for image in task["images"]]
        names.append(frozenset(ids))
        with store.begin_read() as db:
            from sqlalchemy import text

            person = db.scalar(text("SELECT max(id) FROM person"))
        item = reserve_item(store, person)
        by_table = sorted(item.images, key=lambda image: image.id)
        name_by_id = dict(zip((image.id for image in item.images), ids, strict=True))
        n_in_order += name_by_id[by_table[0].id] < name_by_id[by_table[1].id]
        other = join_study(store)
        assert other.get(task["images"][0]["url"]).status_code == 403
    assert len(set(names)) == 6 and 0 < n_in_order < 6
    store.close()


def test_preferences_are_stored_by_image_not_page_name(tmp_path):
    table = write_table(tmp_path, prompts=6, models=("sdxl", "glide"))
    files = tmp_path / "study.yaml", table, tmp_path / "images"
    study = make_study(*files, "preference", image_size=None)
    store = open_store(study)
    for number in range(2):
        client = join_study(store)
        while task := (state := get_next_state(client))["task"]:
            letter = dict(zip(sorted(image["id"] for image in task["images"]), "ab", strict=True))
            # Everybody prefers the darker image, which is by sdxl.
            blues = {}
            for image in task["images"]:
                copy = Image.open(io.BytesIO(client.get(image["url"]).content))
                blues[image["id"]] = copy.getpixel((0, 0))[2]
            darkest = min(blues, key=blues.get)
            value = {"choice": letter[darkest], "left": letter[task["images"][0]["id"]]}
            answer = {"client_id": f"{number}-{task['assignment']}".ljust(16, "x"), "value": value}
            answer |= {"assignment": task["assignment"], "image": None}
            headers = {"X-CSRF-Token": state["csrf"]}
            assert client.post("/api/answers", json=answer, headers=headers).json()["complete"]
            reloaded = client.get(f"/api/tasks/{task['assignment']}").json()["task"]
            assert reloaded["answers"] == {"item": value}
    rows = list(study.kind.export_tables(iterate_votes(read_records(store)))["preferences"])
    assert len(rows) == 12
    assert {
        row["image_a" if row["choice"] == "a" else "image_b"].split("-")[1] for row in rows
    } == {"sdxl.png"}
    assert {row["left"] for row in rows} == {"a", "b"}
    store.close()


def test_lost_copies_are_restored_from_originals(tmp_path):
    store = open_store(make_marked_study(tmp_path))
    folder = tmp_path / f"{store.study.name}-shown"
    copies = [path for path in folder.rglob("*") if path.is_file()]
    assert len(copies) == 16
    for path in copies:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    client = join_study(store)
    url = get_next_state(client)["task"]["images"][0]["url"]
    before = client.get(url).content
    with store.begin_write() as db:
        db.execute(update(Asset).values(media_type="text/html"))
    assert client.get(url).headers["Content-Type"] == "image/jpeg"
    for path in copies:
        path.write_bytes(b"other")
    assert client.get(url).content == before
    shutil.rmtree(folder)
    folder.touch()
    assert client.get(url).status_code == 503
    for path in (tmp_path / "images").iterdir():
        path.write_bytes(b"other")
    assert client.get(url).status_code == 404
    store.close()


def test_failed_add_leaves_no_copies(tmp_path):
    table = write_table(tmp_path, prompts=2)
    study = make_study(tmp_path / "study.yaml", table, tmp_path / "images")
    copies = sorted((tmp_path / f"{study.name}-shown").rglob("*"))
    more = write_table(tmp_path, prompts=3)
    more.write_text(more.read_text().replace("2-reference.png", "none.png"))
    with pytest.raises(Exception, match=r"none\.png"):
        add_prompts(study, more)
    assert sorted((tmp_path / f"{study.name}-shown").rglob("*")) == copies
