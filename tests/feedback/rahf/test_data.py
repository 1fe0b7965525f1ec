"""RichHF examples: augmentations, epochs, batches and hidden labels."""

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.richhf_scenes import draw_map, make_scene, write_scenes  # noqa: E402

from pqpp_feedback.rahf.examples import augment  # noqa: E402


class TestAugmentation:
    def make_marked_images(self):
        """Return an image and a map that are white in the same square."""
        pixels = np.zeros((40, 40), dtype=np.uint8)
        pixels[10:20, 24:34] = 255
        return Image.fromarray(pixels).convert("RGB"), Image.fromarray(pixels)

    def test_crops_image_and_maps_alike(self):
        image, mark = self.make_marked_images()
        sizes = set()
        for seed in range(60):
            cropped, (cropped_map,) = augment(np.random.default_rng(seed), image, [mark])
            sizes.add(cropped.size)
            assert cropped.size == cropped_map.size
            bright = np.asarray(cropped.convert("L")) > 128
            assert (bright != (np.asarray(cropped_map) > 128)).mean() < 0.02
            assert min(cropped.size) >= 0.8 * 40 - 1
        assert (40, 40) in sizes and len(sizes) > 10

    def test_augmentation_rates_match_the_paper(self):
        _, mark = self.make_marked_images()
        coloured = Image.merge("RGB", [mark, mark, Image.new("L", mark.size, 77)])
        images = [augment(np.random.default_rng(n), coloured, [mark])[0] for n in range(1000)]
        crops = sum(i.size != (40, 40) for i in images)
        grey = sum(np.ptp(np.asarray(i, dtype=int), axis=-1).max() == 0 for i in images)
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
    def make_examples(self, table, **options):
        from support.tiny_rahf import make_processor

        from pqpp_feedback.rahf.examples import Examples

        return Examples(table, make_processor(options.pop("variant", "multi_head")), 32, **options)

    def test_example_matches_the_scene(self, table):
        examples, scene = self.make_examples(table), make_scene(0, 2)
        example = examples[2]
        assert example["prompt"] == scene.prompt and example["labels"] == scene.labels
        assert np.array_equal(np.asarray(example["image"]), scene.image)
        blocks = draw_map(scene.artifact_points, 512).reshape(32, 16, 32, 16)
        assert example["heatmaps"][0] == pytest.approx(blocks.mean(axis=(1, 3)), abs=0.01)
        assert example["scores"][0] == pytest.approx(scene.scores["plausibility"])

    def test_augmentations_differ_by_epoch(self, table):
        examples = self.make_examples(table, augmented=True, seed=3)
        epochs = []
        for epoch in (0, 1, 0):
            examples.set_epoch(epoch)
            epochs.append([np.asarray(examples[n]["image"]) for n in range(6)])
        assert all(np.array_equal(a, b) for a, b in zip(epochs[0], epochs[2], strict=True))
        assert any(a.shape != b.shape for a, b in zip(epochs[0], epochs[1], strict=True))

    @pytest.mark.parametrize("variant", ["multi_head", "augmented_prompt"])
    def test_batch_has_all_losses(self, table, variant):
        from support.tiny_rahf import make_feedback

        examples = self.make_examples(table, variant=variant)
        batch = examples.collate([examples[n] for n in range(3)])
        output = make_feedback(variant).model(**batch)
        assert output.loss.item() > 0 and output.keyword_loss.item() > 0
        assert output.heatmap_loss.item() > 0 and output.score_loss.item() > 0

    def test_joint_first_hides_other_labels(self, table):
        from support.tiny_rahf import make_feedback

        examples, all_labels = self.make_examples(table, joint_first=2), self.make_examples(table)
        for epoch, other_outputs_learn in enumerate((False, False, True)):
            examples.set_epoch(epoch)
            example, full = examples[2], all_labels[2]
            for kind, joint in (("heatmaps", [1]), ("scores", [1])):
                expected = np.full_like(full[kind], np.nan)
                shown = slice(None) if other_outputs_learn else joint
                expected[shown] = full[kind][shown]
                assert np.array_equal(example[kind], expected, equal_nan=True)
            assert example["labels"] == full["labels"] and example["shown"] == full["shown"]
            model = make_feedback().model.train()
            loss = model(**examples.collate([examples[n] for n in range(3)])).loss
            loss.backward()
            learns = {
                name: any(p.grad.abs().sum() > 0 for p in head.parameters())
                for heads in (model.heatmap_heads, model.score_heads)
                for name, head in heads.items()
            }
            assert {n for n, on in learns.items() if on} == (
                set(learns) if other_outputs_learn else {"misalignment", "alignment"}
            )
            assert loss.item() > 0  # no NaN
