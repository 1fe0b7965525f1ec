"""`pqpp predict`: predict how well prompts will do."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pqpp_cli.command import Command
from pqpp_cli.groups import (
    TABLE_STYLES,
    Dataset,
    ImageDir,
    OnePredictor,
    PromptOptions,
    ResultOptions,
    ShardOptions,
    Targets,
)
from pqpp_cli.output import emit, emit_merged, get_output_width, print_notes
from pqpp_files.errors import PqppError
from pqpp_files.names import pluralize
from pqpp_files.options.option import option

if TYPE_CHECKING:
    from pqpp_models.explain.explanation import Explanation
    from pqpp_models.predict_shards import ShardPredictor
    from pqpp_models.predictor import Predictor
    from pqpp_models.prompt_rows import PromptSource
    from pqpp_models.verdict.verdict import PromptVerdict, PromptVerdicts

_MANY = 100


class Predict(
    PromptOptions, Targets, OnePredictor, ResultOptions, Dataset, ImageDir, ShardOptions, Command
):
    """Predict how well prompts will do in image generation and retrieval.

    examples:
      pqpp predict "a man riding a wave on a surfboard" --target mean_hbpp,mean_p10
      pqpp predict "two robots play chess" --target mean_hbpp --uncertainty
      pqpp predict "two men in suits juggle seven oranges" --target mean_hbpp --explain
      pqpp predict --file prompts.txt --verdict --output predicted.csv
      pqpp predict --file prompts.csv --column caption --output predicted.csv
      pqpp predict --dataset sample --split test --output predicted.csv
      pqpp predict --dataset pqpp --split test --image-dir images --predictor runs/clip/model
      cat prompts.txt | pqpp predict --format json
      pqpp predict "a red cat" --predictor n_words
      pqpp predict --file "prompts/*.parquet" --output predicted --workers 8
      pqpp predict --file prompts.parquet --output predicted --shard $SLURM_ARRAY_TASK_ID/64

    `alignment`, 0 to 1, is the share of people who would say that an image shows what the prompt
    says. HBPP is -1 to 2, P@10 and RR are 0 to 1; higher is better. Tables show alignment and the
    means over models; files contain all targets. An untrained predictor, such as n_words, has a
    score in other units; the table says whether higher is easier or harder. Blank prompts have no
    prediction.

    Prompts that are not plain English are out of domain (column `out_of_domain`) and have no
    prediction; --unread average fills in the average, or a lower value for garbled words.
    `alignment` is not reliable for tag lists, prompts of more than 30 words and prompts with
    several unknown words, which --verdict marks. The column `distance` is the distance to the
    training prompts. Weights, flags, LoRA tags, outer quotes, tails like "4k", styles and artists
    are ignored and listed in the column `ignored`.

    --explain removes one word or phrase at a time so that the rest stays English, and prints how
    the first target's prediction changes. The changes are exact but do not add up.

    Attributes:
        file: Text, CSV, TSV, JSON, JSONL, Parquet or Excel file with prompts, or - for standard
            input; a folder, or a pattern such as "prompts/*.parquet", is read in shards.
        targets: Targets, such as mean_hbpp; `pqpp models show NAME` lists them (default: all).
        uncertainty: Add the standard deviation of each prediction (columns TARGET_deviation).
            `alignment` has none.
        unread: Prediction for prompts that are out of domain.
        verdict: Add how hard each prompt is by its `alignment`, whatever the targets, compared with
            user prompts and photo captions, and which skill makes it hard (columns `verdict`,
            `level`, `easier_than_people`, `easier_than_captions`, `skill`, `cost` and `remedy`).
        explain: Add how much each phrase raises or lowers the first target's prediction (column
            `explanation`).
    """

    file: str | None = option(None, path="file")
    targets: tuple[str, ...] | None = None
    format: str | None = option(None, choices=("table", "markdown", *TABLE_STYLES))
    uncertainty: bool = False
    unread: str = option("empty", choices=("empty", "average"))
    verdict: bool = False
    explain: bool = False
    data_dir: str | None = option(None, goes_with="dataset")
    image_dir: str | None = option(None, goes_with="dataset")
    revision: str | None = option(None, "branch, tag or commit of a predictor on the Hub")

    def __post_init__(self) -> None:
        """Refuse several sources of prompts, and options that shards do not support."""
        super().__post_init__()
        if self.in_shards:
            return self.refuse("shards", "prompts", "dataset", "explain", "format")
        sources = [f"`{name}`" for name in ("prompts", "file", "dataset") if getattr(self, name)]
        if len(sources) > 1:
            raise PqppError(f"give only one of {' and '.join(sources)}")

    def run(self) -> None:
        """Print or write the predictions."""
        from pqpp_models.predictor import Predictor
        from pqpp_models.verdict.reference import read_reference

        if self.in_shards:
            return self.run_in_shards(self.file, self.output, self._make_job)
        predictor = Predictor.from_pretrained(self.predictor, revision=self.revision)
        if self.verdict:
            read_reference(predictor)  # refused before anything is predicted
        source = self._open_source(predictor)
        if self.explain:
            self._explain(predictor, [])
        if blank := sum(not text.strip() for text in source.texts):
            print_notes(f"no prediction for {pluralize(blank, 'blank prompt')}")
        if self.style in ("table", "markdown"):
            self._print_tables(source, predictor)
        else:
            self._write_table(source, predictor)

    def _explain(self, predictor: Predictor, prompts: list[Any]) -> list[Any]:
        target = predictor.list_columns(None if predictor.is_scalar else self.targets)[0]
        is_shown = len(prompts) > _MANY and sys.stderr.isatty()
        return predictor.explain(prompts, target, progress=is_shown)

    def _make_job(self) -> tuple[ShardPredictor, dict, str]:
        from pqpp_models.predict import order_targets
        from pqpp_models.predict_shards import ShardPredictor

        job = ShardPredictor(self.predictor, None, self.uncertainty, self.column, self.revision)
        job.unread, job.verdict = self.unread, self.verdict
        job.targets = order_targets(job.loaded_predictor, self.targets)
        return job, {"job": "predict", **asdict(job)}, self.output or ""

    def _open_source(self, predictor: Predictor) -> PromptSource:
        """Return the prompts of the arguments, the file or the dataset."""
        from pqpp_models.prompt_rows import PromptSource, load_dataset_rows

        dataset = self.dataset or (self.file if predictor.inputs != "text" else None)
        if dataset:
            source = (dataset, self.subset, self.split, self.data_dir, self.image_dir)
            images = predictor.inputs == "text+images"
            rows, _ = load_dataset_rows(*source, self.column, keeps_images=images)
            predictor.require_columns(rows.column_names, dataset)
            return PromptSource.from_rows(rows)
        if predictor.inputs != "text":
            what = f"{self.predictor} needs {predictor.inputs}, but the input has only text"
            raise PqppError(f"{what}; give both in a `file` or `dataset`")
        if self.prompts:
            return PromptSource.from_strings(self.prompts)
        if self.file in (None, "-") and (sys.stdin is None or sys.stdin.isatty()):
            raise PqppError('no prompts given; write pqpp predict "a prompt", or add `file` FILE')
        return PromptSource.from_file(self.file or "-", self.column)

    def _predict(
        self,
        source: PromptSource,
        predictor: Predictor,
        targets: tuple[str, ...],
        typed: bool,
        with_verdicts: bool,
    ) -> tuple[dict[str, list], dict[str, list], PromptVerdicts, list[Explanation]]:
        """Return the input's columns, the predictions, and the verdicts and explanations if any."""
        from tqdm import tqdm

        from pqpp_models.predict import explain_unreliable, predict_columns
        from pqpp_models.predictor import REFERENCE
        from pqpp_models.prompts import parse_prompts
        from pqpp_models.targets import ALIGNMENT
        from pqpp_models.verdict.verdict import PromptVerdicts, predict_verdicts

        inputs: dict[str, list] = {}
        predicted: dict[str, list] = {}
        verdicts: list[PromptVerdict] = []
        prompts: list[Any] = []
        unreliable = 0
        is_quiet = len(source.texts) <= _MANY or not sys.stderr.isatty()
        bar_options: Any = {"unit": "prompt", "delay": 1, "leave": None, "disable": is_quiet}
        with tqdm(total=len(source.texts), **bar_options) as bar:
            for part, rows in source.read_batches(typed):
                read = predictor.read_rows(rows)
                arguments = (predictor, read, targets, self.uncertainty)
                if with_verdicts:
                    columns, new_verdicts = predict_verdicts(*arguments, self.unread)
                    verdicts += new_verdicts
                else:
                    columns = predict_columns(*arguments, unread=self.unread)
                    if ALIGNMENT in columns and REFERENCE in predictor.details:
                        cells = zip(columns[ALIGNMENT], parse_prompts(read), strict=True)
                        reasons = [value and explain_unreliable(predictor, p) for value, p in cells]
                        unreliable += sum(map(bool, reasons))
                for table, batch in ((inputs, part), (predicted, columns)):
                    for name, values in batch.items():
                        table.setdefault(name, []).extend(values)
                prompts += read if self.explain else []
                bar.update(len(rows))
        if unreliable:
            why = "tag lists, more than 30 words, or several unknown words; --verdict names them"
            print_notes(f"{ALIGNMENT} of {pluralize(unreliable, 'prompt')} is not reliable: {why}")
        explained = self._explain(predictor, prompts) if self.explain else []
        return inputs, predicted, PromptVerdicts(verdicts), explained

    def _print_tables(self, source: PromptSource, predictor: Predictor) -> None:
        """Print or write predictions as tables, with verdicts and explanations if requested."""
        from pqpp_cli import answers
        from pqpp_models.predict import choose_main_targets
        from pqpp_models.predictor import REFERENCE

        targets = self.targets or choose_main_targets(predictor)
        is_plain = self.style == "table" and self.targets is None and len(self.prompts) == 1
        is_single = is_plain and REFERENCE in predictor.details
        with_verdicts = self.verdict or is_single
        results = self._predict(source, predictor, targets, False, with_verdicts)
        _, columns, verdicts, explained = results
        domain_note, width = predictor.domain_note, get_output_width(self.output)
        if is_single and not self.uncertainty:
            text = answers.format_single_verdict(verdicts[0], columns, domain_note)
        else:
            text = answers.format_predictions(self.style, columns, domain_note, width)
            if with_verdicts:
                text = f"{answers.format_verdicts(self.style, verdicts, width)}\n\n{text}"
        if others := len(predictor.list_columns(None)) - len(targets) if not self.targets else 0:
            text += f"\n\n{others} targets of single models are not shown; list them with --target"
        text += f"\n\n{predictor.direction}" if predictor.is_scalar else ""
        if self.explain:
            text += "\n\n" + answers.format_explanations(self.style, explained)
        emit(text, self.output)

    def _write_table(self, source: PromptSource, predictor: Predictor) -> None:
        """Write predictions as data, after the columns of the input."""
        from pqpp_models.predict import order_targets

        targets = order_targets(predictor, self.targets)
        typed = self.style not in ("csv", "tsv")
        results = self._predict(source, predictor, targets, typed, self.verdict)
        inputs, predicted, verdicts, explained = results
        if self.verdict:
            predicted |= verdicts.as_columns()
        if self.explain:
            predicted["explanation"] = [x.as_record() if x.changes else None for x in explained]
        emit_merged(inputs, predicted, self.style, self.output)
