"""Register the models of human feedback with transformers.

It is called like `pqpp_models.registration`; importing this module imports no model.
"""

from pqpp_backbones.registration import Registration

TASK = "rich-human-feedback"

_MODEL = Registration(
    {
        "rahf": (
            "pqpp_feedback.rahf.configuration_rahf:RahfConfig",
            "pqpp_feedback.rahf.modeling_rahf:RahfForRichFeedback",
        )
    },
    {TASK: ("pqpp_feedback.rahf.pipeline:RichHumanFeedbackPipeline", "multimodal")},
)
register, patch_library, add_classes = _MODEL.register, _MODEL.patch_library, _MODEL.add_classes
