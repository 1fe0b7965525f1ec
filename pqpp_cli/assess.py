"""`pqpp assess`: generated images judged by automated assessors, as a table of verdicts."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pqpp_cli.errors import CommandError
from pqpp_cli.output import OutputFile, OutputPage
from pqpp_cli.prompt_datasets import add_dataset, refuse_parts
from pqpp_cli.shards import add_shards, refuse_with_shards, wants_shards, work_on_shards

# Each is a module of `pqpp_cli.assessors` with HELP, EPILOG, AGREEMENT (how well it agrees with
# people, in a sentence), `add_options(parser)` and `open_assessors(options)`, which loads no model
# where `options.evidence` names kept evidence; it may have `check(options)`, called before anything
# is read, and `finish(options)`, called when the table is written.
ASSESSORS = ("gimbrr", "vistar", "rahf")
DTYPES = ("float32", "bfloat16", "float16")
_NAMED = 3

_EPILOG = """
Images lie as DIR/{prompt_id}/{model}_{i}.png, with the prompts from --file or --dataset; or
DIR/metadata.jsonl or metadata.csv lists them (file_name, prompt, prompt_id, model, ...); or a text
file beside each image holds its prompt. A file of prompts without a column prompt_id counts its
rows from 0. The table has a row for each image: image, prompt_id, prompt, task, generator,
assessor, routine, verdict, score, reason, evidence (JSON), asked (JSON), model, revision.

A run that was killed goes on where it was when it is started again. Several GPUs:
  accelerate launch -m pqpp_cli.main assess ...

Shard by shard, --file names the prompts (Parquet or CSV), their images lie in --image-dir as above,
and --output is a folder of tables, which pqpp assess gallery shows.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command and its assessors to the parser."""
    parser = subparsers.add_parser(
        "assess",
        help="judge generated images by automated assessors",
        description="Look at generated images by models, keep what was seen, and score it by "
        "arithmetic that can be done again without models.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="assessor", required=True, metavar="ASSESSOR")
    for name in ASSESSORS:
        module = importlib.import_module(f"pqpp_cli.assessors.{name}")
        one = actions.add_parser(
            name,
            help=module.HELP,
            description=module.HELP[0].upper() + module.HELP[1:] + ".",
            epilog=module.EPILOG + _EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _add_common(one)
        module.add_options(one)
        one.set_defaults(run=run, assessor=name)
    _add_gallery(actions)


def _add_gallery(actions) -> None:
    parser = actions.add_parser(
        "gallery",
        help="show tables of verdicts as one HTML page",
        description="Show images with verdicts, reasons, scores, and boxes or heatmaps drawn over "
        "them, filtered by task, model and verdict, those on which people differ first.",
    )
    parser.add_argument("file", metavar="FILE", nargs="+", help="tables that pqpp assess wrote")
    parser.add_argument("--image-dir", metavar="DIR", required=True, help="the images")
    parser.add_argument(
        "--people", metavar="FILE", help="people's answers: image (or prompt_id, model), matched"
    )
    parser.add_argument(
        "--output",
        type=OutputPage,
        metavar="FILE",
        default="gallery.html",
        help="the page (default: %(default)s)",
    )
    _add_embed(parser)
    parser.set_defaults(run=_gallery)


def _add_embed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--embed",
        action="store_true",
        help="put small copies of the images into the page, which then needs no other file "
        "(default: link them)",
    )


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--image-dir", metavar="DIR", help="the images, see below")
    parser.add_argument(
        "--file", metavar="FILE", help="a table of prompts: prompt, prompt_id and further columns"
    )
    parser.add_argument(
        "--column",
        default="prompt",
        help="the file's or dataset's column of prompts (default: %(default)s)",
    )
    add_dataset(parser, images=False)
    parser.add_argument(
        "--evidence",
        metavar="FILE",
        help="score what an earlier run saw and kept in this table, without images and models",
    )
    parser.add_argument(
        "--people",
        metavar="FILE",
        help="people's answers, to say how well the verdicts agree: image (or prompt_id and "
        "model) and matched",
    )
    parser.add_argument(
        "--output",
        type=OutputFile,
        metavar="FILE",
        default="verdicts.parquet",
        help="the table (default: %(default)s)",
    )
    parser.add_argument(
        "--gallery",
        type=OutputPage,
        metavar="FILE",
        help="also show the verdicts as an HTML page; needs --image-dir",
    )
    _add_embed(parser)
    parser.add_argument(
        "--batch-size",
        type=int,
        metavar="N",
        default=16,
        help="images at once (default: %(default)s)",
    )
    parser.add_argument(
        "--device", metavar="DEVICE", help="cpu, cuda, cuda:1, ... (default: a GPU if there is one)"
    )
    parser.add_argument(
        "--dtype",
        choices=DTYPES,
        default="float32",
        help="of the models' numbers (default: %(default)s)",
    )
    add_shards(parser, 100)


def run(options: argparse.Namespace) -> None:
    """Assess the images, or kept evidence, and write the table."""
    from pqpp_feedback.assess.verdicts import read_verdicts, recompute, write_verdicts

    module = importlib.import_module(f"pqpp_cli.assessors.{options.assessor}")
    _check(options)
    getattr(module, "check", lambda _: None)(options)
    if wants_shards(options):
        _assess_shards(options, module.open_assessors)
        return
    if options.evidence:
        by_name = {one.name: one for one in module.open_assessors(options)}
        kept = (row for row in read_verdicts(options.evidence) if row["assessor"] in by_name)
        rows = (row for one in kept for row in recompute([one], by_name[one["assessor"]]))
        note(f"{write_verdicts(options.output, rows)} rows scored again: {options.output}")
    elif not look(options, module.open_assessors):
        return  # the first process tells the rest
    _say_agreement(options, module.AGREEMENT)
    getattr(module, "finish", lambda _: None)(options)
    if options.gallery:
        write_page(options, [options.output], options.gallery)


def _assess_shards(options: argparse.Namespace, open_assessors: Callable) -> None:
    """Assess the images of prompts from shard to shard."""
    from functools import partial

    from pqpp_feedback.assess.shards import AssessShard

    refuse_with_shards(options, "dataset", "evidence", "people", "gallery")

    def begin() -> tuple[AssessShard, dict, str]:
        opened = partial(open_assessors, options)
        job = AssessShard(opened, options.image_dir, options.column, options.batch_size)
        settings = job.settings
        if (options.workers or 1) > 1:
            del job.assessors  # each worker has its own
        return job, settings, options.output

    work_on_shards(options, begin, numbered=("prompt_id",))


def _gallery(options: argparse.Namespace) -> None:
    write_page(options, options.file, options.output)


def write_page(options: argparse.Namespace, tables: list[str], page: str, **shown: Any) -> None:
    """Write the gallery of some tables of verdicts.

    Args:
        options: With `image_dir`, `people` and `embed`.
        tables: The tables.
        page: The page to write.
        **shown: Further settings of `pqpp_feedback.assess.gallery.Showing`.
    """
    from pqpp_cli.output import emit
    from pqpp_feedback.assess.gallery import Showing, verdict_gallery
    from pqpp_feedback.assess.people import read_people
    from pqpp_feedback.assess.verdicts import read_verdicts

    people = read_people(options.people) if options.people else None
    how = Showing(embedded=options.embed, **shown)
    rows = (row for table in tables for row in read_verdicts(table))
    emit(verdict_gallery(rows, options.image_dir, page, people, how), page)


def look(options: argparse.Namespace, open_assessors: Any) -> bool:
    """Assess the images, and tell whether this process wrote the table."""
    from pqpp_feedback.assess.pictures import find_pictures
    from pqpp_feedback.assess.run import assess

    pictures, unseen = find_pictures(options.image_dir, prompts_of(options))
    lacking = [one for one in pictures if one.problem]
    if len(lacking) == len(pictures):
        one = lacking[0]
        raise CommandError(
            f"--image-dir {options.image_dir}: no image has a usable prompt ({one.image_id} "
            f"{one.problem}); give --file or --dataset, or put them in metadata.jsonl"
        )
    if unseen:
        note(f"{len(unseen)} prompts have no image: {_some(unseen)}")
    if lacking:
        named = _some([one.image_id for one in lacking])
        note(f"{len(lacking)} images cannot be assessed, their rows say why: {named}")
    shown = sys.stderr.isatty()
    ran = assess(pictures, open_assessors(options), options.output, options.batch_size, shown)
    for line in ran.lines():
        note(line)
    if ran.rows:
        note(f"{ran.rows} rows: {options.output}")
    return bool(ran.rows)


def _say_agreement(options: argparse.Namespace, known: str) -> None:
    """Say how well each routine's verdicts agree with people, as far as it is known."""
    from pqpp_feedback.assess.agreement import agreement, agreement_in_words
    from pqpp_feedback.assess.people import read_people, with_people
    from pqpp_feedback.assess.verdicts import read_verdicts

    if not options.people:
        note(f"{known} --people FILE measures it on your images")
        return
    judged = (row for row in read_verdicts(options.output) if row["verdict"] is not None)
    rows, answers = with_people(judged, read_people(options.people))
    if not rows:
        note(f"{options.people} has no answer on an image that has a verdict")
    for routine in dict.fromkeys(row["routine"] for row in rows):
        pairs = [
            (row["verdict"], answer)
            for row, answer in zip(rows, answers, strict=True)
            if row["routine"] == routine
        ]
        note(f"{routine}: {agreement_in_words(agreement(*zip(*pairs, strict=True)))}")


def prompts_of(options: argparse.Namespace) -> Iterator[dict] | None:
    """Give the rows of prompts that `--file` or `--dataset` names; None where neither does."""
    # Here it is the folder of what was generated, not a column of the dataset.
    options = argparse.Namespace(**{**vars(options), "image_dir": None})
    refuse_parts(options)
    if options.dataset:
        from pqpp_cli.prompt_datasets import dataset_rows, parts_of

        rows = dataset_rows(options)
        return _numbered(parts for parts, _ in parts_of(rows))
    if options.file:
        from pqpp_files.read_table import read_table

        table = read_table(options.file, plain=options.column)
        table.texts(options.column)
        columns = {**table.columns, "prompt": table[options.column]}
        return _numbered([columns])
    return None


def _numbered(parts: Any) -> Iterator[dict]:
    number = 0
    for part in parts:
        for row in zip(*part.values(), strict=True):
            yield {"prompt_id": number, **dict(zip(part, row, strict=True))}
            number += 1


def _check(options: argparse.Namespace) -> None:
    """Refuse before anything is loaded what would fail after the work."""
    from pqpp_feedback.assess.errors import AssessError
    from pqpp_feedback.assess.people import read_people

    if options.file and options.dataset:
        raise CommandError("--file and --dataset both name prompts; give one")
    both = options.evidence and options.gallery  # then the images are only shown
    if not both and (options.image_dir is None) == (options.evidence is None):
        raise CommandError("--image-dir or --evidence: give one, the images or what was seen")
    if options.gallery and options.image_dir is None:
        raise CommandError("--gallery: it shows the images; add --image-dir DIR")
    if options.evidence and (options.file or options.dataset):
        raise CommandError("--evidence: it holds the prompts; leave --file and --dataset out")
    if wants_shards(options) == (Path(options.output).suffix.lower() == ".parquet"):
        if wants_shards(options):
            raise CommandError(f"--output {options.output}: shards are written into a folder")
        raise CommandError(f"--output {options.output}: name a file in .parquet")
    if options.batch_size < 1:
        raise AssessError(f"`batch_size` is {options.batch_size}; it must be 1 or more")
    if options.people:
        read_people(options.people)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def note(line: str) -> None:
    """Say a line on standard error."""
    from pqpp_files.visible import visible

    print(f"pqpp: note: {visible(line)}", file=sys.stderr)
