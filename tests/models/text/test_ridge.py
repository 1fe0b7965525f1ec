"""The ridge predictor of `pqpp fit`: mathematics, inputs and checkpoints."""

from pathlib import Path

import numpy as np
import pytest
from support.processes import run_python

from pqpp_cli.main import main
from pqpp_hub import PushReport
from pqpp_models import Predictor
from pqpp_models.errors import PredictorError
from pqpp_models.hub import push_to_hub
from pqpp_models.text.reading.known_words import KnownWords
from pqpp_models.text.ridge.blocks import HALF, compute_idf, count_pieces, hash_words, weigh_pieces
from pqpp_models.text.ridge.fitting import fit
from pqpp_models.text.ridge.forms import RIDGE_STRENGTHS, fit_best_ridge
from pqpp_models.text.ridge.predictor import RidgePredictor, Standardisation

COLOURS = ("red", "green", "blue", "black", "white", "brown")
THINGS = ("cat", "dog", "vase", "train", "pizza", "robot", "juggler", "zebra", "violin", "hydrant")
PROMPTS = [f"a {colour} {thing} on a table" for colour in COLOURS for thing in THINGS]
RATES = np.array(
    [[(len(thing) + 2 * number) / 20] for number, _ in enumerate(COLOURS) for thing in THINGS]
)


@pytest.fixture(scope="module")
def ridge() -> RidgePredictor:
    return fit(PROMPTS, RATES, ["match_rate"], data="made up")


@pytest.fixture
def matrices():
    random = np.random.default_rng(0)

    def make(rows: int, columns: int):
        x = random.normal(size=(rows, columns)) + 3
        return x, x @ random.normal(size=(columns, 2)) + random.normal(size=(rows, 2)) - 7

    return make


@pytest.mark.parametrize("shape", [(25, 8), (15, 40), (8, 8)])
def test_ridge_matches_scikit_learn(matrices, shape):
    linear_model = pytest.importorskip("sklearn.linear_model")
    from sklearn.model_selection import LeaveOneOut, cross_val_predict

    rows, values = matrices(*shape)
    strengths = RIDGE_STRENGTHS[::4]
    fitted = fit_best_ridge(rows, values, strengths)
    for target, true in enumerate(values.T):
        left_out = [
            cross_val_predict(linear_model.Ridge(one), rows, true, cv=LeaveOneOut())
            for one in strengths
        ]
        best = np.argmin([((one - true) ** 2).sum() for one in left_out])
        assert fitted.strength[target] == best
        np.testing.assert_allclose(fitted.loo[:, target], left_out[best], atol=1e-6)
        reference = linear_model.Ridge(strengths[best]).fit(rows, true)
        np.testing.assert_allclose(fitted.slopes[:, target], reference.coef_, atol=1e-8)
        assert fitted.intercept[target] == pytest.approx(reference.intercept_, abs=1e-7)


def test_tf_idf_matches_scikit_learn():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    prompts = ["red cat red", "the cat sat there", "dogs bark", "the red dogs"]
    counts = count_pieces(prompts)
    weighed = weigh_pieces(counts, compute_idf(counts)).toarray()
    for half, options in (
        (weighed[:, :HALF], {"ngram_range": (1, 2)}),
        (weighed[:, HALF:], {"ngram_range": (2, 5), "analyzer": "char_wb"}),
    ):
        rows = text.TfidfVectorizer(sublinear_tf=True, **options).fit_transform(prompts).toarray()
        np.testing.assert_allclose(half @ half.T, rows @ rows.T, atol=1e-6)


def test_cross_validation_matches_manual_folds(capsys):
    scores = RATES[:, 0] + np.random.default_rng(0).normal(size=60) / 5
    prompts = ["a red cat", "qwx zzyv qqx", *PROMPTS[2:]]
    fitted = fit(prompts, scores, "rating", folds=3, progress=True)
    output = capsys.readouterr().err
    assert "cross-validating:   0%" in output and "3/3" in output
    folds = np.random.default_rng(0).permutation(60) % 3
    left_out, covered = np.empty(60), np.empty(60)
    for fold in range(3):
        others, held_out = (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))
        predictor = fit([prompts[row] for row in others], scores[others], "rating", folds=2)
        # Otherwise, the range of the fold would limit its predictions.
        predictor.limits = fitted.limits
        estimates = predictor.predict_with_uncertainty([prompts[row] for row in held_out])
        left_out[held_out] = estimates.values[:, 0] - scores[others].mean()
        errors = np.abs(estimates.values[:, 0] - scores[held_out])
        covered[held_out] = errors <= 1.645 * estimates.deviations[:, 0]
    figures = fitted.details["training"]["cross_validation"]["rating"]
    assert figures["pearson"] == pytest.approx(np.corrcoef(left_out, scores)[0, 1], abs=1e-4)
    assert figures["coverage"] == pytest.approx(covered.mean(), abs=0.02)


CHINESE = [
    f"{number}{colour}{thing}在{place}"
    for number in ("一只", "三只")
    for colour in ("红色的", "绿色的", "黑色的")
    for thing in ("猫", "狗", "火车", "花瓶", "机器人")
    for place in ("桌子上", "公园里")
]


def test_fits_chinese_prompts(tmp_path):
    scores = [("三" in prompt) + len(prompt) / 10 for prompt in CHINESE]
    fitted = fit(CHINESE, scores, ["rating"])
    training = fitted.details["training"]
    assert training["out_of_domain"] == len(CHINESE) and fitted.reads_any_language
    assert training["cross_validation"]["rating"]["spearman"] > 0.8
    loaded = Predictor.from_pretrained(fitted.save_pretrained(tmp_path / "chinese"))
    estimates = loaded.predict_with_uncertainty(["一只白色的猫", "三只白色的猫", "xyz"])
    assert estimates.values[0, 0] < estimates.values[1, 0] - 0.2
    assert estimates.out_of_domain.tolist() == [False, False, True]
    assert estimates.values[2, 0] == pytest.approx(np.mean(scores), abs=1e-6)
    assert "in common with the prompts" in loaded.domain_note
    assert 'language: "multilingual"' in loaded.render_card()


def test_saves_sentence_encoder(tmp_path):
    pytest.importorskip("torch")
    from support.tiny_models import save_text_encoder

    folder = save_text_encoder(tmp_path / "tiny-multilingual")
    scores = [("三" in prompt) + len(prompt) / 10 for prompt in CHINESE]
    fitted = fit(CHINESE, scores, ["rating"], encoder=str(folder))
    training = fitted.details["training"]
    assert training["encoder"] == "tiny-multilingual"
    assert list(fitted.neighbours) == ["embedding", "sentence"]
    saved = fitted.save_pretrained(tmp_path / "mine")
    loaded = Predictor.from_pretrained(saved)
    np.testing.assert_allclose(loaded.predict(CHINESE), fitted.predict(CHINESE), atol=1e-5)
    assert "`tiny-multilingual`" in (card := loaded.render_card()) and str(tmp_path) not in card


def test_standardisation_weighs_blocks_equally():
    random = np.random.default_rng(1)
    blocks = [random.normal(size=(500, 4)) * scale for scale in (0.01, 3, 100)]
    blocks[2][:, 1] = 7.0
    rows = Standardisation.fit(blocks)(np.hstack(blocks))
    assert (rows[:, 9] == 0).all()
    for block in np.split(rows, 3, axis=1):
        assert (block**2).sum(axis=1).mean() == pytest.approx(1, abs=0.02)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=0.02)


def test_hash_words_matches_crc32():
    import zlib

    row = hash_words(["red cat red"])[0]
    expected = np.zeros(1024)
    for text in ("red", "cat", "red cat", "cat red"):
        code = zlib.crc32(text.encode())
        expected[code % 1024] += 1 if code >= 2**31 else -1
    np.testing.assert_allclose(row, expected / np.linalg.norm(expected))
    assert not hash_words([""]).any()


def test_predictions_do_not_depend_on_spelling_or_batch(ridge):
    typed = ["a red café on a table", " A RED  Cafe\u0301 on a TABLE. ", "a red\ncafé on a table!!"]
    estimates = ridge.predict_with_uncertainty([*PROMPTS, *typed])[:3]
    for text in typed:
        for values, alone in zip(estimates, ridge.predict_with_uncertainty([text]), strict=False):
            np.testing.assert_array_equal(values[-3:], alone.repeat(3, axis=0))
    np.testing.assert_array_equal(*ridge.embed(typed[:2]))


def test_learns_from_words(ridge, monkeypatch):
    training = ridge.details["training"]
    assert training["cross_validation"]["match_rate"]["spearman"] > 0.8
    low, high = ridge.predict(["a red cat on a table", "a brown hydrant on a table"])[:, 0]
    assert low < 0.35 < 0.6 < high
    monkeypatch.setattr(ridge, "known_words", KnownWords.fit(PROMPTS))
    result = ridge.predict_with_uncertainty(["a red cat on a table", "собака бежит по пляжу", "?"])
    assert result.out_of_domain.tolist() == [False, True, True]
    assert result.values[1:, 0] == pytest.approx(RATES.mean(), abs=1e-6)
    assert result.deviations[1:, 0] == pytest.approx(RATES.std(), abs=1e-6)
    assert (result.values >= 0).all() and (result.values <= 1).all()
    assert (result.deviations > 0).all() and (result.deviations <= 0.5).all()


def test_deviations_cover_nine_in_ten():
    random = np.random.default_rng(3)
    prompts = [f"{n} {colour} {one}s" for n in range(12) for colour in COLOURS for one in THINGS]
    scores = random.normal(size=(len(prompts), 1))
    fitted = fit(prompts[::2], scores[::2], ["noise"])
    estimates = fitted.predict_with_uncertainty(prompts[1::2])
    covered = np.abs(estimates.values - scores[1::2]) < 1.645 * estimates.deviations
    assert 0.85 < covered.mean() < 0.95


def test_averages_duplicate_prompts(ridge):
    prompts = [*PROMPTS, *(prompt.upper() + "." for prompt in PROMPTS), "  "]
    noise = 0.02 * np.ones_like(RATES)
    doubled = fit(prompts, np.concatenate([RATES - noise, RATES + noise, [[0.5]]]), ["match_rate"])
    assert doubled.details["training"]["prompts"] == len(PROMPTS)
    np.testing.assert_allclose(doubled.predict(PROMPTS), ridge.predict(PROMPTS), atol=1e-6)
    assert (
        doubled.details["training"]["cross_validation"]
        == ridge.details["training"]["cross_validation"]
    )


def test_fit_does_not_depend_on_hash_seed(ridge, tmp_path):
    code = (
        "from models.text.test_ridge import PROMPTS, RATES, fit\n"
        "fit(PROMPTS, RATES, ['match_rate'], data='made up').save_pretrained('second')"
    )
    first, second = ridge.save_pretrained(tmp_path / "first"), tmp_path / "second"
    tests = str(Path(__file__).parents[2])
    done = run_python(code, tmp_path, PYTHONHASHSEED="1", PYTHONPATH=tests)
    assert done.returncode == 0, done.stderr
    for name in ("config.json", "model.safetensors", "README.md"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_saved_predictor_predicts_the_same_and_has_card(ridge, tmp_path):
    loaded = Predictor.from_pretrained(ridge.save_pretrained(tmp_path / "mine"))
    assert type(loaded) is RidgePredictor and loaded.targets == ("match_rate",)
    restored, original = (one.predict_with_uncertainty(PROMPTS) for one in (loaded, ridge))
    for one, other in zip(restored[:4], original[:4], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    card = (tmp_path / "mine" / "README.md").read_text()
    spearman = ridge.details["training"]["cross_validation"]["match_rate"]["spearman"]
    assert "| match_rate | 0 .. 1 |" in card and "| data | made up |" in card
    assert f"| {spearman:.3f} [" in card
    assert loaded.render_card() == card


def test_encoder_option_selects_network(tmp_path):
    prompts = [f"{n} {x} cats" for x in ("red", "tan") for n in range(10)]
    scores = [n / 20 for n in range(20)]
    other = Predictor.from_pretrained("static-train")
    other.network.weights["hidden.weight"] = other.network.weights["hidden.weight"][::-1].copy()
    folder = str(other.save_pretrained(tmp_path / "other"))
    default, custom = (
        fit(prompts, scores, ["my_rate"], encoder=one) for one in ("static-train", folder)
    )
    assert (default.predict(["a cat"]) != custom.predict(["a cat"])).all()
    assert (
        custom.encoder.network.weights["hidden.weight"] == other.network.weights["hidden.weight"]
    ).all()
    with pytest.raises(PredictorError, match="`encoder` must be a static predictor or"):
        fit(prompts, scores, ["my_rate"], encoder="n_words")


@pytest.fixture(scope="module")
def noise_predictor() -> RidgePredictor:
    """A predictor of noise."""
    noise = np.random.default_rng(1).random((len(PROMPTS), 1))
    return fit(PROMPTS, noise, ["match_rate"])


def test_cross_validation_of_noise_is_near_zero():
    noise = np.random.default_rng(0).normal(size=(len(PROMPTS), 12))
    fitted = fit(PROMPTS, noise, [f"n{number}" for number in range(12)])
    figures = fitted.details["training"]["cross_validation"].values()
    assert abs(np.mean([figure["spearman"] for figure in figures])) < 0.06


def test_push_of_unlearned_predictor_needs_anyway(
    ridge, noise_predictor, tmp_path, capsys, caplog, monkeypatch
):
    assert (noise_predictor.unlearned_targets, ridge.unlearned_targets) == (("match_rate",), ())
    restored = Predictor.from_pretrained(noise_predictor.save_pretrained(tmp_path / "p"))
    ridge.predict(["a red cat"])
    assert not caplog.text
    restored.predict(["a red cat"])
    assert "the predictor was not clearly better than chance on match_rate" in caplog.text
    pushed = []

    def push(folder, *others, **options):
        pushed.append(folder)
        return PushReport("a/b", "main", "")

    monkeypatch.setattr("pqpp_models.hub.push_model", push)
    folder = str(tmp_path / "p")
    with pytest.raises(PredictorError, match=r"than chance on match_rate; .* set `anyway`"):
        push_to_hub(folder, "a/b")
    assert main(["models", "push", folder, "a/b"]) == 2
    assert "--anyway" in capsys.readouterr().err and not pushed
    push_to_hub(folder, "a/b", anyway=True)
    assert main(["models", "push", folder, "a/b", "--anyway"]) == 0
    push_to_hub(ridge, "a/b")
    assert len(pushed) == 3
