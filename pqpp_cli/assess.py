"""Score generated images with automated evaluators.

Models describe the images, and rules score the descriptions. Both are stored, so scores can be
computed again without the models.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from pqpp_cli.command import PAGES, Command, Group
from pqpp_cli.groups import Dataset, ReportOptions, ShardOptions
from pqpp_cli.output import TABLE_ENDINGS, emit, print_notes
from pqpp_feedback.assessors import (
    AssessorOptions,
    GimbrrOptions,
    RahfOptions,
    ScoreOptions,
    VistarOptions,
)
from pqpp_files.errors import PqppError
from pqpp_files.options.option import NEEDED, option

if TYPE_CHECKING:
    from pqpp_feedback.assess.agreement import HumanAnswers
    from pqpp_feedback.assess.pictures import Picture
    from pqpp_feedback.assess.run import AssessmentJob

EPILOG = """
Layouts of --image-dir: files DIR/{prompt_id}/{model}_{i}.png, with prompts from --file or
--dataset; a list DIR/metadata.jsonl or metadata.csv (file_name, prompt, prompt_id, model, ...); or
a text file with the prompt next to each image. Without a column prompt_id, row numbers from 0 are
the ids.

The output has one row per image: image, prompt_id, prompt, task, generator, assessor, routine,
verdict, score, reason, evidence (JSON), inputs (JSON), model, revision.

If a job is killed, run it again to resume it. For several GPUs, use
  accelerate launch -m pqpp_cli.main assess ...

With shards, --file is Parquet or CSV and --output is a folder of tables for `pqpp assess gallery`.
"""


_MAX_EXAMPLES = 3


class GalleryOptions(Group):
    """Options of the gallery page.

    Attributes:
        people: Table of people's answers, to measure agreement, with the columns matched and image
            (or prompt_id and model).
    """

    image_dir: str | None = option(None, "folder of images (layouts below)", path="images")
    people: str | None = option(None, path="file")
    embed: bool = option(False, "store thumbnails in the page (default: link to the images)")

    @cached_property
    def answers(self) -> HumanAnswers | None:
        """People's answers; None without a table of them."""
        from pqpp_feedback.assess.agreement import read_human_answers

        return read_human_answers(self.people) if self.people else None

    def write_page(self, tables: Sequence[str], page: str, threshold: float = 0.5) -> None:
        """Write an HTML gallery of the verdicts in tables.

        Args:
            threshold: Minimum probability at which a word is marked as misaligned.
        """
        from pqpp_feedback.assess.gallery import render_gallery
        from pqpp_feedback.assess.verdicts import read_verdicts

        rows = (row for table in tables for row in read_verdicts(table))
        settings = self.answers, self.embed, threshold
        emit(render_gallery(rows, self.image_dir or "", page, *settings), page)


class SharedAssessOptions(Dataset, ShardOptions, GalleryOptions, AssessorOptions):
    """Options that all evaluators share.

    Attributes:
        gallery: Also write an HTML page of the images; needs --image-dir.
    """

    FOOTNOTE = EPILOG
    SHARD_SIZE = 100
    file: str | None = option(None, "prompts: prompt, prompt_id and other columns", path="file")
    output: str = option(
        "verdicts.parquet",
        "table to write",
        path="output file",
        endings=TABLE_ENDINGS[:-1],  # a cell of Excel is too short for some evidence
    )
    gallery: str | None = option(None, path="output file", endings=PAGES)
    replace: bool = option(False, "replace a table from other evaluators or models")
    batch_size: int = option(16, "images at once", ge=1)
    shard_size: int | None = option(None, "rows per shard (default: 100)")

    def __post_init__(self) -> None:
        """Refuse contradictory options and unreadable answers before any work."""
        super().__post_init__()
        if self.file and self.dataset:
            raise PqppError("give `file` or `dataset`, not both")
        if not (self.evidence and self.gallery):  # the images are only shown
            self.require_one_of("image_dir", "evidence")
        if self.gallery and self.image_dir is None:
            raise PqppError("`gallery` needs the images; set `image_dir` to their folder")
        if self.evidence and (self.file or self.dataset):
            raise PqppError("`evidence` already contains the prompts; remove `file` and `dataset`")
        if self.in_shards:
            self.refuse("shards", "dataset", "evidence", "people", "gallery", "replace")
        _ = self.answers

    def run(self) -> None:
        """Assess the images, or score stored evidence, and write the table."""
        if self.in_shards:
            return self.run_in_shards(self.file, self.output, self._make_job, ("prompt_id",))
        pictures = [] if self.evidence else self._find_pictures()  # before a model is loaded
        assessors = self.load()
        from pqpp_feedback.assess.verdicts import read_verdicts, rescore, write_verdicts

        if self.evidence:
            rows = rescore(read_verdicts(self.evidence), assessors)
            if (first_row := next(rows, None)) is None:
                names = " or ".join(assessor.name for assessor in assessors)
                raise PqppError(f"{self.evidence} has no verdicts of {names}; use another file")
            count = write_verdicts(self.output, itertools.chain([first_row], rows))
            print_notes(f"wrote {count} rescored rows to {self.output}")
        else:
            from pqpp_feedback.assess.run import assess

            options: Any = {"progress": sys.stderr.isatty(), "replace": self.replace}
            summary = assess(pictures, assessors, self.output, self.batch_size, **options)
            print_notes(*summary.to_lines())
            if not summary.rows:
                return None  # the first process prints the rest
            print_notes(f"wrote {summary.rows} rows to {self.output}")
        rows = (row for row in read_verdicts(self.output) if row["score"] is row["verdict"] is None)
        if empty := Counter(row["reason"] for row in rows):
            ((reason, _),) = empty.most_common(1)
            print_notes(f"rows without verdict and score: {empty.total()}; most often: {reason}")
        for assessor in assessors:
            print_notes(*assessor.get_notes())
        self._note_agreement()
        if self.gallery:
            # The threshold is an option of RAHF.
            self.write_page([self.output], self.gallery, getattr(self, "threshold", 0.5))
        return None

    def _make_job(self) -> tuple[AssessmentJob, dict, str]:
        from pqpp_feedback.assess.assessor import Assessor
        from pqpp_feedback.assess.run import AssessmentJob
        from pqpp_files.shards import find_shards

        job = AssessmentJob(
            partial(type(self).load, self), self.image_dir or "", self.column, self.batch_size
        )
        default = Assessor.prepare
        if costly := [x for x in job.assessors if type(x).prepare is not default]:
            shards = find_shards(self.file or "", self.SHARD_SIZE, ("prompt_id",))
            pictures = [picture for shard in shards for picture in job.to_pictures(shard.read())]
            for assessor in costly:
                assessor.prepare(pictures)
        return job, job.settings, self.output

    def _find_pictures(self) -> list[Picture]:
        """Return the images and their prompts; note the ones that cannot be assessed."""
        from pqpp_feedback.assess.pictures import find_pictures

        pictures, unused = find_pictures(self.image_dir or "", self._read_prompts())
        invalid = [picture for picture in pictures if picture.problem]
        if len(invalid) == len(pictures):
            first, source = invalid[0], self.file or self.dataset
            fix = "name the files PROMPT_ID/MODEL_0.png" if source else "give `file` or `dataset`"
            raise PqppError(
                f"no image in {self.image_dir} has a usable prompt ({first.image_id} "
                f"{first.problem}); {fix}, or list them with their prompts in metadata.jsonl"
            )
        if unused:
            print_notes(f"prompts without an image: {_format_examples(unused)}")
        if invalid:
            examples = _format_examples([picture.image_id for picture in invalid])
            print_notes(f"images that cannot be assessed (see column `reason`): {examples}")
        return pictures

    def _read_prompts(self) -> Iterator[dict] | None:
        """Return the prompts of `file` or `dataset` as records, or None if neither is given."""
        from pqpp_feedback.assess.pictures import add_prompt_ids, read_prompt_table

        if self.dataset:
            from pqpp_models.prompt_rows import iterate_batches

            return add_prompt_ids(part for part, _ in iterate_batches(self.load_rows()))
        return read_prompt_table(self.file, self.column) if self.file else None

    def _note_agreement(self) -> None:
        """Print each routine's agreement with `people`; without `people`, a general note."""
        from pqpp_feedback.assess.agreement import describe_agreement, group_agreement
        from pqpp_feedback.assess.verdicts import read_verdicts

        if self.answers is None:
            print_notes(f"{self.agreement} --people FILE measures it on your images")
            return
        rows = ({**row, "people": self.answers.find(row)} for row in read_verdicts(self.output))
        rows_with_both = [row for row in rows if None not in (row["verdict"], row["people"])]
        if not rows_with_both:
            print_notes(f"{self.people} has no answer for any image with a verdict")
        for group in group_agreement(rows_with_both, ["routine"]):
            print_notes(f"{group['routine']}: {describe_agreement(group)}")


def _format_examples(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_EXAMPLES} more" if len(names) > _MAX_EXAMPLES else ""
    return ", ".join(names[:_MAX_EXAMPLES]) + more


class AssessAgree(ReportOptions, Command):
    """Measure how well verdicts agree with people, by task and model.

    The command also prints how many human ratings the scores save (prediction-powered inference).

    examples:
      pqpp assess agree verdicts.parquet --people votes.csv
      pqpp assess agree monday.parquet tuesday.parquet --people votes.csv --format markdown

    The table of people's answers has image (or prompt_id and model) and matched (true or false, yes
    or no, 1 or 0). It need not cover all images, but valid intervals need a random sample. A CSV
    file of your own verdicts needs image and verdict or score; task, generator, routine, prompt_id
    and the others are optional.
    """

    file: tuple[str, ...] = option(NEEDED, "tables that pqpp assess wrote", path="file", word=True)
    people: str = option(NEEDED, "table of people's answers", path="file")

    def run(self) -> None:
        """Print the agreement by task and model."""
        from pqpp_feedback.assess.agreement import compare_with_people, read_human_answers
        from pqpp_feedback.assess.verdicts import read_verdicts

        rows = itertools.chain.from_iterable(map(read_verdicts, self.file))
        tables, notes = compare_with_people(rows, read_human_answers(self.people))
        self.write_tables("Verdicts and people", tables, notes)


class AssessGallery(GalleryOptions, Command):
    """Write an HTML page of images with their verdicts.

    The page shows verdicts, reasons, scores, and boxes or heatmaps, with filters for task, model
    and verdict. Disagreements with people come first.

    examples:
      pqpp assess gallery verdicts.parquet --image-dir images
    """

    file: tuple[str, ...] = option(NEEDED, "tables that pqpp assess wrote", path="file", word=True)
    image_dir: str = option(NEEDED, "folder of images")
    people: str | None = option(None, "table of image (or prompt_id and model) and matched")
    output: str = option("gallery.html", "page to write", path="output file", endings=PAGES)

    def run(self) -> None:
        """Write the page."""
        self.write_page(self.file, self.output)


class AssessGimbrr(SharedAssessOptions, GimbrrOptions, Command):
    """Check whether images show the objects of GIMBRR's prompts, and the right number.

    examples:
      pqpp assess gimbrr --image-dir images --dataset gimbrr --output verdicts.parquet
      pqpp assess gimbrr --image-dir images --file prompts.csv --detector google/owlv2-base-patch16
      pqpp assess gimbrr --evidence verdicts.parquet --people answers.csv

    The table of prompts has the columns task, representations (objects) and task_specific_label
    (counts, or what must be absent), as in load_dataset("pqpp", "gimbrr"). Tasks without a routine
    and objects unknown to the detector have a reason but no verdict. Models are folders or
    OWNER/REPOSITORY[@REVISION]. Detectors can be DETR, RT-DETR, D-FINE, OWLv2 or GroundingDINO.
    """


class AssessRahf(SharedAssessOptions, RahfOptions, Command):
    r"""Predict scores, heatmaps and misaligned words with a RAHF model.

    examples:
      pqpp assess rahf --image-dir generated --model OWNER/REPOSITORY --output verdicts.parquet
      pqpp assess rahf --image-dir images --file prompts.csv --model runs/rahf/model
      pqpp assess rahf --image-dir generated --model runs/rahf/model --gallery gallery.html \
        --embed
      pqpp assess rahf --evidence verdicts.parquet --threshold 0.3 --output other.parquet
    """


class AssessVistar(SharedAssessOptions, VistarOptions, Command):
    r"""Score images with VISTAR: text, light, scenes, characters, penetration, geometry, HWPQ.

    examples:
      pqpp assess vistar --image-dir generated --only text_rendering
      pqpp assess vistar --image-dir images --dataset vistar --data-dir DIR --split core
      pqpp assess vistar --image-dir images --model depth=OWNER/REPOSITORY
      pqpp assess vistar --image-dir images --only hwpq --chat-url http://localhost:8000/v1 \
        --chat-model NAME --questionnaires questionnaires --max-calls 1000
      pqpp assess vistar --evidence verdicts.parquet --output other.parquet

    A score needs columns or control parameters of the prompt: text; light; panels, subject, layout;
    count, postures, expressions; objects. Rows without them say what is missing. Parameters that
    the paper omits are in pqpp_feedback/vistar/vistar_choices.yaml. Routines are called
    after-vistar-..., since they are not the authors' code.

    For --dataset vistar, --data-dir is a folder with core.txt and hard.txt, one structured prompt
    per line.
    """

    model: dict[str, str] = option({}, metavar="ROLE=NAME_OR_PATH")


class AssessScore(SharedAssessOptions, ScoreOptions, Command):
    r"""Score images with CLIPScore, PickScore, HPSv2, ImageReward, VQAScore and others.

    examples:
      pqpp assess score --with clip_score,pick_score --image-dir generated --output scores.parquet
      pqpp assess score --with vqa_score,pick_score --image-dir generated \
        --chat-model Qwen/Qwen2.5-VL-7B-Instruct --device cuda
      pqpp assess score --with vqa_score --image-dir generated --chat-url http://localhost:8000/v1 \
        --chat-model NAME --ledger calls.jsonl --max-calls 1000
      pqpp assess score --with siglip_score --weights siglip_score=google/siglip-base-patch16-224 \
        --image-dir generated

    Scores are computed as by their authors, with their weights; docs/assess.md lists licences,
    sizes and agreement with people. The weights of hps_v2, image_reward and aesthetic are pickles,
    which are read after you confirm their SHA-256. If an endpoint returns no probabilities,
    vqa_score gives verdicts but no scores.
    """
