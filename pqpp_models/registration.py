"""Register the predictors with the auto classes and pipelines of transformers."""

from pqpp_backbones.registration import Registration

TASK = "prompt-performance-prediction"
NUMPY = "prompt_performance"
"""The `model_type` of all predictors that need no torch."""

MODELS = {
    NUMPY: (
        "pqpp_models.auto_model:PromptPerformanceConfig",
        "pqpp_models.auto_model:PromptPerformanceModel",
    ),
    "bert_predictor": (
        "pqpp_models.bert.modeling_bert_predictor:BertPredictorConfig",
        "pqpp_models.bert.modeling_bert_predictor:BertForPerformancePrediction",
    ),
    "clip_predictor": (
        "pqpp_models.clip.modeling_clip_predictor:ClipPredictorConfig",
        "pqpp_models.clip.modeling_clip_predictor:ClipForPerformancePrediction",
    ),
    "correlation_cnn": (
        "pqpp_models.correlation_cnn.modeling_correlation_cnn:CorrelationCnnConfig",
        "pqpp_models.correlation_cnn.modeling_correlation_cnn:"
        "CorrelationCnnForPerformancePrediction",
    ),
}
"""The classes of the configuration and of the model, by `model_type`."""
_MODEL = Registration(
    MODELS,
    {TASK: ("pqpp_models.pipelines:PromptPerformancePredictionPipeline", "text")},
    {TASK: "pqpp_models.auto_model:load_shipped_model"},
)
register, patch_library, add_classes = (_MODEL.register, _MODEL.patch_library, _MODEL.add_classes)
