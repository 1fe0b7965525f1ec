"""The generated stand-in, the augmentations and the examples made of them."""

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.richhf_scenes import (  # noqa: E402
    heatmap,
    make_scene,
    write_scenes,
)

from pqpp_feedback.rahf.examples import augment  # noqa: E402


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
