"""Predictors that see the text of a prompt and nothing else."""

from pqpp_models.entry import PredictorEntry

_STATIC = "pqpp_models.text.static:StaticPredictor"
PREDICTORS = (
    PredictorEntry(
        "ridge",
        "pqpp_models.text.ridge.predictor:RidgePredictor",
        "a linear head on the network of static, by `pqpp fit`",
        shipped=False,
    ),
    PredictorEntry("static", _STATIC, "a small network on numpy, distilled from a text encoder"),
    PredictorEntry(
        "static-train",
        _STATIC,
        "the same without `alignment`, fitted on PQPP's train split alone, on no study",
    ),
    PredictorEntry(
        "text_ensemble",
        "pqpp_models.text.text_ensemble:TextEnsemblePredictor",
        "kernels and networks beside a collection of captions, by pqpp train text_ensemble",
        "pqpp[models]",
        shipped=False,
    ),
)
