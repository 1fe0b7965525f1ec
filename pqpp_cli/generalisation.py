"""`pqpp bench --table generalisation`: predictors on prompts of another kind."""

import argparse
import sys

NOTE = (
    "drawbench: every DrawBench prompt of this copy, all splits; gimbrr: the share of four models\n"
    "whose image matched, without the tasks called Controlled. Only a predictor that was fitted\n"
    "without a set is tested by it; its card says what it was fitted to."
)


def run(options: argparse.Namespace, predictors: dict[str, object]) -> None:
    """Print the table of generalisation."""
    from pqpp_cli.errors import CommandError
    from pqpp_cli.output import emit
    from pqpp_models.generalisation import evaluate_generalisation, format_generalisation
    from pqpp_models.targets import resolve_targets

    targets = resolve_targets(options.targets or "mean_hbpp")
    if len(targets) != 1:
        raise CommandError(f"--targets: {len(targets)} came, this table asks for one of them")
    sets = _own_sets(options, targets[0]) + [_file_set(text) for text in options.dataset]
    results = evaluate_generalisation(predictors, sets, targets[0])
    text = format_generalisation(options.format, results)
    plain = options.format in ("table", "markdown")
    emit(f"{text}\n\n{NOTE}" if plain else text, options.output)


def _own_sets(options: argparse.Namespace, target: str) -> list:
    """Return the sets of this project that can be read here; say which can't."""
    import datasets

    import pqpp_datasets  # noqa: F401 (registers, also where the start-up files are switched off)
    from pqpp_datasets.errors import BenchmarkError
    from pqpp_models.generalisation import gimbrr_match_rates

    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    found = []
    for name, load in (
        ("pqpp", lambda: _pqpp_sets(datasets.load_dataset("pqpp"), options.split, target)),
        (
            "gimbrr-annotations",
            lambda: [gimbrr_match_rates(datasets.load_dataset("pqpp", "gimbrr-annotations"))],
        ),
    ):
        try:
            found += load()
        except BenchmarkError as error:
            print(f"pqpp: note: without {name}: {error}", file=sys.stderr)
    return found


def _pqpp_sets(splits, split: str, target: str) -> list:
    from pqpp_models.generalisation import ScoredPrompts

    def scored(name: str, rows) -> ScoredPrompts:
        known = [row for row in rows if row[target] is not None]
        prompts = [row["prompt"] for row in known]
        return ScoredPrompts(name, prompts, [row[target] for row in known])

    captions = [row for row in splits[split] if row["source"] == "mscoco"]
    drawn = [row for rows in splits.values() for row in rows if row["source"] == "drawbench"]
    sets = [scored(f"mscoco ({split})", captions), scored("drawbench", drawn)]
    return [one for one in sets if len(one.prompts) > 1]


def _file_set(text: str):
    """Read FILE:COLUMN, a file with the prompts in `prompt` and a score."""
    from pathlib import Path

    from pqpp_cli.errors import CommandError
    from pqpp_cli.metric_files import read_column
    from pqpp_models.generalisation import ScoredPrompts

    path, colon, column = text.rpartition(":")
    if not colon or not path:
        raise CommandError(f"--dataset {text}: FILE:COLUMN is needed, the column of the scores")
    prompts = read_column("prompt", f"{path}:prompt")
    scores = read_column(column, f"{path}:{column}")
    if not all(isinstance(score, int | float) for score in scores):
        raise CommandError(f"{path}: column {column!r} does not hold numbers; name another one")
    return ScoredPrompts(Path(path).stem, prompts, scores)
