"""`pqpp rewrite`: rank rewrites of a prompt, and accept a confirmed one."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pqpp_backbones.chat.models import ChatOptions
from pqpp_cli.command import LIBRARY, Command, Group
from pqpp_cli.groups import OnePredictor, PromptOptions, ResultOptions
from pqpp_cli.output import TABLE_STYLES, emit, emit_merged, print_notes
from pqpp_files.errors import PqppError
from pqpp_files.escape import escape_controls
from pqpp_files.names import pluralize
from pqpp_files.options.option import option

if TYPE_CHECKING:
    from pqpp_engines.rewrite import Judge


class StudyOptions(Group):
    """Options of a study in which people compare images.

    Attributes:
        study: Also write DIR/prompts.csv for `pqpp generate` and DIR/pairs.csv for `pqpp annotate`.
        images_per_prompt: With --study: pairs per rewrite (default: 1).
    """

    TITLE = "user study"
    study: str | None = option(None, path="output")
    model_name: str | None = option(None, "model name in `pqpp generate`", goes_with="study")
    images_per_prompt: int | None = option(None, ge=1, goes_with="study")


class Rewrite(
    PromptOptions,
    OnePredictor,
    ChatOptions,
    StudyOptions,
    ResultOptions,
    Command,
    takes=("pqpp_engines.rewrite:Judge",),
):
    r"""Rank rewrites of a prompt, from a language model or a file.

    They are ranked by predicted gain, fluency and meaning. With an entailment model, the best
    rewrite that it confirms is accepted.

    examples:
      pqpp rewrite "gel wrist rest" --target mean_hbpp --chat-url http://localhost:8000/v1 \
          --chat-model qwen
      pqpp rewrite --file prompts.csv --target alignment --candidates mine.csv --output better.csv
      pqpp rewrite --file prompts.csv --target mean_hbpp --chat-model Qwen/Qwen3-4B-Instruct-2507 \
          --output rewritten.csv --study ab --model-name sdxl
      pqpp rewrite --file prompts.csv --target mean_p10 --chat-url https://api.example.com/v1 \
          --chat-model big --max-cost 2 --prices 0.5,1.5 --keep candidates.jsonl

    Without --entailment, candidates are only ranked: `best` is the first with a predicted gain, and
    `rewritten` is the original prompt. With it, `rewritten` is the accepted rewrite. A rewrite is
    rejected if it changes a count, swaps things or colours ("a dog on a cat" for "a cat on a
    dog") or is no longer English. So is one that loses a negation, unless --entailment confirms it
    ("a dog without a leash" as "a dog that runs free"). Phrases like "please give me a picture of"
    may be dropped. Files keep the other columns of --file. --keep writes all candidates in order,
    with phrases that are perhaps added or lost, and the reason why each is not accepted.

    For retrieval, rewrites are expanded queries: use a target such as mean_p10.

    To compare images of both prompts in a study, use --study, then:
      pqpp generate --model SDXL --model-name sdxl --file ab/prompts.csv --images-per-prompt 1 \
          --output made
      pqpp annotate init ab.yaml --file ab/pairs.csv --image-dir made/images --kind preference

    Attributes:
        chat_model: Model that writes rewrites: a name at --chat-url, or a folder or
            OWNER/REPOSITORY.
        keep: Also write every candidate with its verdict.
    """

    target: str
    candidates: str | None = option(None, "table of prompt and candidate", path="file")
    chat_model: str | None = None
    count: int = option(4, "rewrites per prompt", ge=1)
    predictor: str = option("static", "predictor that ranks rewrites")
    margin: float = option(LIBRARY, ge=0)
    confidence: float = option(LIBRARY, ge=0, lt=1)
    entailment: str | None = option(LIBRARY, path="name")
    encoder: str | None = option(LIBRARY, path="name")
    keep: str | None = option(None, metavar="FILE.jsonl", path="output file")
    format: str | None = option(None, choices=("table", *TABLE_STYLES))

    def __post_init__(self) -> None:
        """Require exactly one source each of prompts and of candidates, and the models' names."""
        super().__post_init__()
        self.require_one_of("prompts", "file")
        self.require_one_of("candidates", "chat_model")
        if self.study and not self.model_name:
            raise PqppError("`study` needs the name of the image model; add `model_name`")

    def run(self) -> None:
        """Write or read candidates, rank them and print the result."""
        from pqpp_engines.rewrite import Judge, write_study
        from pqpp_engines.rewrite.rewriting import rewrite_prompts
        from pqpp_files.atomic_write import write_file

        style = self.style
        inputs, prompts = self.read_prompts(style not in ("csv", "tsv"))
        ids = [str(id_) for id_ in inputs.get("prompt_id", range(len(prompts)))]
        if self.study and len(set(ids)) < len(ids):
            value = Counter(ids).most_common(1)[0][0] or "(blank)"
            raise PqppError(f"{self.file}: duplicate prompt_id {value}; give `study` unique ids")
        judge = Judge(**self.get_arguments(Judge))
        write, cost = self._make_writer(prompts, judge)
        rewritten = rewrite_prompts(prompts, write, judge, progress=sys.stderr.isatty())
        if self.keep:
            lines = [json.dumps(verdict) + "\n" for verdict in rewritten.verdicts]
            write_file(self.keep, "".join(lines))
        print_notes(*cost(), _summarise(rewritten.columns, rewritten.verdicts))
        if self.entailment is None:
            print_notes("the rewrites were only ranked; add --entailment MODEL to accept some")
        if style == "table":
            emit(_format_table(rewritten.columns), self.output)
        else:
            emit_merged(inputs, rewritten.columns, style, self.output, "rewrite")
        if self.study:
            texts = (rewritten.columns["prompt"], rewritten.columns["best"])
            pairs = self.images_per_prompt or 1
            count = write_study(self.study, ids, *texts, self.model_name or "", pairs)
            print_notes(f"wrote a study of {count} prompts to {self.study}")
        if rewritten.error:
            raise PqppError(rewritten.error)

    def _make_writer(self, prompts: Sequence[str], judge: Judge) -> tuple[Callable, Callable]:
        """Return a function from a prompt to its candidates, and one that returns notes on cost."""
        from pqpp_engines.rewrite.rewriting import Writer, read_rewrites

        if self.candidates:
            candidates = read_rewrites(self.candidates)
            if candidates.keys().isdisjoint(prompts):
                raise PqppError(f"{self.candidates} has no candidate for these prompts; add some")
            return (lambda prompt: candidates.get(prompt, [])), list
        chat = self.open_chat(self.chat_model or "", self.make_budget())
        writer = Writer(chat, self.count, judge.target)
        writer.check_budget(list(prompts))
        return writer, lambda: [chat.budget.describe_spending()]


def _summarise(columns: dict[str, list], verdicts: list[dict]) -> str:
    """Return one line on the number of rewrites and the reasons why others are not accepted."""
    better = sum(a != b for a, b in zip(columns["best"], columns["prompt"], strict=True))
    text = f"{sum(columns['changed'])} of {len(columns['prompt'])} rewritten; "
    text += f"{better} with a better candidate; {pluralize(len(verdicts), 'candidate')}"
    reasons = Counter(v["reason"].partition(":")[0] for v in verdicts if v["reason"])
    summary = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
    return f"{text}. Not accepted: {summary}" if summary else text


def _format_table(columns: dict[str, list]) -> str:
    from tabulate import tabulate

    rows = []
    for text, _, changed, best, chance, *gains in zip(*columns.values(), strict=True):
        cells = ["yes" if changed else "no", "–" if chance is None else f"{chance:.0%}"]
        cells += [f"{gain:+.3f}" for gain in gains]
        changed = ["(unchanged)"] if best == text else [escape_controls(best), *cells]
        rows.append([escape_controls(" ".join(text.split())), *changed])
    names = [name.replace("_gain", " gain") for name in list(columns)[5:]]
    heads = ["prompt", "best", "accepted", "probably better", *names]
    return tabulate(rows, heads, disable_numparse=True)
