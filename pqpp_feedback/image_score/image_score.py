"""Evaluate module `pqpp/image_score`: published scores of images for their prompts."""

import inspect

import datasets
import evaluate

from pqpp_files.extras import require_extra

with require_extra("pqpp/image_score", "assess"):
    from pqpp_feedback.scores import score_images


class ImageScore(evaluate.Metric):
    """A metric with the mean of each published score, and the scores of all images."""

    def _info(self):
        return evaluate.MetricInfo(
            description="Published scores of generated images for their prompts, selected by name.",
            citation="",
            inputs_description="\n\n" + inspect.getdoc(score_images),
            features=datasets.Features(
                {"images": datasets.Image(), "prompts": datasets.Value("string")}
            ),
        )

    def _compute(self, images, prompts, **options):
        return score_images(images, prompts, **options)
