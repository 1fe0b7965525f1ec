"""Embeddings of predictors, and their projection to two dimensions."""

import numpy as np
import pytest

from pqpp_models import Predictor
from pqpp_models.bench.run import project_to_2d


def make_clusters(n=40):
    generator = np.random.default_rng(2)
    return np.concatenate([generator.normal(size=(n, 8)), generator.normal(size=(n, 8)) + 20])


def test_projection_matches_scikit_learn_tsne():
    manifold = pytest.importorskip("sklearn.manifold")
    points = make_clusters(10).astype(np.float32)
    expected = manifold.TSNE(perplexity=19 / 3, init="pca", random_state=0).fit_transform(points)
    np.testing.assert_allclose(project_to_2d(points), expected, rtol=1e-6)


def test_static_distances_are_measured_between_embeddings():
    predictor = Predictor.from_pretrained("static")
    prompts = ["A man riding a wave on a surfboard.", "qwx zzyv 77", "?"]
    points = predictor.embed(prompts)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-5)
    nearest = np.sort(points @ (predictor.references.T / 127.0), axis=1)[:, -5:]
    expected = predictor.predict_with_uncertainty(prompts).distance
    np.testing.assert_allclose(1 - nearest.mean(axis=1), expected, atol=1e-5)
    assert predictor.embed([]).shape == (0, points.shape[1])


def test_bert_embeddings_are_inputs_of_its_head(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from support.tiny_models import save_bert

    folder = save_bert(tmp_path / "bert", ["mean_rr"])
    predictor = Predictor.from_pretrained(folder).to("cpu")
    prompts = ["a cat", "?", "a longer prompt with words"]
    with torch.no_grad():
        scores = torch.sigmoid(predictor.model.head(torch.from_numpy(predictor.embed(prompts))))
    np.testing.assert_allclose(scores.numpy(), predictor.predict(prompts), atol=1e-5)
