"""`pqpp bench --table automatic-metrics`: metrics in the place of human judgments."""

import argparse
import sys


def run(options: argparse.Namespace, predictors, rows, targets) -> None:
    """Print how predictors, and people, agree with automatic metrics."""
    from pqpp_cli.bench import tested, write_report
    from pqpp_cli.output import emit
    from pqpp_models.bench.automatic_metrics import NOTE, human_results
    from pqpp_models.bench.protocol import evaluate_predictions, predict_all
    from pqpp_models.bench.tables import format_results

    cells, metrics = read_metrics(options, rows, targets)
    wanted = list(dict.fromkeys(cell.predicted for cell in cells))
    predictions = predict_all(predictors, rows, wanted, progress=sys.stderr.isatty())
    generated = set(rows["source"][:]) == {"generated"}
    record = (options.config, options.split, generated)
    results = evaluate_predictions(predictions, metrics, *record, cells)
    bench = (results, predictions, metrics)
    if options.baseline:
        bench = tested(bench, rows, options.baseline)
    true = {target: rows[target][:] for target in wanted}
    results = [*bench[0], *human_results(cells, metrics, true, *record)]
    text = format_results(options.format, results)
    plain = options.format in ("table", "markdown")
    emit(f"{text}\n\n{NOTE}" if plain else text, options.output)
    if options.report:
        bench = (results, predictions, metrics)
        write_report(options.report, bench, rows, [], predictors, options.projection)


def read_metrics(options: argparse.Namespace, rows, targets):
    """Return the table's columns, and each metric in the order of the benchmark's rows."""
    from pqpp_cli.errors import CommandError
    from pqpp_files.read_table import read_table
    from pqpp_models.bench.automatic_metrics import KEYS, automatic_cells, values_by_prompt

    if options.metrics is None:
        raise CommandError(
            "--table automatic-metrics needs --metrics FILE: prompt_id or prompt, and a column a "
            "metric, like sdxl_hpsv2"
        )
    named = {}
    for text in options.metric:
        column, sign, target = text.partition("=")
        if not sign:
            raise CommandError(f"--metric {text}: COLUMN=TARGET is needed, like hpsv2=sdxl_hbpp")
        named[column.strip()] = target.strip()
    kinds = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
    found = read_table(options.metrics, kinds=kinds)
    table = {name: found[name] if name in KEYS else found.values(name) for name in found.columns}
    numbers = [
        name
        for name, cells in table.items()
        if name not in KEYS and all(one is None or type(one) in (int, float) for one in cells)
    ]
    cells = automatic_cells(numbers, named, targets)
    columns = {name: rows[name][:] for name in KEYS if name in rows.column_names}
    return cells, values_by_prompt(table, columns, [cell.reference for cell in cells])
