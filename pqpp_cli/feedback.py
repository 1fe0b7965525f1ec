"""`pqpp feedback`: a folder of generated images judged, as an HTML gallery."""

import argparse
import json
from pathlib import Path

from pqpp_cli.output import OutputFile, OutputFolder

_EPILOG = """examples:
  pqpp feedback generated --model OWNER/REPOSITORY --output gallery.html
  pqpp feedback generated --model runs/rahf/model --sort-by plausibility --json scores.json

The folder holds images, and their prompts in metadata.jsonl or metadata.csv (`file_name`, `prompt`)
or in a text file of each image's name.
"""


def add_parser(subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "feedback",
        help="judge a folder of generated images, write an HTML gallery",
        description="Predict scores, heatmaps and misaligned words of generated images with a RAHF "
        "model, and write a page that shows them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="FOLDER", help="the images, with their prompts")
    parser.add_argument(
        "--model",
        required=True,
        metavar="NAME_OR_PATH",
        help="folder or OWNER/REPOSITORY of a RAHF model",
    )
    parser.add_argument(
        "--output",
        type=OutputFile,
        metavar="FILE",
        default="gallery.html",
        help="the page (default: %(default)s)",
    )
    parser.add_argument(
        "--json", type=OutputFile, metavar="FILE", help="also write scores and words as JSON"
    )
    parser.add_argument(
        "--overlays",
        type=OutputFolder,
        metavar="DIR",
        help="also write each image tinted by each heatmap, as PNG",
    )
    parser.add_argument("--sort-by", metavar="SCORE", help="lowest first, by this score")
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="P",
        default=0.5,
        help="a word of at least this probability counts as misaligned (default: %(default)s)",
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        metavar="N",
        default=16,
        help="images at once (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Judge the folder and write the page."""
    from pqpp_cli.output import emit
    from pqpp_feedback.assess.pictures import read_folder
    from pqpp_feedback.rahf import FeedbackModel
    from pqpp_feedback.rahf.gallery import (
        judge_folder,
        render_gallery,
        save_overlays,
    )
    from pqpp_files.extras import needing

    with needing("pqpp feedback", "models"):
        import torch  # noqa: F401
        import transformers  # noqa: F401
    _check_options(options)
    pictures = read_folder(options.folder)
    model = FeedbackModel.from_pretrained(options.model, threshold=options.threshold)
    rows: list[dict] = []

    def noted():
        judged = judge_folder(model, pictures, options.batch_size)
        for picture, one in zip(pictures, judged, strict=True):
            rows.append(_plain_values(picture, one))
            if options.overlays:
                save_overlays(picture, one, options.overlays)
            yield one

    title = f"Feedback: {options.folder}"
    page = render_gallery(pictures, noted(), title, sort_by=options.sort_by)
    emit(page, options.output)
    if options.json:
        emit(json.dumps(rows, indent=1, ensure_ascii=False), options.json)


def _check_options(options: argparse.Namespace) -> None:
    """Refuse before anything is read what would fail after the work, or leave half a result."""
    from pqpp_feedback.assess.pictures import ENDINGS
    from pqpp_feedback.rahf.feedback import check_batch_size, check_threshold
    from pqpp_feedback.rahf.gallery import check_sort_by
    from pqpp_files.check_output import check_output

    check_sort_by(options.sort_by)
    check_threshold(options.threshold)
    check_batch_size(options.batch_size)
    folder, read = Path(options.folder), (*ENDINGS, ".txt", ".csv", ".jsonl")
    inputs = [path for path in folder.glob("*") if path.suffix.lower() in read]
    for file in (options.output, options.json):
        if file is not None:
            check_output(file, inputs)


def _plain_values(picture, judged) -> dict:
    """Return a judged image as plain values."""
    return {
        "file_name": picture.path.name,
        "prompt": picture.prompt,
        "scores": judged.scores,
        "misaligned_words": [vars(word) for word in judged.misaligned_words],
    }
