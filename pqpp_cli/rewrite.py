"""`pqpp rewrite`: prompts that surely do better and say the same."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator

from pqpp_cli.errors import CommandError
from pqpp_cli.options import add_output, chat_budget
from pqpp_cli.output import OutputFile, OutputFolder

FORMATS = ("table", "csv", "json", "jsonl", "parquet")

_EPILOG = """examples:
  pqpp rewrite "gel wrist rest" --target mean_hbpp --chat-url http://localhost:8000/v1 \\
      --chat-model qwen
  pqpp rewrite --file prompts.csv --target alignment --candidates mine.csv --output rewritten.csv
  pqpp rewrite --file prompts.csv --target mean_hbpp --chat-model Qwen/Qwen3-4B-Instruct-2507 \\
      --output rewritten.csv --study ab --name sdxl
  pqpp rewrite --file queries.csv --target mean_p10 --synonyms --output expanded.csv
  pqpp rewrite --file prompts.csv --target mean_p10 --chat-url https://api.example.com/v1 \\
      --chat-model big --most-money 2 --prices 0.5,1.5 --keep candidates.jsonl

The original is always a candidate. A rewrite is taken only if it keeps the meaning, the predictor
can read it, and the lower bound of its gain is over the margin; of several the one with the highest
bound. Leaving out words raises what a predictor predicts, which is why it is not asked alone.
--keep tells every refusal. A key for the endpoint stands in the variable PQPP_CHAT_KEY.

A file of candidates has the columns prompt and candidate. For retrieval a rewrite is an expanded
query: name a target such as mean_p10. --chat-model without --chat-url is a model of transformers, a
folder or OWNER/REPOSITORY, that runs in this process.

--study asks people whether it helped, by images of both:
  pqpp generate --model SDXL --name sdxl --file ab/prompts.csv --images-per-prompt 1 --output made
  pqpp annotate init ab.yaml --file ab/pairs.csv --image-dir made/images --kind preference
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "rewrite",
        help="rewrite prompts where that surely helps",
        description="Ask a language model, or a file, for other ways to say a prompt, and take one "
        "that surely does better.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("prompts", nargs="*", metavar="PROMPT", help="a prompt, in quotes")
    parser.add_argument("--file", metavar="FILE", help="prompts from a table or a text file")
    parser.add_argument(
        "--column", default="prompt", help="the file's column of prompts (default: %(default)s)"
    )
    parser.add_argument("--target", required=True, metavar="NAME", help="what shall become better")
    _add_sources(parser)
    parser.add_argument("--predictor", metavar="NAME_OR_PATH", help="that judges (default: static)")
    parser.add_argument(
        "--margin", type=float, default=0.0, help="over which the bound must be (default: 0)"
    )
    parser.add_argument(
        "--confidence", type=float, default=0.8, help="of the bound, one-sided (default: 0.8)"
    )
    parser.add_argument(
        "--keep", type=OutputFile, metavar="FILE.jsonl", help="every candidate with its verdict"
    )
    group = parser.add_argument_group("to ask people whether it helped")
    group.add_argument(
        "--study",
        type=OutputFolder,
        metavar="DIR",
        help="also write DIR/prompts.csv for pqpp generate and DIR/pairs.csv for pqpp annotate",
    )
    group.add_argument("--name", help="with --study: what pqpp generate calls the model in files")
    group.add_argument(
        "--images-per-prompt", type=int, metavar="N", help="with --study: pairs (default: 1)"
    )
    add_output(parser, FORMATS, by_name=True)
    parser.set_defaults(run=run)


def _add_sources(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--candidates", metavar="FILE", help="columns prompt and candidate")
    parser.add_argument(
        "--synonyms", action="store_true", help="candidates are made by WordNet, without a model"
    )
    parser.add_argument(
        "--chat-model",
        metavar="NAME",
        help="who writes: a name at --chat-url, else a folder or OWNER/REPOSITORY of a model that "
        "chats, which runs in this process",
    )
    parser.add_argument(
        "--chat-url", metavar="URL", help="of an endpoint that speaks OpenAI's chat completions"
    )
    parser.add_argument("--count", type=int, default=4, help="rewrites a prompt (default: 4)")
    parser.add_argument("--most-calls", type=int, metavar="N", help="how many calls are allowed")
    parser.add_argument("--most-money", type=float, metavar="SUM", help="how much money")
    parser.add_argument(
        "--prices", metavar="IN,OUT", help="of a million tokens of questions and of replies"
    )


def run(options: argparse.Namespace) -> None:
    """Write, judge and print."""
    from tqdm import tqdm

    from pqpp_cli.output import emit, emit_columns, format_of
    from pqpp_engines.rewrite import Judge
    from pqpp_files.write_beside import write_whole
    from pqpp_models import DEFAULT_PREDICTOR
    from pqpp_models.chat.chat import ChatError

    style = format_of(options, FORMATS)
    if style == "parquet" and options.output is None:
        raise CommandError("--format parquet: a terminal can't show it; name a file by --output")
    if bool(options.prompts) == bool(options.file):
        raise CommandError("give prompts either as words or by --file")
    _check_options(options)
    prompts, ids = _prompts(options)
    if options.study and len(set(ids)) < len(ids):
        raise CommandError("--study: two prompts have one prompt_id; give each one of its own")
    judge = Judge(
        options.target, options.predictor or DEFAULT_PREDICTOR, options.margin, options.confidence
    )
    write, told = _writer(options, prompts, judge)
    kept: list[dict] = []
    best: list = []
    failed: ChatError | None = None
    for prompt in tqdm(prompts, unit="prompt", disable=not sys.stderr.isatty()):
        try:
            written = write(prompt) if prompt.strip() and failed is None else []
        except ChatError as error:  # what was paid for is written first
            failed, written, stopped = error, [], len(best)
        verdicts = judge(prompt, written) if written else []
        kept += [{"original": prompt, **one._asdict()} for one in verdicts]
        accepted = [one for one in verdicts if one.accepted]
        best.append(max(accepted, key=lambda one: one.lower_bound) if accepted else None)
    columns = {
        "prompt": list(prompts),
        "rewritten": [one.prompt if one else text for text, one in zip(prompts, best, strict=True)],
        "changed": [one is not None for one in best],
        "lower_bound": [one.lower_bound if one else 0.0 for one in best],
    }
    if options.keep:
        write_whole(options.keep, "".join(json.dumps(one) + "\n" for one in kept))
    for line in [*told(), _said(kept, best)]:
        print(f"pqpp: {line}", file=sys.stderr)
    if style == "table":
        emit(_table(columns), options.output)
    else:
        emit_columns(columns, style, options.output)
    if options.study:
        _write_study(options, ids, columns)
    if failed is not None:
        raise CommandError(f"{failed}; from prompt {stopped + 1} on all stay as they were")


_CHAT = ("chat_url", "most_calls", "most_money", "prices")


def _check_options(options: argparse.Namespace) -> None:
    sources = {
        "--candidates": options.candidates,
        "--synonyms": options.synonyms,
        "--chat-model": options.chat_model or options.chat_url,
    }
    given = [name for name, value in sources.items() if value]
    if len(given) != 1:
        raise CommandError(f"{' and '.join(given) or 'no candidates'}: give one of {_all(sources)}")
    if options.chat_url and not options.chat_model:
        raise CommandError("--chat-url: name by --chat-model which of its models writes")
    for name in _CHAT:
        if getattr(options, name) is not None and not options.chat_model:
            raise CommandError(f"--{name.replace('_', '-')}: it is about a --chat-model")
    if options.study and not options.name:
        raise CommandError("--study: say by --name what pqpp generate calls the model")
    if options.images_per_prompt is not None and options.images_per_prompt < 1:
        raise CommandError(f"--images-per-prompt {options.images_per_prompt}: a number from 1")
    for name in ("name", "images_per_prompt"):
        if getattr(options, name) is not None and not options.study:
            raise CommandError(f"--{name.replace('_', '-')}: it is about a --study; leave it out")


def _all(names) -> str:
    return ", ".join(names)


def _prompts(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return the prompts and their ids; numbers where there are none."""
    from pqpp_files.read_table import read_table

    if options.prompts:
        return options.prompts, [str(at) for at in range(len(options.prompts))]
    table = read_table(options.file, plain=options.column, remedy="name it with --column")
    texts = table.texts(options.column)
    ids = table["prompt_id"] if "prompt_id" in table else range(len(texts))
    return texts, [str(one) for one in ids]


def _write_study(options: argparse.Namespace, ids: list[str], columns: dict) -> None:
    from pqpp_engines.rewrite import write_study

    if not any(columns["changed"]):
        print("pqpp: no prompt was rewritten, so there is no study", file=sys.stderr)
        return
    pairs = 1 if options.images_per_prompt is None else options.images_per_prompt
    texts = (columns["prompt"], columns["rewritten"])
    count = write_study(options.study, ids, *texts, options.name, pairs)
    print(f"pqpp: a study of {count} prompts is in {options.study}", file=sys.stderr)


def _writer(options: argparse.Namespace, prompts: list[str], judge) -> tuple[Callable, Callable]:
    """Return what gives the candidates of a prompt, and what tells the cost at the end."""
    if options.candidates:
        found = _candidates(options.candidates)
        return (lambda prompt: found.get(prompt, [])), (lambda: [])
    from pqpp_engines.rewrite import Synonyms, Writer

    if options.synonyms:
        return Synonyms(options.count), (lambda: [])
    from pqpp_models.chat.chat import Chat

    budget = chat_budget(options)
    judge.check_writer(options.chat_model)
    chat: Chat
    if options.chat_url:
        from pqpp_models.chat.endpoint import Endpoint

        chat = Endpoint(options.chat_url, options.chat_model, budget)
    else:
        from pqpp_models.chat.in_process import open_in_process

        chat = open_in_process(options.chat_model, budget)
    writer = Writer(chat, options.count, judge.target)
    writer.plan(prompts)
    return writer, (lambda: [budget.line()])


def _candidates(path: str) -> dict[str, list[str]]:
    from pqpp_files.read_table import read_table

    table = read_table(path, remedy="give the columns prompt and candidate")
    found: dict[str, list[str]] = {}
    for prompt, candidate in zip(table.texts("prompt"), table.texts("candidate"), strict=True):
        found.setdefault(prompt, []).append(candidate)
    return found


def _said(kept: list[dict], best: list) -> str:
    """Say how many were accepted, and the usual reasons against the others."""
    from collections import Counter

    changed = sum(one is not None for one in best)
    said = f"{changed} of {len(best)} prompts are rewritten; {len(kept)} candidates"
    reasons = Counter(one["reason"].partition(":")[0] for one in kept if one["reason"])
    told = ", ".join(f"{n} {reason}" for reason, n in _first(reasons))
    return f"{said}, refused: {told}" if told else said


def _first(reasons) -> Iterator[tuple[str, int]]:
    yield from sorted(reasons.items(), key=lambda one: (-one[1], one[0]))[:4]


def _table(columns: dict) -> str:
    from tabulate import tabulate

    from pqpp_files.visible import visible

    rows = [
        (visible(" ".join(text.split())), visible(one) if changed else "(kept)", f"{bound:+.2f}")
        for text, one, changed, bound in zip(*columns.values(), strict=True)
    ]
    return tabulate(rows, ["prompt", "rewritten", "gain, at least"], disable_numparse=True)
