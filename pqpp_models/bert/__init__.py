"""The text predictor: any encoder of `AutoModel` with the regression head of the PQPP paper."""

from pqpp_models.entry import PredictorEntry

PREDICTORS = (
    PredictorEntry(
        "bert",
        "pqpp_models.bert.predictor:BertPredictor",
        "a fine-tuned text encoder, by pqpp train bert",
        "pqpp[models]",
        shipped=False,
    ),
    PredictorEntry(
        "bert_onnx",
        "pqpp_models.bert.onnx_predictor:OnnxBertPredictor",
        "the same for onnxruntime, by `pqpp models export`",
        "pqpp[onnx]",
        shipped=False,
    ),
)
