"""Collections of captions, and the models on them."""

import numpy as np
import pytest

from pqpp_models.text.arrays import normalise_rows
from pqpp_models.text.calibration import SAME
from pqpp_models.text.collection.collection import Collection, average_labels, compute_similarities
from pqpp_models.text.collection.model import apply_layers, square_distances
from pqpp_models.text.reading.words import WordTables

RANDOM = np.random.default_rng(0)
NO_WORDS = WordTables.build([])
VECTORS = {2: RANDOM.normal(size=(40, 6)), 1: RANDOM.normal(size=(40, 6)) + 3}


def make_collection():
    return Collection.build(VECTORS, 30, NO_WORDS)


def test_vectors_are_centred_and_normalised():
    built = make_collection()
    assert len(built.vectors[1]) == 40
    np.testing.assert_allclose(np.linalg.norm(built.vectors[1], axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(built.means[1], VECTORS[1].mean(axis=0), atol=1e-5)
    assert not built.means[2].any()
    result = built.centre_and_normalise({2: VECTORS[2].astype(np.float32)})
    np.testing.assert_allclose(result[2], built.vectors[2], atol=1e-6)


def test_excludes_caption_from_own_neighbours():
    built = make_collection()
    similarity = compute_similarities(built.vectors[2][:5], built.vectors[2])
    assert (similarity[np.arange(5), np.arange(5)] == -1).all()
    assert (similarity < SAME).all()


def test_excluding_self_equals_collection_without_it():
    built = make_collection()
    member = {layer: array[:1] for layer, array in built.vectors.items()}
    rest = {k: v[1:] for k, v in built.vectors.items()}
    rest = Collection(rest, built.means, 29, NO_WORDS)
    np.testing.assert_allclose(
        built.measure_density(member)[:, :3], rest.measure_density(member)[:, :3], atol=1e-6
    )
    labels = RANDOM.normal(size=(30, 2)).astype(np.float32)
    np.testing.assert_allclose(
        average_labels(member[2], built.vectors[2][:30], labels),
        average_labels(member[2], rest.vectors[2][:29], labels[1:]),
        atol=1e-5,
    )


def test_features_do_not_depend_on_batch():
    built = make_collection()
    rows = {layer: normalise_rows(RANDOM.normal(size=(700, 6))) for layer in VECTORS}
    together = built.measure_density(rows)
    alone = built.measure_density({layer: array[-1:] for layer, array in rows.items()})
    np.testing.assert_allclose(together[-1:], alone, atol=1e-5)
    labels = RANDOM.normal(size=(30, 2)).astype(np.float32)
    averages = average_labels(rows[2], built.vectors[2][:30], labels)
    assert averages.shape == (700, 3 * 2)
    last = average_labels(rows[2][-1:], built.vectors[2][:30], labels)
    np.testing.assert_allclose(averages[-1:], last, atol=1e-5)


def test_square_distances_match_scipy():
    distance = pytest.importorskip("scipy.spatial.distance")
    first, second = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(5, 3))
    expected = distance.cdist(first, second) ** 2
    np.testing.assert_allclose(square_distances(first, second), expected, atol=1e-9)


def test_apply_layers_matches_torch():
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    rows = RANDOM.normal(size=(5, 3)).astype(np.float32)
    layers = [(one.weight.detach().numpy(), one.bias.detach().numpy()) for one in module[::2]]
    with torch.no_grad():
        expected = module(torch.from_numpy(rows)).numpy()
    np.testing.assert_allclose(apply_layers(rows, layers), expected, atol=1e-5)


def test_leave_one_out_predictions_match_refit():
    fitting = pytest.importorskip("pqpp_models.text.training.teacher_student")
    settings = fitting.FitSettings(kernel_layers=(2,), ridge=1.0)
    rows = {"2": normalise_rows(RANDOM.normal(size=(50, 4))), "features": RANDOM.random((50, 3))}
    goals = RANDOM.normal(size=(50, 2))
    goals -= goals.mean(axis=0)
    _, left_out = fitting.fit_ridge(rows, goals, settings)
    others = np.arange(50) != 7
    shifted = np.vstack([goals[others], -goals[others].sum(axis=0)])[:-1]
    ridge, _ = fitting.fit_ridge({k: v[others] for k, v in rows.items()}, shifted, settings)
    predicted = ridge({k: v[[7]] for k, v in rows.items()})[0]
    np.testing.assert_allclose(left_out[7], predicted, atol=0.05)
