"""The CLIP predictor: pairs, aggregation, learning on generated images, saving and loading."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

torch = pytest.importorskip("torch", reason="the CLIP predictor needs torch")
pytest.importorskip("transformers", reason="the CLIP predictor needs transformers")
Image = pytest.importorskip("PIL.Image", reason="the CLIP predictor needs pillow")

from support.tiny_models import import_trainer, save_clip, save_siglip, save_text_encoder  # noqa: E402

from pqpp_models import ModelError, Predictor, PredictorError  # noqa: E402
from pqpp_models.clip.modeling_clip_predictor import ClipForPerformancePrediction  # noqa: E402
from pqpp_models.images.pairs import read_pairs, score_rows  # noqa: E402
from pqpp_models.predict import predict  # noqa: E402

GRAY = np.full((16, 16, 3), 128, dtype=np.uint8)


def make_image(brightness):
    return Image.fromarray(np.full((16, 16, 3), brightness, dtype=np.uint8))


@pytest.fixture(scope="module")
def backbone(tmp_path_factory):
    return str(save_clip(tmp_path_factory.mktemp("clip")))


def new_predictor(backbone, **fields):
    from transformers import AutoProcessor

    from pqpp_models.clip.predictor import ClipPredictor

    torch.manual_seed(0)
    model = ClipForPerformancePrediction.from_backbone(backbone, **fields)
    return ClipPredictor(model, AutoProcessor.from_pretrained(backbone), device="cpu")


def make_rows(*relevances, model="clip"):
    return [
        {"prompt": "a", f"{model}_images": [GRAY] * len(one), f"{model}_relevance": one}
        for one in relevances
    ]


@pytest.mark.parametrize(
    ("relevance", "precision", "reciprocal_rank"),
    [([1, 0, 1], 0.2, 1.0), ([0, 0, 0], 0.0, 0.0), ([0] * 11 + [1], 0.0, 1 / 12), ([1] * 25, 1, 1)],
)
@pytest.mark.parametrize("aggregation", ["threshold", "expected"])
def test_aggregations_agree_on_binary_relevance(relevance, precision, reciprocal_rank, aggregation):
    pairs = read_pairs(make_rows(relevance, [0, 1]), "retrieval", 25)
    targets = ["clip_p10", "mean_rr"]
    scores = score_rows(pairs.labels.astype(float), pairs, targets, aggregation)
    assert scores[0] == pytest.approx([precision, reciprocal_rank])
    assert scores[1] == pytest.approx([0.1, 0.5])


def test_expected_reciprocal_rank_by_hand():
    pairs = read_pairs(make_rows([0, 0]), "retrieval", 25)
    scores = score_rows(np.array([0.5, 0.4]), pairs, ["clip_rr", "clip_p10"], "expected")
    assert scores[0] == pytest.approx([0.5 + 0.5 * 0.4 / 2, 0.09])


def test_hbpp_averages_images_and_models():
    rows = [{"prompt": "a", "glide_images": [GRAY] * 2, "sdxl_images": [GRAY]}]
    pairs = read_pairs(rows, "generation", 25)
    targets = ["glide_hbpp", "sdxl_hbpp", "mean_hbpp"]
    scores = score_rows(np.array([0.0, 1.0, 1.0]), pairs, targets, "threshold")
    assert scores.tolist() == [[0.5, 2.0, 1.25]]


@pytest.mark.parametrize("row", ["a", {"prompt": "a"}, {"images": [GRAY]}])
def test_rejects_rows_without_prompt_or_images(backbone, row):
    with pytest.raises(PredictorError, match="index 1"):
        new_predictor(backbone).predict([{"prompt": "a", "images": [GRAY]}, row])


def test_predicts_tables_with_images(backbone):
    table = pd.DataFrame({"prompt": ["a", "b"], "images": [[GRAY], [make_image(9), GRAY]]})
    predictor = new_predictor(backbone)
    expected = predictor.predict(table.to_dict("records"), "mean_hbpp")[:, 0].tolist()
    assert predict(table, "mean_hbpp", predictor)["mean_hbpp"].tolist() == expected


def test_names_target_without_images(backbone):
    predictor = new_predictor(backbone, targets=["sdxl_hbpp"])
    with pytest.raises(PredictorError, match="add a list of images in the column sdxl_images"):
        predictor.predict([{"prompt": "a", "glide_images": [GRAY]}])


def test_saved_predictor_predicts_the_same(backbone, tmp_path):
    predictor = new_predictor(backbone, task="retrieval", aggregation="expected")
    rows = [{"prompt": "a cat", "images": [make_image(b) for b in (0, 100, 250)]}]
    folder = predictor.save_pretrained(tmp_path / "saved")
    assert {path.suffix for path in folder.iterdir()} <= {".json", ".safetensors", ".md"}
    loaded = Predictor.from_pretrained(folder)
    assert loaded.targets == ("mean_p10", "mean_rr")
    assert np.array_equal(loaded.predict(rows), predictor.predict(rows))


def test_score_pairs_matches_forward(backbone):
    from pqpp_backbones.images.embedding import to_pixels, tokenize
    from pqpp_models.clip.modeling_clip_predictor import score_pairs

    predictor = new_predictor(backbone)
    rows = [{"prompt": p, "images": [make_image(b) for b in (0, 90, 250)]} for p in ("a", "a cat")]
    pairs = read_pairs(rows, "generation", 25)
    scores = score_pairs(predictor.model, predictor.processor, pairs, 4)
    prompts = [pairs.prompts[row] for row in pairs.row]
    inputs = tokenize(predictor.processor, prompts, predictor.model.config.backbone_config)
    inputs["pixel_values"] = to_pixels(predictor.processor, pairs.images)
    with torch.no_grad():
        expected = predictor.model(**inputs).scores[:, 0].numpy()
    assert scores.shape == (6,) and np.ptp(scores) > 0
    np.testing.assert_allclose(scores, expected, atol=1e-6)


@pytest.fixture
def generated(tmp_path):
    """A dataset in which the brightness of an image is its performance."""
    datasets = pytest.importorskip("datasets")

    def split(n, seed):
        random = np.random.default_rng(seed)
        brightness = random.integers(0, 256, n)
        paths = [str(tmp_path / f"{seed}-{index}.png") for index in range(n)]
        for path, value in zip(paths, brightness, strict=True):
            make_image(value).save(path)
        images = [[path] * 2 for path in paths]
        columns = {"prompt": ["a cat"] * n, "images": images, "mean_hbpp": 3 * brightness / 255 - 1}
        return datasets.Dataset.from_dict(columns)

    folder = tmp_path / "generated"
    for name, n, seed in (("train", 64, 0), ("validation", 32, 1)):
        split(n, seed).to_parquet(folder / "data" / f"{name}.parquet")
    return folder


@pytest.mark.parametrize(
    "tuning", ["frozen", "lora", pytest.param("full", marks=pytest.mark.daily)]
)
def test_learns_from_generated_images(backbone, generated, tmp_path, cache, tuning):
    if tuning == "lora":
        pytest.importorskip("peft", reason="adapters need peft")
    script = import_trainer("clip")
    recipe = script.ClipRecipe(
        dataset=str(generated),
        model=backbone,
        output_dir=str(tmp_path / "run"),
        tuning=tuning,
        num_train_epochs=10,
        per_device_train_batch_size=16,
        learning_rate=3e-3,
        head_dropout=0.1,
        early_stopping_patience=0,
    )
    validation = script.read_labelled_pairs(recipe, "validation")
    outcome = script.train(recipe)
    assert outcome.validation["kendall"] > 0.6
    predictor = Predictor.from_pretrained(tmp_path / "run" / "model")
    result = script.correlate_targets(
        predictor.predict(validation[0].table), validation[0].targets, ["mean_hbpp"]
    )
    assert result["kendall"] == pytest.approx(outcome.validation["kendall"], abs=1e-2)


def test_accepts_siglip(tmp_path):
    model = ClipForPerformancePrediction.from_backbone(str(save_siglip(tmp_path)))
    output = model(
        input_ids=torch.ones(2, 8, dtype=torch.long), pixel_values=torch.zeros(2, 3, 16, 16)
    )
    assert output.scores.shape == (2, 1)


def test_rejects_models_that_are_not_clip_like(tmp_path):
    bert = save_text_encoder(tmp_path / "bert")
    with pytest.raises(ModelError, match=r"bert is a model of type 'bert', which does not"):
        ClipForPerformancePrediction.from_backbone(str(bert))
    with pytest.raises(ModelError, match=r"is not a CLIP-like model that transformers can load"):
        ClipForPerformancePrediction.from_backbone(str(tmp_path))


def test_missing_image_dir_names_download(tmp_path):
    from pqpp_files.errors import PqppError
    from pqpp_models.training.data import get_image_options

    recipe = SimpleNamespace(dataset="pqpp", subset=None, image_dir=None)
    with pytest.raises(PqppError, match=r"does not include its images; .*33\.5 GB, .*https://"):
        get_image_options(recipe)
    recipe.image_dir = "images"
    assert get_image_options(recipe) == {"image_dir": "images"}
    # Other datasets may include their images.
    assert get_image_options(SimpleNamespace(dataset="mine", subset=None, image_dir=None)) == {}
