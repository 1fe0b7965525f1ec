"""Distillation and the parts of the training script on made-up prompts."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pqpp_models.text.static.distillation import (  # noqa: E402
    DistilSettings,
    StaticModule,
    distil,
    first_points,
)
from pqpp_models.text.training.instructions import InstructionSettings  # noqa: E402
from pqpp_models.training.options import RecipeError  # noqa: E402

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


def made_up(n=200, seed=0):
    random = np.random.default_rng(seed)
    encoded = [random.integers(1, 30, size=random.integers(1, 9)).tolist() for _ in range(n)]
    goals = np.array([[np.mean(np.array(row) < 10), len(row) / 9] for row in encoded])
    points = random.normal(size=(n, 4)).astype(np.float32)
    return encoded, goals, points / np.linalg.norm(points, axis=1, keepdims=True)


def first_pieces():
    return torch.randn(30, 8, generator=torch.Generator().manual_seed(1)) * 0.3


def test_the_network_is_the_module():
    torch.manual_seed(0)
    encoded = made_up(40)[0]
    module = StaticModule(first_pieces(), 2, SMALL).eval()
    network = module.to_static(2)
    exact = torch.from_numpy(network.pieces * network.scales[:, None])
    module.pieces.weight.data.copy_(exact)
    from pqpp_models.encoder.encoding import as_batch

    with torch.no_grad():
        scores, points = module(**as_batch(encoded, 0))
    ours, places = network(encoded)
    np.testing.assert_allclose(ours, scores.numpy(), atol=5e-3)
    expected = torch.nn.functional.normalize(points, dim=1).numpy()
    np.testing.assert_allclose(places, expected, atol=2e-2)


def test_distilling_learns_and_repeats():
    encoded, goals, points = made_up()
    first, second = (distil(encoded, goals, points, first_pieces(), SMALL, 3) for _ in range(2))
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)
    new, true, _ = made_up(seed=9)
    scores = first.to_static(2)(new)[0]
    assert np.corrcoef(scores[:, 0], true[:, 0])[0, 1] > 0.5


def test_points_keep_similarities():
    vectors = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    wide = vectors @ np.random.default_rng(1).normal(size=(3, 20)).astype(np.float32)
    wide /= np.linalg.norm(wide, axis=1, keepdims=True)
    points = first_points(wide, 3)
    np.testing.assert_allclose(points @ points.T, wide @ wide.T, atol=1e-3)


def test_the_script_trains_a_predictor(tmp_path):
    pytest.importorskip("transformers")
    from models.made_up import made_up as made_up_prompts
    from support.tiny_models import load_script, save_text_encoder
    from transformers import AutoModel, AutoTokenizer

    from pqpp_models import Predictor
    from pqpp_models.text.static.word_pieces import WordPieces
    from pqpp_models.text.training.collection_model import FitSettings
    from pqpp_models.text.training.texts import cached_layer_means
    from pqpp_models.training.data import Rows

    script = load_script("train_static")
    folder = save_text_encoder(tmp_path / "encoder")
    prompts, scores = made_up_prompts(50)
    prompts = [f"{prompt} {number}" for number, prompt in enumerate(prompts)]
    captions = [f"{prompt} again {i}" for i, prompt in enumerate(made_up_prompts(40, seed=1)[0])]
    instructions = [f"a photo of {number} cats" for number in ("two", "three", "four")] * 4
    texts = script.Texts(prompts, captions, instructions, np.tile([0.9, 0.5, 0.2], 4), ["a robot"])
    recipe = script.StaticRecipe(
        model=str(folder),
        dataset="made up",
        captions=__file__,
        geneval=__file__,
        layers=[0, 1, 2],
        collection_captions=20,
        teacher=FitSettings(kernel_layers=(2, 1), networks=2, hidden_size=8, epochs=1),
        student=DistilSettings(
            piece_size=8, filters=8, hidden_size=8, point_size=4, epochs=1, batch_size=16
        ),
        instruction_model=InstructionSettings(ridge=1.0, expected={"unknown_words": -1.0}),
    )
    tokenizer = AutoTokenizer.from_pretrained(folder)
    encoder = AutoModel.from_pretrained(folder).eval()
    cache = str(tmp_path / "cache")
    encoded = cached_layer_means(encoder, tokenizer, texts.all, recipe.layers, cache)
    again = cached_layer_means(encoder, tokenizer, texts.all, recipe.layers, cache)
    assert all(np.array_equal(encoded[layer], again[layer]) for layer in encoded)
    numbers, train = tokenizer.get_vocab(), Rows(prompts, scores, None)
    tokens = WordPieces(sorted(numbers, key=numbers.get), 96)
    fitted = script.fit_teacher(recipe, texts, encoded, recipe.goals(train))
    student = script.fit_student(recipe, texts, encoded, fitted, encoder, tokens)
    predictor = script.assemble(recipe, texts, fitted, student, tokens, train)
    predictor.details |= script.describe(recipe, texts, train, predictor)
    saved = Predictor.from_pretrained(predictor.save_pretrained(tmp_path / "static"))
    assert np.isfinite(saved.predict([*prompts, "?"])).all()
    assert "Not measured" in (tmp_path / "static" / "README.md").read_text("utf-8")


def test_distilling_that_diverges_is_told():
    encoded, goals, points = made_up()
    with pytest.raises(RecipeError, match=r"nan at step \d+, .*lower learning_rate of the student"):
        distil(encoded, goals, points, first_pieces(), replace(SMALL, learning_rate=1e30), 3)


def test_networks_that_diverge_are_told():
    from pqpp_models.text.training.collection_model import FitSettings, train_network

    random = np.random.default_rng(0)
    rows = random.normal(size=(200, 6)).astype(np.float32)
    settings = FitSettings(learning_rate=1e30, hidden_size=8, epochs=1)
    with pytest.raises(RecipeError, match=r"at step \d+, .* lower learning_rate of the networks"):
        train_network(rows, rows[:, :2], settings, 0)
