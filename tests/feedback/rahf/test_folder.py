"""The prompts of a folder of images: each has one, or one line says which does not."""

import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from pqpp_feedback.assess.pictures import find_pictures  # noqa: E402
from pqpp_files.errors import PqppError  # noqa: E402


def problem_of(folder):
    """Return what is wrong with the prompt of the only image there."""
    try:
        ((found,), _) = find_pictures(folder)
    except PqppError as error:
        return str(error)
    return found.problem


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ('{"file_name": "a.png", "prompt": "  "}', "has the prompt '  ', which says nothing"),
        ('{"file_name": "a.png", "prompt": ""}', "has the prompt '', which says nothing"),
    ],
)
def test_an_image_without_a_prompt_is_refused(tmp_path, metadata, said):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    if metadata is None:
        (tmp_path / "a.txt").write_text(" \n")
    else:
        (tmp_path / "metadata.jsonl").write_bytes(metadata.encode("latin-1"))
    told = problem_of(tmp_path)
    assert said in told and "\n" not in told


def damage(folder, kind):
    """Put an image that cannot be read between two whole ones."""
    for name in "abc":
        Image.new("RGB", (40, 40), "red").save(folder / f"{name}.png")
        (folder / f"{name}.txt").write_text("a cat")
    path = folder / "b.png"
    content = path.read_bytes()
    # A chunk without a name is a SyntaxError for pillow.
    wrong = {"no image": b"no image", "cut": content[:-30]}
    wrong["chunk"] = content.replace(b"IDAT", b"\x01\x02\x03\x04")
    path.write_bytes(wrong[kind])
    return path


@pytest.mark.parametrize("kind", ["no image", "cut", "chunk"])
def test_a_damaged_image_is_a_row_with_the_reason(tmp_path, kind):
    from support.tiny_rahf import tiny_feedback

    from pqpp_cli.main import main
    from pqpp_feedback.assess.verdicts import read_verdicts

    images = tmp_path / "images"
    images.mkdir()
    damage(images, kind)
    saved = tiny_feedback().save_pretrained(tmp_path / "rahf")
    words = ["assess", "rahf", "--image-dir", str(images), "--model", str(saved)]
    words += ["--batch-size", "2", "--output", str(tmp_path / "verdicts.parquet")]
    words += ["--overlays", str(tmp_path / "tinted")]
    assert main([*words, "--gallery", str(tmp_path / "page.html"), "--embed"]) == 0
    rows = list(read_verdicts(tmp_path / "verdicts.parquet"))
    assert [row["score"] is None for row in rows] == [False, True, False]
    assert "it could not be read" in rows[1]["reason"]
    assert "it could not be read" in (tmp_path / "page.html").read_text()
    assert len(list((tmp_path / "tinted").iterdir())) == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--gallery", "FOLDER"], "name a file in .html"),
        (["--overlays", "FOLDER/a.png"], "a.png is a file; name a folder"),
    ],
)
def test_options_are_checked_before_the_model_is_loaded(tmp_path, options, said, capsys):
    from pqpp_cli.main import main

    images = tmp_path / "images"
    images.mkdir()
    Image.new("RGB", (8, 8)).save(images / "a.png")
    (images / "a.txt").write_text("a cat")
    options = [one.replace("FOLDER", str(images)) for one in options]
    page = ["--gallery", str(tmp_path / "page.html"), "--output", str(tmp_path / "v.parquet")]
    page = [word for word in page if "--gallery" not in options or word not in page[:2]]
    # There is no such model, which would be told otherwise.
    words = ["assess", "rahf", "--image-dir", str(images), "--model", str(tmp_path / "none")]
    try:
        assert main([*words, *page, *options]) == 2
    except SystemExit as ended:
        assert ended.code == 2
    assert said in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["images"]
