"""The predictor that sees the images: a CLIP-like model on (prompt, image) pairs."""

from pqpp_models.entry import PredictorEntry

_IMAGES = "its images, pqpp[models]"
_SCORER = "pqpp_models.clip.preference:PreferencePredictor"
_SCORES = "a preference model that scores a prompt with its images"
PREDICTORS = (
    PredictorEntry(
        "clip",
        "pqpp_models.clip.predictor:ClipPredictor",
        "a fine-tuned CLIP-like model, by pqpp train clip",
        _IMAGES,
        shipped=False,
    ),
    PredictorEntry("clip_score", _SCORER, _SCORES, _IMAGES, shipped=False),
    PredictorEntry("pick_score", _SCORER, _SCORES, _IMAGES, shipped=False),
    PredictorEntry("hps_v2", _SCORER, _SCORES, _IMAGES, shipped=False),
)
