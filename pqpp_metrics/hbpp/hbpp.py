"""Evaluate module `pqpp/hbpp`: human-based prompt performance from raw votes."""

from pqpp_metrics import citations, evaluate_module
from pqpp_metrics.functional import hbpp


class Hbpp(evaluate_module.Metric):
    """Mean HBPP over prompts, with the score of every prompt."""

    def _info(self):
        return evaluate_module.info(hbpp, evaluate_module.LABELS_BY_PROMPT, citations.PQPP)

    def _compute(
        self,
        labels,
        prompt_ids,
        ties="mean",
        control_labels=None,
        reference_images=None,
        min_kappa=0.41,
        min_reference_share=0.5,
        best=3,
    ):
        ids, scores = hbpp(
            labels,
            prompt_ids,
            ties=ties,
            control_labels=control_labels,
            reference_images=reference_images,
            min_kappa=min_kappa,
            min_reference_share=min_reference_share,
            best=best,
        )
        return evaluate_module.per_item("hbpp", scores, prompt_ids=ids)
