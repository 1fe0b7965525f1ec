"""The prompts of a folder of images: each has one, or one line says which does not."""

import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from pqpp_models import PredictorError  # noqa: E402
from pqpp_models.rahf.gallery import read_folder  # noqa: E402


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ('{"file_name": "a.png", "prompt": "  "}', "has the prompt '  ', which says nothing"),
        ('{"file_name": "a.png", "prompt": ""}', "has the prompt '', which says nothing"),
        ('{"file_name": "a.png", "prompt": null}', "has no prompt"),
        ('{"file_name": "a.png"}', "has no prompt"),
        ('{"file_name": "a.png", "prompt": 7}', "has the prompt 7, which says nothing"),
        ('{"file_name": "a.png", "prompt": "\xe9"}', "are not readable .UnicodeDecodeError"),
        (None, "has the prompt '', which says nothing"),
    ],
)
def test_an_image_without_a_prompt_is_refused(tmp_path, metadata, said):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    if metadata is None:
        (tmp_path / "a.txt").write_text(" \n")
    else:
        (tmp_path / "metadata.jsonl").write_bytes(metadata.encode("latin-1"))
    with pytest.raises(PredictorError, match=said) as refusal:
        read_folder(tmp_path)
    assert "\n" not in str(refusal.value)


def test_a_text_takes_the_place_of_an_empty_prompt_in_a_table(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    (tmp_path / "metadata.csv").write_text("file_name,prompt,text\na.png,,a cat\n")
    assert [one.prompt for one in read_folder(tmp_path)] == ["a cat"]


def test_the_command_says_in_one_line_that_a_prompt_is_no_text(tmp_path, capsys):
    from pqpp_cli.main import main

    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    (tmp_path / "a.txt").write_bytes("caf\xe9".encode("latin-1"))
    assert main(["feedback", str(tmp_path), "--model", str(tmp_path)]) == 2
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert "a.txt cannot be read as a prompt" in line and "save it as UTF-8 text" in line
