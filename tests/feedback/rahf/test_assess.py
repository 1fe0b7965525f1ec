"""`pqpp assess rahf` with a damaged image among others."""

import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")


def test_damaged_image_is_a_row_with_a_reason(tmp_path):
    from support.tiny_rahf import make_feedback

    from pqpp_cli.main import main
    from pqpp_feedback.assess.verdicts import read_verdicts

    images = tmp_path / "images"
    images.mkdir()
    for name in "abc":
        Image.new("RGB", (40, 40), "red").save(images / f"{name}.png")
        (images / f"{name}.txt").write_text("a cat")
    # A chunk without a name is a SyntaxError for pillow.
    content = (images / "b.png").read_bytes()
    (images / "b.png").write_bytes(content.replace(b"IDAT", b"\x01\x02\x03\x04"))
    saved = make_feedback().save_pretrained(tmp_path / "rahf")
    words = ["assess", "rahf", "--image-dir", str(images), "--model", str(saved)]
    words += ["--batch-size", "2", "--output", str(tmp_path / "verdicts.parquet")]
    assert main([*words, "--gallery", str(tmp_path / "page.html"), "--embed"]) == 0
    rows = list(read_verdicts(tmp_path / "verdicts.parquet"))
    assert [row["score"] is None for row in rows] == [False, True, False]
    assert "cannot read the image" in rows[1]["reason"]
    assert "cannot read the image" in (tmp_path / "page.html").read_text()
