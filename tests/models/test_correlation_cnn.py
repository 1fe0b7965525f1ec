"""The correlation CNN: matrices of any size, learning, saving and loading."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the correlation CNN needs torch")
pytest.importorskip("transformers", reason="the correlation CNN needs transformers")

from support.tiny_models import import_trainer  # noqa: E402

from pqpp_models import Predictor, PredictorError  # noqa: E402
from pqpp_models.correlation_cnn.modeling_correlation_cnn import (  # noqa: E402  # noqa: E402
    CorrelationCnnConfig,
    CorrelationCnnForPerformancePrediction,
)
from pqpp_models.correlation_cnn.predictor import (  # noqa: E402
    CorrelationCnnPredictor,
    compute_cosine_similarities,
)


def new_predictor(**fields):
    torch.manual_seed(0)
    fields = {"filters": [4, 4, 8, 8], "hidden_size": 16, "targets": ["mean_rr"], **fields}
    model = CorrelationCnnForPerformancePrediction(CorrelationCnnConfig(**fields))
    return CorrelationCnnPredictor(model, device="cpu")


def make_embeddings(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 5))


def test_the_architecture_is_the_papers():
    model = CorrelationCnnForPerformancePrediction(CorrelationCnnConfig(channels=2))
    convolutions = [m for m in model.modules() if isinstance(m, torch.nn.Conv2d)]
    assert [c.out_channels for c in convolutions] == [64, 128, 256, 512]
    assert model.hidden.out_features == 1024


@pytest.mark.parametrize("size", [1, 2, 4, 7, 25, 40])
def test_accepts_matrices_of_any_size(size):
    predictor = new_predictor(matrix_size=size)
    assert predictor.predict([{"embeddings": make_embeddings(size)}]).shape == (1, 1)
    assert predictor.predict([{"embeddings": make_embeddings(size + 3)}]).shape == (1, 1)


def test_crops_and_pads_matrices():
    predictor = new_predictor(matrix_size=4)
    long = compute_cosine_similarities(make_embeddings(9))
    short = np.zeros((4, 4))
    short[:2, :2] = long[:2, :2]
    rows = [{"similarities": m} for m in (long, long[:4, :4], long[:2, :2], short)]
    predictions = predictor.predict(rows)[:, 0]
    assert predictions[0] == predictions[1] and predictions[2] == predictions[3]


def test_embeddings_and_similarities_predict_the_same():
    vectors = make_embeddings(6)
    rows = [{"embeddings": vectors}, {"similarities": compute_cosine_similarities(vectors)}]
    assert np.ptp(new_predictor().predict(rows)) < 1e-6


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({}, "has no similarities"),
        ({"similarities": np.zeros((2, 3))}, "of shape"),
        ({"similarities": np.zeros((2, 4, 4))}, "per channel .1.; got 2"),
        ({"similarities": [[1.0, float("nan")], [0.0, 1.0]]}, "NaN or infinity"),
        ({"similarities": [[1.0], [0.0, 1.0]]}, "ragged"),
        ({"embeddings": [["a"]]}, "ragged or non-numeric"),
    ],
)
def test_rejects_invalid_rows(row, message):
    with pytest.raises(PredictorError, match=message):
        new_predictor().predict([row])


def test_saved_predictor_predicts_the_same(tmp_path):
    predictor = new_predictor(channels=2, targets=["clip_rr", "mean_p10"])
    rows = [{"clip_embeddings": make_embeddings(25), "blip2_embeddings": make_embeddings(20, 1)}]
    folder = predictor.save_pretrained(tmp_path / "saved")
    loaded = Predictor.from_pretrained(folder)
    assert np.array_equal(loaded.predict(rows), predictor.predict(rows))
    assert loaded.predict(rows, "mean_p10").shape == (1, 1)


def test_training_learns(tmp_path, cache):
    datasets = pytest.importorskip("datasets")

    def split(n, seed):
        # Prompts with similar results have high scores.
        random = np.random.default_rng(seed)
        spread = random.uniform(0, 2, n)
        matrices = [compute_cosine_similarities(1 + s * random.normal(size=(4, 8))) for s in spread]
        scores = [float(np.clip(1 - s / 2, 0, 1)) for s in spread]
        columns = {"prompt": ["a"] * n, "similarities": [m.tolist() for m in matrices]}
        return datasets.Dataset.from_dict({**columns, "mean_p10": scores})

    for name, n, seed in (("train", 128, 0), ("validation", 64, 1)):
        split(n, seed).to_parquet(tmp_path / "made" / "data" / f"{name}.parquet")
    script = import_trainer("correlation_cnn")
    recipe = script.CnnRecipe(
        dataset=str(tmp_path / "made"),
        targets=["mean_p10"],
        output_dir=str(tmp_path / "run"),
        num_train_epochs=4,
        per_device_train_batch_size=16,
        learning_rate=1e-3,
    )
    assert script.train(recipe).validation["kendall"] > 0.5
    predictor = Predictor.from_pretrained(tmp_path / "run" / "model")
    assert predictor.predict(script.load_rows(recipe, "validation").table).shape == (64, 1)
