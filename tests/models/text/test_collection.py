"""Collections, the regression on them, and the text ensemble."""

import json

import numpy as np
import pytest

from pqpp_models import TARGETS, Predictor
from pqpp_models.errors import CheckpointError, PredictorError, UnknownPredictorError
from pqpp_models.text.collection import SAME, Collection, density, similarities, unit
from pqpp_models.text.collection_data import made_up_prompts, read_captions
from pqpp_models.text.text_ensemble.model import network, squared_distances
from pqpp_models.text.words import WordTables

RANDOM = np.random.default_rng(0)
VECTORS = {2: RANDOM.normal(size=(40, 6)), 1: RANDOM.normal(size=(40, 6)) + 3}


def collection():
    return Collection.build(VECTORS, labelled=30, centred=(1,))


def test_vectors_have_length_one_around_the_mean():
    built = collection()
    assert len(built) == 40
    np.testing.assert_allclose(np.linalg.norm(built.vectors[1], axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(built.means[1], VECTORS[1].mean(axis=0), atol=1e-5)
    assert not built.means[2].any()
    again = built.project({2: VECTORS[2].astype(np.float32)})
    np.testing.assert_allclose(again[2], built.vectors[2], atol=1e-6)


def test_a_member_is_not_its_own_neighbour():
    built = collection()
    own = similarities(built.vectors[2][:5], built.vectors[2])
    assert (own[np.arange(5), np.arange(5)] == -1).all()
    assert (own < SAME).all()


def test_leaving_a_member_out_is_a_collection_without_it():
    built = collection()
    member = {layer: array[:1] for layer, array in built.vectors.items()}
    rest = Collection({k: v[1:] for k, v in built.vectors.items()}, built.means, labelled=29)
    np.testing.assert_allclose(
        built.density_features(member)[:, :3], rest.density_features(member)[:, :3], atol=1e-6
    )
    labels = RANDOM.normal(size=(30, 2)).astype(np.float32)
    np.testing.assert_allclose(
        built.neighbour_labels(member, labels, (2,)),
        rest.neighbour_labels(member, labels[1:], (2,)),
        atol=1e-5,
    )


def test_many_prompts_are_as_one_by_one():
    built = collection()
    rows = {layer: unit(RANDOM.normal(size=(700, 6))) for layer in VECTORS}
    together = built.density_features(rows)
    alone = built.density_features({layer: array[-1:] for layer, array in rows.items()})
    np.testing.assert_allclose(together[-1:], alone, atol=1e-5)
    labels = RANDOM.normal(size=(30, 2)).astype(np.float32)
    near = built.neighbour_labels(rows, labels, (2, 1))
    assert near.shape == (700, 2 * 3 * 2)
    last = {layer: array[-1:] for layer, array in rows.items()}
    np.testing.assert_allclose(near[-1:], built.neighbour_labels(last, labels, (2, 1)), atol=1e-5)


def test_density_rises_with_similarity():
    low, high = (
        density(np.full((1, 20), 0.2, np.float32)),
        density(np.full((1, 20), 0.9, np.float32)),
    )
    assert (high >= low).all() and (high > low).sum() > 15


def test_distances_are_those_of_scipy():
    distance = pytest.importorskip("scipy.spatial.distance")
    first, second = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(5, 3))
    expected = distance.cdist(first, second) ** 2
    np.testing.assert_allclose(squared_distances(first, second), expected, atol=1e-9)


def test_network_is_torchs():
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    rows = RANDOM.normal(size=(5, 3)).astype(np.float32)
    layers = [(one.weight.detach().numpy(), one.bias.detach().numpy()) for one in module[::2]]
    with torch.no_grad():
        expected = module(torch.from_numpy(rows)).numpy()
    np.testing.assert_allclose(network(rows, layers), expected, atol=1e-5)


def test_ridge_leaves_out_what_it_says():
    fitting = pytest.importorskip("pqpp_models.text.text_ensemble.fitting")
    settings = fitting.FitSettings(kernel_layers=(2,), ridge=1.0)
    rows = {"2": unit(RANDOM.normal(size=(50, 4))), "features": RANDOM.normal(size=(50, 3))}
    goals = RANDOM.normal(size=(50, 2))
    goals -= goals.mean(axis=0)
    _, left_out = fitting.fit_ridge(rows, goals, settings)
    kept = np.arange(50) != 7
    shifted = np.vstack([goals[kept], -goals[kept].sum(axis=0)])[:-1]
    ridge, _ = fitting.fit_ridge({k: v[kept] for k, v in rows.items()}, shifted, settings)
    predicted = ridge({k: v[[7]] for k, v in rows.items()})[0]
    np.testing.assert_allclose(left_out[7], predicted, atol=0.05)


def test_captions_are_read_once_and_without_known_prompts(tmp_path):
    path = tmp_path / "captions.txt"
    path.write_text("A cat.\na cat\n\nA dog!\nTwo birds\n", "utf-8")
    assert read_captions(str(path), ["a dog"]) == ["A cat.", "Two birds"]


def test_unusable_captions_are_refused(tmp_path):
    (tmp_path / "blank.txt").write_text("\n\n", "utf-8")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    for name in ("blank.txt", "bytes.txt", "absent.txt"):
        with pytest.raises(PredictorError, match=name):
            read_captions(str(tmp_path / name), [])


def test_made_up_prompts_repeat():
    captions = ["A red cat on a mat.", "Two dogs run."]
    first = made_up_prompts(captions, ["robot", "nebula"], 60, seed=1)
    assert first == made_up_prompts(captions, ["robot", "nebula"], 60, seed=1)
    assert len(first) == 60 and all(first)
    assert first != made_up_prompts(captions, ["robot", "nebula"], 60, seed=2)


PROMPTS = ["A man riding a wave.", "?", "Zebra!", "A cat near the old clock. " * 20]


def test_the_ensemble_predicts_in_range(ensemble):
    found = ensemble.predict_with_uncertainty(PROMPTS)
    assert found.values.shape == (4, 9) and np.isfinite(found.values).all()
    assert (found.values[:, 3:] >= 0).all() and (found.values[:, 3:] <= 1).all()
    assert (found.deviations > 0).all() and found.distance.shape == (4,)
    assert ensemble.predict([]).shape == (0, 9)
    one = ensemble.predict(PROMPTS[:1], "mean_rr")
    np.testing.assert_allclose(one, found.values[:1, [TARGETS.index("mean_rr")]], atol=1e-4)


def test_the_ensemble_comes_back_from_its_folder(ensemble, tmp_path):
    folder = ensemble.save_pretrained(tmp_path / "saved")
    again = Predictor.from_pretrained(folder)
    assert type(again) is type(ensemble)
    # Vectors are saved with sixteen bits.
    np.testing.assert_allclose(again.predict(PROMPTS), ensemble.predict(PROMPTS), atol=5e-3)
    twice = Predictor.from_pretrained(again.save_pretrained(tmp_path / "twice"))
    np.testing.assert_allclose(twice.predict(PROMPTS), again.predict(PROMPTS), atol=1e-6)
    assert "Not measured" in (folder / "README.md").read_text("utf-8")


def with_outside(ensemble):
    training = pytest.importorskip("pqpp_models.text.static.fitting")
    captions = ["A man riding a wave on a board.", "A cat near the old clock in a room."] * 20
    orders = ["three cats", "a dog left of a cup", "seven red clocks"] * 10
    rates = np.tile([0.5, 0.1, 0.0], 10)
    tables, settings = ensemble.model.tables, training.OutsideSettings(ajar=0.0, ridge=1.0)
    outside = training.outside_of(captions, orders, rates, tables, settings)
    parts = (ensemble.tokenizer, ensemble.encoder, ensemble.tuned, ensemble.model)
    details = {"training": {**ensemble.details["training"], "outside": {"ajar": 0.0}}}
    return type(ensemble)(*parts, ensemble.calibration, details=details, outside=outside)


def test_the_ensemble_takes_instructions_strictly(ensemble, tmp_path):
    strict = with_outside(ensemble)
    prompts = ["A man riding a wave on a board.", "seven red clocks"]
    before, after = ensemble.predict(prompts), strict.predict(prompts)
    # A caption, and retrieval, are as they were; an instruction is judged by the gate's model.
    np.testing.assert_allclose(after[0], before[0], atol=1e-9)
    np.testing.assert_allclose(after[:, 3:], before[:, 3:], atol=1e-9)
    assert (after[1, :3] < before[1, :3] - 0.01).all()
    np.testing.assert_allclose(strict.predict(prompts, "sdxl_hbpp")[:, 0], after[:, 1], atol=1e-9)
    folder = strict.save_pretrained(tmp_path / "strict")
    again = Predictor.from_pretrained(folder)
    np.testing.assert_allclose(again.predict(prompts), after, atol=5e-3)
    assert "a gate adds a linear model" in (folder / "README.md").read_text("utf-8")
    assert "a gate adds" not in ensemble.card()


@pytest.mark.parametrize("name", ["gate.weight", "gate.bias", "strict.weight", "strict.bias"])
def test_an_outside_model_of_another_shape_is_refused(ensemble, tmp_path, name):
    strict = with_outside(ensemble)
    arrays = strict.outside.tensors()
    strict.outside.tensors = lambda: {**arrays, name: np.append(arrays[name], np.float32(1))}
    folder = strict.save_pretrained(tmp_path / "forged")
    with pytest.raises(CheckpointError, match="outside model's arrays do not fit"):
        Predictor.from_pretrained(folder)


def test_a_folder_that_does_not_fit_is_refused(ensemble, tmp_path):
    folder = ensemble.save_pretrained(tmp_path / "saved")
    path = folder / "config.json"
    config = json.loads(path.read_text("utf-8"))
    changes = ({"collection": {}}, {"encoder": {}}, {"targets": ["nothing"]}, {"tuned": 3})
    for change in changes:
        path.write_text(json.dumps({**config, **change}), "utf-8")
        with pytest.raises(CheckpointError) as caught:
            Predictor.from_pretrained(folder)
        assert "\n" not in str(caught.value)


def test_no_ensemble_is_shipped():
    with pytest.raises(UnknownPredictorError, match="train_text_ensemble"):
        Predictor.from_pretrained("text_ensemble")


def test_word_tables_hold_no_words():
    tables = WordTables.build(["a purple zebra"] * 3)
    assert tables.counts.dtype == np.uint8 and tables.pairs.dtype == np.uint8
    assert (tables.counts > 0).sum() == 2
