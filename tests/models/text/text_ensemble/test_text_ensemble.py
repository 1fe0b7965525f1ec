"""The text ensemble: predictions and saving."""

import numpy as np

from pqpp_models import TARGETS, Predictor

PROMPTS = ["A man riding a wave.", "?", "Zebra!", "A cat near the old clock. " * 20]


def test_predictions_are_in_range(ensemble):
    estimates = ensemble.predict_with_uncertainty(PROMPTS)
    assert estimates.values.shape == (4, 9) and np.isfinite(estimates.values).all()
    assert (estimates.values[:, 3:] >= 0).all() and (estimates.values[:, 3:] <= 1).all()
    assert (estimates.deviations > 0).all() and estimates.distance.shape == (4,)
    assert ensemble.predict([]).shape == (0, 9)
    np.testing.assert_allclose(np.linalg.norm(ensemble.embed(PROMPTS), axis=1), 1, atol=1e-5)
    one = ensemble.predict(PROMPTS[:1], "mean_rr")
    np.testing.assert_allclose(one, estimates.values[:1, [TARGETS.index("mean_rr")]], atol=1e-4)


def test_saved_ensemble_predicts_the_same(ensemble, tmp_path):
    folder = ensemble.save_pretrained(tmp_path / "saved")
    restored = Predictor.from_pretrained(folder)
    assert type(restored) is type(ensemble)
    # Vectors are saved with sixteen bits.
    np.testing.assert_allclose(restored.predict(PROMPTS), ensemble.predict(PROMPTS), atol=5e-3)
    resaved = Predictor.from_pretrained(restored.save_pretrained(tmp_path / "twice"))
    np.testing.assert_allclose(resaved.predict(PROMPTS), restored.predict(PROMPTS), atol=1e-6)
    assert "Not measured" in (folder / "README.md").read_text("utf-8")
    assert str(tmp_path.parent) not in (folder / "config.json").read_text("utf-8")
