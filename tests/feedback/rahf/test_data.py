"""The generated stand-in, the augmentations and the examples made of them."""

import json

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.richhf_scenes import (  # noqa: E402
    COLOURS,
    SHAPES,
    heatmap,
    make_scene,
    scene_row,
    write_scenes,
)

from pqpp_datasets.richhf.richhf import row_of  # noqa: E402
from pqpp_datasets.richhf.tfrecord import read_records  # noqa: E402
from pqpp_feedback.rahf.examples import augment  # noqa: E402
from pqpp_metrics.functional.keywords import prompt_tokens  # noqa: E402


def test_planted_words_labels_and_scores_agree():
    scenes = [make_scene(0, n) for n in range(300)]
    for scene in scenes:
        tokens = prompt_tokens(scene.prompt)
        assert len(tokens) == len(scene.labels)
        wrong = [token for token, label in zip(tokens, scene.labels, strict=True) if not label]
        assert scene.scores["alignment"] == 1 - 0.25 * len(wrong)
        assert not set(wrong) - {*COLOURS, *SHAPES, "white", "gray", "black"}
        assert (scene.scores["plausibility"] < 1) == bool(scene.artifact_points[0])
        assert scene.scores["overall"] * 12 == pytest.approx(round(scene.scores["overall"] * 12))
        ungrounded = [word for word in wrong if word not in ("white", "gray", "black")]
        assert bool(ungrounded) == bool(scene.misalignment_points[0])
    share = np.mean([not label for scene in scenes for label in scene.labels])
    assert 0.05 < share < 0.15


def test_a_changed_colour_is_not_in_the_image():
    """Without artifacts and grain, count the pixels of each colour word."""
    checked = 0
    for n in range(200):
        scene = make_scene(1, n, size=96, implausible=0.0)
        if scene.scores["aesthetics"] < 1:
            continue
        for token, label in zip(prompt_tokens(scene.prompt), scene.labels, strict=True):
            if token in COLOURS:
                n_pixels = (scene.image == np.array(COLOURS[token])).all(axis=-1).sum()
                assert (n_pixels > 50) == bool(label)
                checked += 1
    assert checked > 60


def test_scenes_are_written_in_the_record_format(tmp_path):
    folder = write_scenes(tmp_path / "scenes", {"train": 3, "validation": 2, "test": 0}, seed=4)
    rows = [
        row_of(folder / "richhf" / "train.tfrecord", record)
        for record in read_records(folder / "richhf" / "train.tfrecord")
    ]
    expected = scene_row(make_scene(4, 1))
    assert rows[1]["token_labels"] == make_scene(4, 1).labels
    assert rows[1]["implausibility_map"]["bytes"] == expected["implausibility_map"]
    assert rows[1]["plausibility"] == pytest.approx(expected["plausibility"])
    lines = (folder / "points" / "validation.jsonl").read_text().splitlines()
    points = [json.loads(one) for one in lines]
    assert [one["uid"] for one in points] == ["scene-4-3", "scene-4-4"]
    assert not (folder / "richhf" / "test.tfrecord").exists()


class TestAugmentation:
    def marked(self):
        """Return an image and a map that are white in the same square."""
        pixels = np.zeros((40, 40), dtype=np.uint8)
        pixels[10:20, 24:34] = 255
        return Image.fromarray(pixels).convert("RGB"), Image.fromarray(pixels)

    def test_the_same_state_gives_the_same_result(self):
        image, mark = self.marked()
        results = [augment(np.random.default_rng(5), image, [mark]) for _ in range(2)]
        (first, (one,)), (again, (two,)) = results
        assert np.array_equal(first, again) and np.array_equal(one, two)

    def test_image_and_maps_are_cropped_alike(self):
        image, mark = self.marked()
        sizes = set()
        for seed in range(60):
            found, (one,) = augment(np.random.default_rng(seed), image, [mark])
            sizes.add(found.size)
            assert found.size == one.size
            bright = np.asarray(found.convert("L")) > 128
            assert (bright != (np.asarray(one) > 128)).mean() < 0.02
            assert min(found.size) >= 0.8 * 40 - 1
        assert (40, 40) in sizes and len(sizes) > 10

    def test_chances_are_the_papers(self):
        _, mark = self.marked()
        coloured = Image.merge("RGB", [mark, mark, Image.new("L", mark.size, 77)])
        found = [augment(np.random.default_rng(n), coloured, [mark])[0] for n in range(1000)]
        crops = sum(one.size != (40, 40) for one in found)
        grey = sum(np.ptp(np.asarray(one, dtype=int), axis=-1).max() == 0 for one in found)
        assert 440 < crops < 560 and 70 < grey < 130


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    pytest.importorskip("torch", reason="examples need torch")
    from pqpp_feedback.rahf.examples import load_split

    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder, {"train": 6, "validation": 2, "test": 2})
    with pytest.MonkeyPatch.context() as patch:
        import datasets

        patch.setattr(datasets.config, "HF_DATASETS_CACHE", folder / "cache")
        return load_split("train", str(folder / "richhf"), str(folder / "pickapic"))


class TestExamples:
    def examples(self, table, **options):
        from support.tiny_rahf import tiny_processor

        from pqpp_feedback.rahf.examples import Examples

        return Examples(table, tiny_processor(options.pop("variant", "multi_head")), 32, **options)

    def test_a_row_is_what_was_planted(self, table):
        examples, scene = self.examples(table), make_scene(0, 2)
        found = examples[2]
        assert found["prompt"] == scene.prompt and found["labels"] == scene.labels
        assert np.array_equal(np.asarray(found["image"]), scene.image)
        blocks = heatmap(scene.artifact_points, 512).reshape(32, 16, 32, 16)
        assert found["heatmaps"][0] == pytest.approx(blocks.mean(axis=(1, 3)), abs=0.01)
        assert found["scores"][0] == pytest.approx(scene.scores["plausibility"])

    def test_epochs_differ_and_repeat(self, table):
        examples = self.examples(table, augmented=True, seed=3)
        seen = []
        for epoch in (0, 1, 0):
            examples.set_epoch(epoch)
            seen.append([np.asarray(examples[n]["image"]) for n in range(6)])
        assert all(np.array_equal(a, b) for a, b in zip(seen[0], seen[2], strict=True))
        assert any(a.shape != b.shape for a, b in zip(seen[0], seen[1], strict=True))

    @pytest.mark.parametrize("variant", ["multi_head", "augmented_prompt"])
    def test_a_batch_can_be_learned_from(self, table, variant):
        from support.tiny_rahf import tiny_feedback

        examples = self.examples(table, variant=variant)
        batch = examples.collate([examples[n] for n in range(3)])
        found = tiny_feedback(variant).model(**batch)
        assert found.loss.item() > 0 and found.keyword_loss.item() > 0
        assert found.heatmap_loss.item() > 0 and found.score_loss.item() > 0

    def test_first_only_what_needs_image_and_prompt_has_labels(self, table):
        from support.tiny_rahf import tiny_feedback

        examples, plain = self.examples(table, joint_first=2), self.examples(table)
        for epoch, other_outputs_learn in enumerate((False, False, True)):
            examples.set_epoch(epoch)
            found, full = examples[2], plain[2]
            for kind, joint in (("heatmaps", [1]), ("scores", [1])):
                expected = np.full_like(full[kind], np.nan)
                shown = slice(None) if other_outputs_learn else joint
                expected[shown] = full[kind][shown]
                assert np.array_equal(found[kind], expected, equal_nan=True)
            assert found["labels"] == full["labels"] and found["shown"] == full["shown"]
            model = tiny_feedback().model.train()
            loss = model(**examples.collate([examples[n] for n in range(3)])).loss
            loss.backward()
            learns = {
                name: any(one.grad.abs().sum() > 0 for one in head.parameters())
                for heads in (model.heatmap_heads, model.score_heads)
                for name, head in heads.items()
            }
            assert {n for n, on in learns.items() if on} == (
                set(learns) if other_outputs_learn else {"misalignment", "alignment"}
            )
            assert loss.item() > 0  # no NaN
