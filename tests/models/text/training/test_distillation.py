"""Distillation of the static network on made-up prompts."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pqpp_models.text.static import DEEPER  # noqa: E402
from pqpp_models.text.training.teacher_student import (  # noqa: E402
    DistilSettings,
    StaticModule,
    add_deeper_layer,
    distil,
    project_to_size,
)

SMALL = DistilSettings(
    piece_size=8,
    filters=12,
    hidden_size=16,
    point_size=4,
    dropout=0.0,
    point_weight=0.0,
    epochs=10,
    batch_size=8,
    learning_rate=1e-2,
)


def make_data(n=200, seed=0):
    random = np.random.default_rng(seed)
    encoded = [random.integers(1, 30, size=random.integers(1, 9)).tolist() for _ in range(n)]
    goals = np.array([[np.mean(np.array(row) < 10), len(row) / 9] for row in encoded])
    points = random.normal(size=(n, 4)).astype(np.float32)
    return encoded, goals, points / np.linalg.norm(points, axis=1, keepdims=True)


def make_pieces():
    return torch.randn(30, 8, generator=torch.Generator().manual_seed(1)) * 0.3


def test_static_network_matches_module():
    torch.manual_seed(0)
    encoded = make_data(40)[0]
    module = StaticModule(make_pieces(), 2, SMALL).eval()
    network = module.to_static(slice(2))
    exact = torch.from_numpy(network.pieces * network.scales[:, None])
    module.pieces.weight.data.copy_(exact)
    from pqpp_backbones.encoder.encoding import to_batch

    with torch.no_grad():
        scores, points = module(**to_batch(encoded, 0))
    static_scores, static_points, *_ = network.compute_layers(encoded)
    np.testing.assert_allclose(static_scores, scores.numpy(), atol=5e-3)
    expected = torch.nn.functional.normalize(points, dim=1).numpy()
    np.testing.assert_allclose(static_points, expected, atol=2e-2)


@pytest.fixture(scope="module")
def distilled():
    """A distilled network."""
    return distil(*make_data(), make_pieces(), SMALL, 3)


def test_distillation_learns_and_is_deterministic(distilled):
    second = distil(*make_data(), make_pieces(), SMALL, 3)
    for one, other in zip(distilled.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)
    new, true, _ = make_data(seed=9)
    scores = distilled.to_static(slice(2)).compute_layers(new)[0]
    assert np.corrcoef(scores[:, 0], true[:, 0])[0, 1] > 0.5


def test_projection_preserves_similarities():
    vectors = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    wide = vectors @ np.random.default_rng(1).normal(size=(3, 20)).astype(np.float32)
    wide /= np.linalg.norm(wide, axis=1, keepdims=True)
    points = project_to_size(wide, 3)
    np.testing.assert_allclose(points @ points.T, wide @ wide.T, atol=1e-3)


def test_ignores_unknown_goals():
    encoded, goals, points = make_data()
    known = np.arange(len(goals)) % 2 == 0
    partial = goals.copy()
    partial[~known, 0] = np.nan
    settings = replace(SMALL, first_weight=4.0)
    first = distil(encoded, partial, points, make_pieces(), settings, 3)
    new, true, _ = make_data(seed=9)
    scores = first.to_static(slice(2)).compute_layers(new)[0]
    assert np.corrcoef(scores[:, 0], true[:, 0])[0, 1] > 0.5
    # If unknown goals counted as 0, the mean prediction would be halved.
    assert scores[:, 0].mean() == pytest.approx(goals[:, 0].mean(), abs=0.25 * goals[:, 0].mean())


def test_further_training_starts_from_given_network(distilled):
    encoded, goals, points = make_data()
    short = replace(SMALL, epochs=1)
    before = {name: value.clone() for name, value in distilled.state_dict().items()}
    unchanged = distil(
        encoded, goals, points, make_pieces(), replace(short, learning_rate=1e-12), 3, distilled
    )
    for name, value in unchanged.state_dict().items():
        assert torch.allclose(value, before[name], atol=1e-6)
        assert torch.equal(distilled.state_dict()[name], before[name])
    unknown = np.column_stack([np.full(len(goals), np.nan), goals[:, 1]])
    further = distil(encoded, unknown, points, make_pieces(), short, 3, distilled)
    assert not torch.equal(further.state_dict()["scores.weight"], before["scores.weight"])


def test_deeper_layer_corrects_only_last_scores():
    encoded, goals, points = make_data()
    flat = distil(encoded, goals, points, make_pieces(), replace(SMALL, epochs=1), 3)
    flat = flat.to_static(slice(2))
    settings = replace(SMALL, deeper_size=24, epochs=30)
    first, second = (add_deeper_layer(flat, encoded, goals[:, 1:], settings, 3) for _ in range(2))
    for name, weight in flat.weights.items():
        assert np.array_equal(first.weights[name], weight)
    new, true, _ = make_data(seed=9)
    before, *rest, hidden = flat.compute_layers(new)
    after, *same = first.compute_layers(new)
    assert np.array_equal(after, second.compute_layers(new)[0])
    assert np.array_equal(after[:, 0], before[:, 0])
    for one, other in zip(same, (*rest, hidden), strict=True):
        assert np.array_equal(one, other)
    arrays = [first.weights[f"{layer}.{part}"] for layer in DEEPER for part in ("weight", "bias")]
    by_hand = np.maximum(hidden @ arrays[0].T + arrays[1], 0) @ arrays[2].T + arrays[3]
    np.testing.assert_allclose(after[:, 1:] - before[:, 1:], by_hand, atol=1e-6)
    errors = [np.square(scores[:, 1] - true[:, 1]).mean() for scores in (before, after)]
    assert errors[1] < 0.5 * errors[0]
