"""Candidates for relevance judgments: PQPP's rule, and the command."""

import numpy as np
import pytest
from support.tiny_models import save_text_encoder

from pqpp_cli.main import main
from pqpp_engines.index.labels import find_candidates
from pqpp_files.read_table import read_table

CAPTIONS = [("beach.png", "two dogs run on a beach"), ("car.png", "a red car in the rain")]
CAPTIONS += [("beach.png", "sand and the sea"), ("dog.png", "a dog sleeps")]
CAPTIONS += [("sea.png", "the sea at night")]
IMAGES, TEXTS = map(list, zip(*CAPTIONS, strict=True))


def make_embed(vectors):
    """Return a function that looks up normalised embeddings."""

    def embed(texts):
        rows = np.array([vectors[text] for text in texts], dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return embed


def test_find_candidates_by_shared_words():
    candidates = find_candidates(["a dog by the sea", "red"], IMAGES, TEXTS)
    # The two captions of beach.png contain dog and sea; dog.png and sea.png have one of the two.
    assert candidates.query.tolist() == [0, 0, 0, 1]
    assert candidates.image == ["beach.png", "dog.png", "sea.png", "car.png"]
    assert candidates.score.tolist() == [1, 0.5, 0.5, 1]
    candidates = find_candidates(["a dog by the sea", "red"], IMAGES, TEXTS, threshold=1)
    assert candidates.image == ["beach.png", "car.png"]
    assert not find_candidates(["xylophone"], IMAGES, TEXTS).image


def test_find_candidates_agrees_with_brute_force():
    rng = np.random.default_rng(0)
    words = ["dog", "cat", "car", "sea", "sand", "rain", "road", "hill", "tree", "bird"]
    captions = [" ".join(rng.choice(words, 4)) for _ in range(300)]
    images = [f"{n}.png" for n in rng.integers(0, 120, 300)]
    queries = [" ".join(rng.choice(words, 2, replace=False)) for _ in range(70)]
    embed = make_embed({text: rng.normal(size=4) for text in [*captions, *queries]})
    candidates = find_candidates(queries, images, captions, embed, 0.2, 40, 25)
    names = list(dict.fromkeys(images))
    for number, query in enumerate(queries):
        scores, image_words = {}, {}
        for image, caption in zip(images, captions, strict=True):
            one, other = embed([query])[0], embed([caption])[0]
            scores[image] = max(scores.get(image, -1), float(one @ other))
            image_words[image] = image_words.get(image, set()) | set(caption.split())
        ranked = sorted((n for n in names if scores[n] > 0.2), key=lambda n: -scores[n])
        refined = [n for n in ranked[25:] if set(query.split()) <= image_words[n]]
        rows = np.flatnonzero(candidates.query == number)
        selected = [candidates.image[row] for row in rows]
        assert selected == [*ranked[:25], *refined][:40]
        np.testing.assert_allclose(candidates.score[rows], [scores[n] for n in selected], atol=1e-5)


@pytest.mark.parametrize("grades", ["pqpp", "binary"])
def test_candidates_command_prepares_a_study(grades, tmp_path, capsys, monkeypatch):
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("torch")
    Image = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "images").mkdir()
    for number, image in enumerate(dict.fromkeys(IMAGES)):
        Image.new("RGB", (8, 8), (40 * number, 0, 0)).save(tmp_path / "images" / image)
    lines = [f'{image},"{caption}"' for image, caption in CAPTIONS]
    (tmp_path / "captions.csv").write_text("\n".join(["image,caption", *lines]) + "\n")
    (tmp_path / "p.csv").write_text("prompt_id,prompt\n7,a dog by the sea\n8,red\n9,a xylophone\n")
    encoder = str(save_text_encoder(tmp_path / "encoder"))
    for options in (["--words"], ["--encoder", encoder, "--threshold", "-1"]):
        capsys.readouterr()
        words = ["search", "candidates", "captions.csv", "--file", "p.csv", *options]
        assert main([*words, "--output", "candidates.csv"]) == 0
        message = capsys.readouterr().err
        table = read_table("candidates.csv")
        if options == ["--words"]:
            assert "4 images to rate, for 2 of 3 prompts" in message
            assert table["image"] == ["beach.png", "dog.png", "sea.png", "car.png"]
            assert [str(one) for one in table["prompt_id"]] == ["7", "7", "7", "8"]
        else:
            assert "images to rate" in message and max(table.numbers("score")) <= 1
        study = f"{len(options)}.yaml"
        init = ["annotate", "init", study, "--file", "candidates.csv", "--image-dir", "images"]
        assert main([*init, "--set", f"task.grades={grades}"]) == 0
        assert f"created {study}" in capsys.readouterr().out
