"""`pqpp bench --table generalisation`: predictors on prompts of another kind."""

import argparse
import sys

NOTE = (
    "drawbench: every DrawBench prompt of this copy, all splits; gimbrr: the share of four models\n"
    "whose image matched, without the tasks called Controlled. Only a predictor that was fitted\n"
    "without a set is tested by it; its card says what it was fitted to."
)


def check_options(options: argparse.Namespace) -> None:
    """Refuse what this table does not have, before anything is loaded.

    Args:
        options: Those of `pqpp bench`.

    Raises:
        CommandError: An option would go unheeded, or the split or the folder is not there.
    """
    from pathlib import Path

    from pqpp_cli.errors import CommandError
    from pqpp_datasets.benchmarks import BENCHMARKS

    for name in ("report", "baseline", "image_dir"):
        if getattr(options, name):
            raise CommandError(
                f"--{name.replace('_', '-')}: --table generalisation has none; leave it out, or "
                "take another table"
            )
    if options.config not in ("pqpp", "pqpp-v1.0"):  # the second is what stands if left out
        raise CommandError(
            f"--config {options.config}: --table generalisation reads pqpp; leave it out, or name "
            "a set of your own by --dataset FILE:COLUMN"
        )
    splits = BENCHMARKS["pqpp"].splits
    if options.split not in splits:
        raise CommandError(
            f"--split {options.split}: pqpp has {', '.join(splits)}; use one of them"
        )
    if options.data_dir and not Path(options.data_dir).expanduser().is_dir():
        raise CommandError(
            f"--data-dir {options.data_dir}: no such folder; give that of PQPP v1.1, or one that "
            "holds pqpp/v1.1 and gimbrr"
        )


def run(options: argparse.Namespace, predictors: dict[str, object]) -> None:
    """Print the table of generalisation."""
    from pqpp_cli.errors import CommandError
    from pqpp_cli.output import emit
    from pqpp_models.bench.generalisation import evaluate_generalisation, format_generalisation
    from pqpp_models.targets import resolve_targets

    targets = resolve_targets(options.targets or "mean_hbpp")
    if len(targets) != 1:
        raise CommandError(f"--targets: {len(targets)} came, this table asks for one of them")
    for name, predictor in predictors.items():
        if predictor.inputs != "text":
            raise CommandError(
                f"{name} needs {predictor.inputs}, these sets have prompts only; leave it out"
            )
    sets = [_file_set(text) for text in options.dataset]
    sets = _own_sets(options, targets[0]) + sets
    if not sets:
        raise CommandError(
            "no set of prompts could be read, see the notes; name a folder by --data-dir, or a "
            "file by --dataset FILE:COLUMN"
        )
    results = evaluate_generalisation(predictors, sets, targets[0])
    text = format_generalisation(options.format, results)
    plain = options.format in ("table", "markdown")
    emit(f"{text}\n\n{NOTE}" if plain else text, options.output)


def _own_sets(options: argparse.Namespace, target: str) -> list:
    """Return the sets of this project that can be read here; say which can't."""
    import datasets

    import pqpp_datasets  # noqa: F401 (registers, also where the start-up files are switched off)
    from pqpp_datasets.errors import BenchmarkError
    from pqpp_models.bench.generalisation import gimbrr_match_rates

    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    made = {
        "pqpp": lambda rows: _pqpp_sets(rows, options.split, target),
        "gimbrr-annotations": lambda rows: [gimbrr_match_rates(rows)],
    }
    found = []
    for name, folder in _folders(options.data_dir).items():
        try:
            found += made[name](datasets.load_dataset("pqpp", name, data_dir=folder))
        except BenchmarkError as error:
            print(f"pqpp: note: without {name}: {error}", file=sys.stderr)
    return found


def _folders(data_dir: str | None) -> dict[str, str | None]:
    """Return the configurations to read, each with its folder; None lets the library find it."""
    from pathlib import Path

    from pqpp_datasets.benchmarks import BENCHMARKS

    names = ("pqpp", "gimbrr-annotations")
    if data_dir is None:
        return dict.fromkeys(names)
    places = {
        name: Path(data_dir).expanduser() / folder
        for name in names
        for folder in BENCHMARKS[name].folders
    }
    inside = {name: str(place) for name, place in places.items() if place.is_dir()}
    return inside or {"pqpp": data_dir}


def _pqpp_sets(splits, split: str, target: str) -> list:
    from pqpp_cli.errors import CommandError
    from pqpp_models.bench.generalisation import ScoredPrompts

    def scored(name: str, rows) -> ScoredPrompts:
        known = [row for row in rows if row[target] is not None]
        prompts = [row["prompt"] for row in known]
        return ScoredPrompts(name, prompts, [row[target] for row in known])

    if split not in splits:
        raise CommandError(f"--split {split}: this copy of pqpp has {', '.join(splits)}; use one")
    captions = [row for row in splits[split] if row["source"] == "mscoco"]
    drawn = [row for rows in splits.values() for row in rows if row["source"] == "drawbench"]
    sets = [scored(f"mscoco ({split})", captions), scored("drawbench", drawn)]
    return [one for one in sets if len(one.prompts) > 1]


def _file_set(text: str):
    """Read FILE:COLUMN, a file with the prompts in `prompt` and a score."""
    from pathlib import Path

    from pqpp_cli.errors import CommandError
    from pqpp_files.read_table import read_table
    from pqpp_models.bench.generalisation import ScoredPrompts

    path, colon, column = text.rpartition(":")
    if not colon or not path:
        raise CommandError(f"--dataset {text}: FILE:COLUMN is needed, the column of the scores")
    table = read_table(path, ["prompt", column])
    return ScoredPrompts(Path(path).stem, table.texts("prompt"), table.numbers(column))
