"""The predictor on the similarities among the images generated or retrieved for a prompt."""

from pqpp_models.entry import PredictorEntry

PREDICTORS = (
    PredictorEntry(
        "correlation_cnn",
        "pqpp_models.correlation_cnn.predictor:CorrelationCnnPredictor",
        "a network on similarities among images, by pqpp train correlation_cnn",
        "its images, pqpp[models]",
        shipped=False,
    ),
)
