"""Register the models of human feedback with transformers.

Called as `pqpp_models.registration` is; importing this module imports no model.
"""

from pqpp_backbones.registration import Registration

TASK = "rich-human-feedback"

_FEEDBACK = Registration(
    {
        "rahf": (
            "pqpp_feedback.rahf.configuration_rahf:RahfConfig",
            "pqpp_feedback.rahf.modeling_rahf:RahfForRichFeedback",
        )
    },
    {TASK: ("pqpp_feedback.rahf.pipeline:RichHumanFeedbackPipeline", "multimodal")},
)
register, patch, add_classes = _FEEDBACK.register, _FEEDBACK.patch, _FEEDBACK.add_classes
