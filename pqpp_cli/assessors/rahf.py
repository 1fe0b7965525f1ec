"""`pqpp assess rahf`: scores, heatmaps and misaligned words by a RAHF model."""

import argparse

HELP = "scores, heatmaps and misaligned words by a RAHF model"
EPILOG = """examples:
  pqpp assess rahf --image-dir generated --model OWNER/REPOSITORY --output verdicts.parquet
  pqpp assess rahf --image-dir images --file prompts.csv --model runs/rahf/model
  pqpp assess rahf --evidence verdicts.parquet --threshold 0.3 --output other.parquet
"""
TRAIN = (
    "--model: no weights are published; in a clone of the repository `make gallery` trains a small "
    "one on generated scenes in 15 CPU minutes, training/train_rahf.py a large one on RichHF-18K, "
    "for which a GPU is needed"
)
AGREEMENT = "How well a RAHF model agrees with people stands in its card (pqpp bench measures it)."


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what only this assessor has."""
    parser.add_argument(
        "--model", metavar="NAME_OR_PATH", help="folder or OWNER/REPOSITORY of a RAHF model"
    )
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="P",
        default=0.5,
        help="a word of at least this probability counts as misaligned (default: %(default)s)",
    )


def check(options: argparse.Namespace) -> None:
    """Refuse before images are looked for what would fail after it."""
    from pqpp_cli.errors import CommandError
    from pqpp_feedback.rahf.feedback import check_threshold
    from pqpp_files.extras import needing

    check_threshold(options.threshold)
    if options.evidence:
        return
    if options.model is None:
        raise CommandError(TRAIN)
    with needing("pqpp assess rahf", "models"):
        import torch  # noqa: F401
        import transformers  # noqa: F401


def open_assessors(options: argparse.Namespace) -> list:
    """Load the model."""
    from pqpp_feedback.rahf.assessor import RahfAssessor

    if options.evidence:
        return [RahfAssessor(None, threshold=options.threshold)]
    import torch

    from pqpp_feedback.rahf import FeedbackModel
    from pqpp_models.pretrained import fetch, usual_device

    folder, told = fetch(options.model, "RAHF model")
    device = options.device or usual_device()
    model = FeedbackModel.from_pretrained(folder, device, options.threshold)
    model.model.to(getattr(torch, options.dtype))
    return [RahfAssessor(model, told, options.threshold)]
