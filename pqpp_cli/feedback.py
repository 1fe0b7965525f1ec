"""`pqpp feedback`: `pqpp assess rahf` of a folder, straight to a gallery."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pqpp_cli.errors import CommandError
from pqpp_cli.output import OutputFile, OutputFolder

_EPILOG = """examples:
  pqpp feedback generated --model OWNER/REPOSITORY --output gallery.html
  pqpp feedback generated --model runs/rahf/model --sort-by plausibility --json scores.json

It is `pqpp assess rahf --image-dir FOLDER --gallery FILE --embed`, which also keeps the table of
verdicts and goes on where it was after a kill. The folder holds images, and their prompts in
metadata.jsonl or metadata.csv (`file_name`, `prompt`) or in a text file of each image's name. An
image that cannot be read, or has no prompt, is shown with the reason.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "feedback",
        help="judge a folder of generated images by RAHF, write an HTML gallery",
        description="Predict scores, heatmaps and misaligned words of generated images with a RAHF "
        "model, and write a page that shows them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="FOLDER", help="the images, with their prompts")
    parser.add_argument(
        "--model", metavar="NAME_OR_PATH", help="folder or OWNER/REPOSITORY of a RAHF model"
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
    hidden = ("file", "dataset", "subset", "split", "data_dir", "evidence", "people", "gallery")
    parser.set_defaults(
        run=run, embed=True, column="prompt", device=None, dtype="float32", **dict.fromkeys(hidden)
    )


def run(options: argparse.Namespace) -> None:
    """Judge the folder and write the page."""
    from pqpp_cli import assess
    from pqpp_cli.assessors import rahf
    from pqpp_cli.output import emit

    _check_options(options)
    rahf.check(options)
    with tempfile.TemporaryDirectory(prefix="pqpp-") as folder:
        table = str(Path(folder, "verdicts.parquet"))
        page, options.output, options.image_dir = options.output, table, options.folder
        assess.look(options, rahf.open_assessors)
        judged = list(_judged(table, options.threshold))
        order = []
        if options.sort_by:
            told = [one for one in judged if one["scores"]]
            told.sort(key=lambda one: one["scores"][options.sort_by])
            order = [one["file_name"] for one in told]
        title = f"Feedback: {options.folder}"
        shown = {"threshold": options.threshold, "order": order, "title": title}
        if options.overlays:
            _save_overlays(table, Path(options.folder), Path(options.overlays))
        assess.write_page(options, [table], page, **shown)
    if options.json:
        emit(json.dumps(judged, indent=1, ensure_ascii=False), options.json)


def _check_options(options: argparse.Namespace) -> None:
    """Refuse before anything is read what would fail after the work, or leave half a result."""
    from pqpp_feedback.assess.pictures import ENDINGS
    from pqpp_feedback.rahf.feedback import check_batch_size
    from pqpp_feedback.rahf.outputs import SCORES, check_choice
    from pqpp_files.check_output import check_output

    if options.sort_by is not None:
        check_choice("sort_by", options.sort_by, SCORES)
    check_batch_size(options.batch_size)
    folder, read = Path(options.folder), (*ENDINGS, ".txt", ".csv", ".jsonl")
    if not folder.is_dir():
        raise CommandError(f"there is no folder {folder}; check the path")
    inputs = [path for path in folder.glob("*") if path.suffix.lower() in read]
    for file in (options.output, options.json):
        if file is not None:
            check_output(file, inputs)


def _judged(table: str, threshold: float) -> Iterator[dict]:
    """Give judged images as plain values; what could not be judged has no scores."""
    from pqpp_feedback.assess.verdicts import read_verdicts
    from pqpp_feedback.rahf.assessor import misaligned

    for row in read_verdicts(table):
        evidence = json.loads(row["evidence"] or "null")
        yield {
            "file_name": row["image"],
            "prompt": row["prompt"],
            "scores": evidence and evidence["scores"],
            "misaligned_words": [
                {name: word[name] for name in ("text", "start", "end")}
                for word in (misaligned(evidence, threshold) if evidence else ())
            ],
            **({} if evidence else {"reason": row["reason"]}),
        }


def _save_overlays(table: str, images: Path, folder: Path) -> None:
    """Write each image tinted by each heatmap, as `NAME.HEATMAP.png`."""
    import base64
    import io

    import numpy as np
    from PIL import Image

    from pqpp_feedback.assess.pictures import open_picture
    from pqpp_feedback.assess.verdicts import read_verdicts
    from pqpp_feedback.rahf.overlays import overlay
    from pqpp_files.write_beside import write_beside

    for row in read_verdicts(table):
        heatmaps = json.loads(row["evidence"] or "{}").get("heatmaps", {})
        for name, text in heatmaps.items():
            grey = np.asarray(Image.open(io.BytesIO(base64.b64decode(text)))) / 255
            image = open_picture(images / row["image"])
            with write_beside(folder / f"{row['image']}.{name}.png") as beside:
                overlay(image, grey).save(beside)
