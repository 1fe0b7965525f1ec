"""Makes transformers and `pqpp_models.hub` know the models of human feedback.

Called as `pqpp_models.registration` is; importing this module imports no model.
"""

from __future__ import annotations

from types import ModuleType

from pqpp_models.registration import Registration, deferred

TASK = "rich-human-feedback"

_ours = Registration(
    {
        "rahf": (
            "pqpp_feedback.rahf.configuration_rahf:RahfConfig",
            "pqpp_feedback.rahf.modeling_rahf:RahfForRichFeedback",
        ),
    },
    {TASK: ("pqpp_feedback.rahf.pipeline:RichHumanFeedbackPipeline", "multimodal")},
)
announce = _ours.announce


def register() -> None:
    """Register with transformers and the Hub, now or as soon as they are imported; idempotent."""
    import pqpp_autoload

    _ours.register()
    pqpp_autoload.when_imported("pqpp_models.hub", patch)


def patch(module: ModuleType) -> None:
    """Register what belongs to an imported module; idempotent."""
    if module.__name__ == "pqpp_models.hub":
        module.register_kind("rahf", deferred("pqpp_feedback.rahf.feedback:checked_files"))
    else:
        _ours.patch(module)
