"""`pqpp assess vistar`: what it writes, and what it refuses."""

import pytest

pytest.importorskip("rapidocr", reason="text rendering needs pqpp[assess]")

from support.drawn_texts import draw_text

from pqpp_cli.main import main
from pqpp_feedback.assess.verdicts import read_verdicts


@pytest.fixture
def folder(tmp_path):
    images = tmp_path / "images"
    images.mkdir()
    image, text = draw_text(0)
    image.save(images / "a.png")
    image.convert("CMYK").save(images / "b.jpg")
    image.resize((4, 4)).save(images / "c.png")
    for name in "abc":
        (images / f"{name}.txt").write_text(f'A sign: "{text}"')
    return images


def test_text_rendering_needs_no_model(folder, tmp_path, capsys):
    out, again = tmp_path / "v.parquet", tmp_path / "w.parquet"
    command = ["assess", "vistar", "--only", "text_rendering"]
    assert main([*command, "--image-dir", str(folder), "--output", str(out)]) == 0
    rows = list(read_verdicts(out))
    assert [row["score"] == 1.0 for row in rows] == [True, True, False]
    assert rows[0]["routine"] == "after-vistar-text_rendering"
    assert rows[2]["score"] is None and "4" in rows[2]["reason"]
    assert main([*command, "--evidence", str(out), "--output", str(again)]) == 0
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize(
    "given, said",
    [
        (["--only", "smell"], "--only smell: choose among text_rendering"),
        (["--model", "eye=x"], "--model eye=x: write ROLE=NAME_OR_PATH"),
        (
            ["--only", "light", "--model", "detector=no-such"],
            "detector: there is no folder no-such",
        ),
    ],
)
def test_refused_in_one_line(folder, tmp_path, capsys, given, said):
    out = tmp_path / "v.parquet"
    assert main(["assess", "vistar", "--image-dir", str(folder), "--output", str(out), *given]) == 2
    told = capsys.readouterr().err
    assert said in told and told.strip().count("\n") == 0
