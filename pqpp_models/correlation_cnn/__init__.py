"""The predictor on the similarities among the images generated or retrieved for a prompt."""

from pqpp_models.entry import PredictorEntry

PREDICTORS = (
    PredictorEntry(
        "correlation_cnn",
        "pqpp_models.correlation_cnn.predictor:CorrelationCnnPredictor",
        "a network on similarities among images, by training/train_correlation_cnn.py",
        "its images, pqpp[models]",
        shipped=False,
    ),
)
