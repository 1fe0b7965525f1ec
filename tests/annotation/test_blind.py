"""What leaves the server says nothing of what made an image; places are told in its own pixels."""

import hashlib
import io
import json
import re
import struct
from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageCms, PngImagePlugin
from support.kinds import vote
from support.served import client_of, join, next_state
from support.studies import write_table

from pqpp_annotation.kinds import get_task_kind
from pqpp_annotation.store.answers import iterate_votes
from pqpp_annotation.store.database import open_store
from pqpp_annotation.store.work import reserve_item
from pqpp_annotation.study import add_prompts, make_study
from pqpp_annotation.study.images import make_blind_copy

SECRETS = (b"sdxl", b"glide-secret", b"Exif", b"xmpmeta", b"ICC_PROFILE", b"iCCP", b"Photoshop")
XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/">glide-secret</x:xmpmeta>'


def blind(content, *how):
    """What is known of an image, with its copy."""
    image, copy = make_blind_copy(content, "a.png", *how)
    return SimpleNamespace(**asdict(image), content=copy)


def picture(size=(64, 40), seed=0):
    draw = np.random.default_rng(seed)
    small = draw.integers(0, 255, (5, 8, 3), np.uint8)
    return Image.fromarray(small).resize(size, Image.Resampling.BICUBIC)


def with_notes(kind, orientation=1, image=None):
    """A file that tells its model in every way that its kind has."""
    image, file, exif = image or picture(), io.BytesIO(), Image.Exif()
    exif[0x0131] = "glide-secret"  # Software
    exif[0x0112] = orientation
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    more = {"exif": exif, "icc_profile": profile}
    if kind == "PNG":
        note = PngImagePlugin.PngInfo()
        note.add_text("parameters", "Model: sdxl_v1.0")
        note.add_itxt("XML:com.adobe.xmp", XMP.decode())
        more["pnginfo"] = note
    elif kind == "JPEG":
        more |= {"xmp": XMP, "comment": b"sdxl", "quality": 90}
    else:
        more |= {"xmp": XMP, "lossless": True}
    image.save(file, kind, **more)
    content = file.getvalue()
    if kind == "JPEG":  # a thumbnail, a note of Photoshop's, and a picture behind the end
        thumbnail = b"JFXX\0\x10" + content[:200] + b"sdxl"
        parts = b"".join(
            b"\xff" + bytes([marker]) + struct.pack(">H", len(text) + 2) + text
            for marker, text in ((0xE0, thumbnail), (0xED, b"Photoshop 3.0\0sdxl"))
        )
        content = content[:2] + parts + content[2:] + b"sdxl" + content
    return content


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_copy_has_the_same_pixels_and_nothing_else(kind):
    content = with_notes(kind)
    assert any(secret in content for secret in SECRETS)
    copy = blind(content)
    for secret in SECRETS:
        assert secret not in copy.content, secret
    shown, found = Image.open(io.BytesIO(copy.content)), Image.open(io.BytesIO(content))
    assert shown.format == "PNG" and copy.media_type == "image/png"
    assert np.array_equal(np.asarray(shown.convert("RGB")), np.asarray(found.convert("RGB")))
    assert not shown.getexif() and not shown.info
    again = blind(copy.content)
    assert again.content == copy.content


def test_pictures_that_are_turned_in_several_ways_are_shown_upright():
    upright = picture()
    turn = Image.Transpose
    turns = [None, turn.FLIP_LEFT_RIGHT, turn.ROTATE_180, turn.FLIP_TOP_BOTTOM, turn.TRANSPOSE]
    turns += [turn.ROTATE_90, turn.TRANSVERSE, turn.ROTATE_270]
    for orientation, turn in enumerate(turns, 1):
        stored = upright if turn is None else upright.transpose(turn)
        copy = blind(with_notes("PNG", orientation, stored))
        assert (copy.width, copy.height) == upright.size, orientation
        shown = Image.open(io.BytesIO(copy.content)).convert("RGB")
        assert np.array_equal(np.asarray(shown), np.asarray(upright)), orientation
        assert (copy.file_width, copy.file_height) == stored.size
        assert copy.orientation == orientation
        # Every pixel of the upright picture is told as the pixel of the file that it is.
        width, height = upright.size
        places = ((0, 0), (63, 3), (17, 29))
        points = [[(x + 0.5) / width, (y + 0.5) / height] for x, y in places]
        value = {"implausible": points, "misaligned": [], "words": [], "inappropriate": True}
        size = {"width": copy.file_width, "height": copy.file_height}
        about = vote("1.png", "ann", {**value, "scores": {}}, orientation=orientation, **size)
        [row] = get_task_kind("rich").export_tables([about])["feedback"]
        pixels = np.asarray(stored)
        for (row_, column), (x, y) in zip(row["implausible_points"], places, strict=True):
            assert row_ == int(row_) and column == int(column)
            assert tuple(pixels[int(row_), int(column)]) == upright.getpixel((x, y))


def linear(level):
    return level / 12.92 if level <= 0.04045 else ((level + 0.055) / 1.055) ** 2.4


@pytest.mark.parametrize("mode", ["RGB", "CMYK"])
def test_a_profile_for_print_holds_for_cmyk_alone(mode):
    """The profile, written by hand, shows every ink as mid grey."""
    lut = b"mft1" + bytes(4) + bytes([4, 3, 2, 0]) + bytes(36) + bytes(range(256)) * 4
    lut += bytes([128, 128, 128]) * 16 + bytes(range(256)) * 3
    head = struct.pack(">I4sI4s4s4s", 144 + len(lut), b"lcms", 2 << 24, b"prtr", b"CMYK", b"Lab ")
    head += bytes(12) + b"acsp" + bytes(28) + struct.pack(">3I", 63190, 65536, 54061) + bytes(48)
    profile = head + struct.pack(">I4sII", 1, b"A2B0", 144, len(lut)) + lut
    file, red = io.BytesIO(), Image.new("RGB", (8, 8), (200, 40, 40))
    red.convert(mode).save(file, "TIFF", icc_profile=profile)
    _, copy = make_blind_copy(file.getvalue(), "a.tiff")
    seen = Image.open(io.BytesIO(copy)).getpixel((0, 0))
    assert seen == (200, 40, 40) if mode == "RGB" else max(seen) - min(seen) < 4


def test_a_linear_image_is_brought_to_srgb_whatever_its_profile_is_called():
    plain = picture()
    light = plain.point([round(255 * linear(level / 255)) for level in range(256)] * 3)
    wanted = np.asarray(plain).astype(int)
    bright = wanted > 60  # darker levels lose most of their steps in eight linear bits
    assert np.abs(np.asarray(light).astype(int) - wanted)[bright].max() > 50
    body = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    at = body.index(b"para", 200)  # the curve that the three channels share: gamma 1
    body[at + 8 : at + 10] = b"\0\0"
    body[at + 12 : at + 16] = struct.pack(">I", 1 << 16)
    file = io.BytesIO()
    light.save(file, "PNG", icc_profile=bytes(body))
    assert b"sRGB" in bytes(body).replace(b"\0", b"")
    shown = Image.open(io.BytesIO(blind(file.getvalue()).content))
    assert np.abs(np.asarray(shown).astype(int) - wanted)[bright].max() <= 6


@pytest.mark.parametrize("kind", ["TIFF", "BMP", "AVIF"])
def test_other_kinds_of_files_are_shown(kind):
    file, plain = io.BytesIO(), picture()
    plain.save(file, kind)
    shown = np.asarray(Image.open(io.BytesIO(blind(file.getvalue()).content))).astype(int)
    assert np.abs(shown - np.asarray(plain).astype(int)).mean() < 5


@pytest.mark.parametrize("fit", ["pad", "crop"])
def test_all_images_have_one_size_and_type(fit):
    found = [blind(with_notes("PNG", image=picture(box)), 48, fit) for box in ((64, 40), (20, 30))]
    assert {(one.width, one.height, one.media_type) for one in found} == {(48, 48, "image/jpeg")}
    wide, high = (one.frame for one in found)
    if fit == "pad":  # 64 x 40 becomes 48 x 30 in the middle, 20 x 30 32 x 48
        assert (wide, high) == ([0, 9 / 48, 1, 39 / 48], [8 / 48, 0, 40 / 48, 1])
    else:  # 77 x 48 and 48 x 72, of which the middle is seen
        assert (wide, high) == ([-15 / 48, 0, 62 / 48, 1], [0, -12 / 48, 1, 60 / 48])
    bar = Image.open(io.BytesIO(found[0].content)).getpixel((24, 1))
    assert (max(np.abs(np.array(bar) - 127)) <= 2) == (fit == "pad")
    # A point on the canvas is told in the file's pixels, one on a bar at the image's edge.
    points = [[(one.frame[0] + one.frame[2]) / 2, 0.5] for one in found] + [[0.5, 0.0]]
    for one, (width, height) in zip(found, ((64, 40), (20, 30)), strict=True):
        value = {"implausible": points, "misaligned": [], "words": [], "inappropriate": True}
        size = {"width": width, "height": height, "frame": one.frame}
        marked = vote("1.png", "a", {**value, "scores": {}}, **size)
        [row] = get_task_kind("rich").export_tables([marked])["feedback"]
        assert row["implausible_points"][0] == pytest.approx(
            [height / 2 - 0.5, width / 2 - 0.5], abs=0.4
        )
        assert fit == "crop" or row["implausible_points"][2][0] == 0


@pytest.mark.parametrize("differs", ["width", "sharpness", ""])
def test_what_tells_models_apart_is_said(tmp_path, caplog, differs):
    (tmp_path / "images").mkdir()
    lines = ["prompt,image,model"]
    for number in range(30):
        for model in ("glide", "sdxl"):
            image = picture((64, 64), seed=100 * number + (model == "sdxl"))
            if model == "sdxl" and differs == "width":
                image = image.resize((48, 64))
            elif model == "sdxl" and differs:
                noise = np.random.default_rng(number).integers(-20, 20, (64, 64, 3))
                image = Image.fromarray((np.asarray(image) + noise).clip(0, 255).astype(np.uint8))
            image.save(tmp_path / "images" / f"{number}-{model}.png")
            lines.append(f"a cat {number},{number}-{model}.png,{model}")
    (tmp_path / "prompts.csv").write_text("\n".join(lines))
    make_study(tmp_path / "study.yaml", tmp_path / "prompts.csv", tmp_path / "images", "rating")
    said = [record.getMessage() for record in caplog.records if "recognised" in record.getMessage()]
    assert len(said) == bool(differs)
    if differs:
        told = re.search(r"glide and sdxl .* in (\d+)% .* by (\w+)", said[0])
        assert told[2] == differs and int(told[1]) >= 95


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
def test_an_animation_is_its_first_frame(kind):
    file = io.BytesIO()
    frames = [picture(seed=seed) for seed in (1, 2)]
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    more = {"comment": b"sdxl"} if kind == "GIF" else {"icc_profile": profile, "lossless": True}
    frames[0].save(file, kind, save_all=True, append_images=frames[1:], **more)
    copy = blind(file.getvalue())
    assert copy.media_type == "image/png" and b"sdxl" not in copy.content
    shown = Image.open(io.BytesIO(copy.content))
    assert getattr(shown, "n_frames", 1) == 1
    first = np.asarray(Image.open(io.BytesIO(file.getvalue())).convert("RGB"))
    assert np.array_equal(np.asarray(shown), first)


def noted_study(folder, kind="relevance", **settings):
    """A study whose files tell their models, with controls."""
    table = write_table(folder, prompts=6, controls=2)
    for number, path in enumerate(sorted((folder / "images").iterdir())):
        path.write_bytes(with_notes("PNG", image=picture(seed=number)))
    return make_study(folder / "study.yaml", table, folder / "images", kind, **settings)


def come(store):
    client = client_of(store)
    join(client)
    return client


def test_no_byte_of_a_whole_sitting_tells_the_model_or_the_control(tmp_path):
    store = open_store(noted_study(tmp_path, control={"every": 2}))
    client, sent = come(store), []

    def get(path):
        answered = client.get(path)
        sent.append(str(answered.headers).encode() + answered.content)
        return answered

    purposes = set()
    for number in range(6):
        get("/work")
        state = next_state(client)
        ahead = next_state(client, after=state["task"]["assignment"])
        sent.append(json.dumps([state, ahead]).encode())
        purposes.add(state["task"].get("purpose"))
        for place, image in enumerate(state["task"]["images"]):
            answered = get(image["url"])
            assert answered.status_code == 200 and answered.content.startswith(b"\xff\xd8")
            kept = {"last-modified", "etag"} & set(answered.headers)
            assert not kept
            saved = client.post(
                "/api/answers",
                json={
                    "client_id": f"{number}-{place}".ljust(16, "x"),
                    "assignment": state["task"]["assignment"],
                    "image": image["id"],
                    "value": {"label": 2},
                },
                headers={"X-CSRF-Token": state["csrf"]},
            )
            assert saved.json()["saved"]
    everything = b"\n".join(sent).replace(b"cache-control", b"")
    for secret in (*SECRETS, b"purpose", b"control", b"reference", b"sha256"):
        assert secret not in everything, secret
    assert purposes == {None} and len(list(iterate_votes(store))) == 12
    store.close()


def test_ids_of_images_are_random_a_person_and_in_no_order(tmp_path):
    store = open_store(noted_study(tmp_path))
    names, first = [], 0
    for _ in range(6):
        client = come(store)
        task = next_state(client)["task"]
        ids = [image["id"] for image in task["images"]]
        names.append(frozenset(ids))
        with store.begin_read() as db:
            from sqlalchemy import text

            person = db.scalar(text("SELECT max(id) FROM person"))
        shown = reserve_item(store, person)
        by_table = sorted(shown.images, key=lambda image: image.id)
        of = dict(zip((image.id for image in shown.images), ids, strict=True))
        first += of[by_table[0].id] < of[by_table[1].id]
        other = come(store)
        assert other.get(task["images"][0]["url"]).status_code == 403
    assert len(set(names)) == 6 and 0 < first < 6
    store.close()


def test_a_preference_keeps_its_meaning_under_random_names(tmp_path):
    table = write_table(tmp_path, prompts=6, models=("sdxl", "glide"))
    files = tmp_path / "study.yaml", table, tmp_path / "images"
    study = make_study(*files, "preference", image_size=None)
    store = open_store(study)
    for number in range(2):
        client = come(store)
        while task := (state := next_state(client))["task"]:
            letter = dict(zip(sorted(one["id"] for one in task["images"]), "ab", strict=True))
            # Everybody prefers the darker one, which is sdxl's.
            blues = {
                one["id"]: Image.open(io.BytesIO(client.get(one["url"]).content)).getpixel((0, 0))[
                    2
                ]
                for one in task["images"]
            }
            best = min(blues, key=blues.get)
            value = {"choice": letter[best], "left": letter[task["images"][0]["id"]]}
            about = {"client_id": f"{number}-{task['assignment']}".ljust(16, "x"), "value": value}
            about |= {"assignment": task["assignment"], "image": None}
            headers = {"X-CSRF-Token": state["csrf"]}
            assert client.post("/api/answers", json=about, headers=headers).json()["complete"]
            again = client.get(f"/api/tasks/{task['assignment']}").json()["task"]
            assert again["answers"] == {"item": value}
    rows = list(study.kind.export_tables(iterate_votes(store))["preferences"])
    assert len(rows) == 12
    assert {
        row["image_a" if row["choice"] == "a" else "image_b"].split("-")[1] for row in rows
    } == {"sdxl.png"}
    assert {row["left"] for row in rows} == {"a", "b"}
    store.close()


def test_copies_are_named_by_their_content_and_made_again_when_lost(tmp_path):
    store = open_store(noted_study(tmp_path))
    folder = tmp_path / f"{store.study.name}-shown"
    copies = [path for path in folder.rglob("*") if path.is_file()]
    assert len(copies) == 16
    for path in copies:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    client = come(store)
    url = next_state(client)["task"]["images"][0]["url"]
    before = client.get(url).content
    for path in copies:
        path.write_bytes(b"other")
    assert client.get(url).content == before
    for path in [*copies, *(tmp_path / "images").iterdir()]:
        path.write_bytes(b"other")
    assert client.get(url).status_code == 404
    store.close()


def test_prompts_that_cannot_be_added_leave_no_copies(tmp_path):
    table = write_table(tmp_path, prompts=2)
    study = make_study(tmp_path / "study.yaml", table, tmp_path / "images")
    copies = sorted((tmp_path / f"{study.name}-shown").rglob("*"))
    more = write_table(tmp_path, prompts=3)
    more.write_text(more.read_text().replace("2-reference.png", "none.png"))
    with pytest.raises(Exception, match=r"none\.png"):
        add_prompts(study, more)
    assert sorted((tmp_path / f"{study.name}-shown").rglob("*")) == copies
