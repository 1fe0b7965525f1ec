"""Generate the pages of metrics, benchmarks and predictors from their cards."""

import re

from site_parts.sources import ROOT, remove_front_matter

_ABOUT = re.compile(
    r"{% block about %}\n(.*?){%|^(## How it works\n.*?)(?=^## |{%)", re.DOTALL | re.MULTILINE
)


def make_pages() -> dict[str, str]:
    """Return the generated pages: reStructuredText or Markdown by path below `made`."""
    return {**_make_metrics(), **_make_datasets(), **_make_predictors()}


def _make_metrics() -> dict[str, str]:
    from site_parts.reference import list_metric_modules

    pages = {}
    for module, name in list_metric_modules().items():
        card = remove_front_matter((ROOT / f"pqpp_metrics/{name}/README.md").read_text("utf-8"))
        about = f"## The module\n\n```{{eval-rst}}\n.. automodule:: {module}\n```\n"
        pages[f"metrics/{name}.md"] = f"{card.rstrip()}\n\n{about}"
    return pages


def _make_datasets() -> dict[str, str]:
    from pqpp_datasets.benchmarks import BENCHMARKS
    from pqpp_datasets.export.export import render_export_card

    pages = {}
    for family in sorted({benchmark.family for benchmark in BENCHMARKS.values()}):
        members = [benchmark for benchmark in BENCHMARKS.values() if benchmark.family == family]
        configs = {
            member.name: [
                {"name": split, "pattern": f"{split}-*.parquet", "rows": member.rows.get(split, 0)}
                for split in member.splits
            ]
            for member in members
        }
        releases = {member.name: member.version for member in members}
        card = remove_front_matter(render_export_card(configs, releases, {}))
        pages[f"datasets/{family}.md"] = _remove_zeros(card)
    return pages


def _remove_zeros(card: str) -> str:
    # Of some releases the number of rows is not published.
    return card.replace(" | 0 |\n", " | not known |\n").replace(
        "This folder was written", "A folder is written"
    )


def _make_predictors() -> dict[str, str]:
    from pqpp_models import Predictor
    from pqpp_models.registry import FAMILIES, GROUPS, PREDICTORS, UNSHIPPED

    measures = {name for family in FAMILIES for name in GROUPS[family]}
    pages = {f"predictors/{family}.md": _make_family(family) for family in FAMILIES}
    for name in PREDICTORS:
        if name in UNSHIPPED:
            pages[f"predictors/{name}.md"] = _make_unshipped(name)
        elif name not in measures:
            pages[f"predictors/{name}.md"] = remove_front_matter(
                Predictor.from_pretrained(name).render_card()
            )
    return pages


def _make_family(family: str) -> str:
    from pqpp_models.measures.predictor import find_measure
    from pqpp_models.registry import GROUPS, NOTES

    parts = [f"# Measures: {family}\n", "Each is a predictor by its name and needs no training.\n"]
    for name in GROUPS[family]:
        measure, needs = find_measure(name), NOTES[name][1]
        facts = [f"{measure.about}.", f"A higher value speaks for: {measure.higher_is}."]
        facts += [f"Needs {needs}."] * bool(needs)
        facts += [
            f"Options: {', '.join(f'`{k}={v!r}`' for k, v in measure.options.items())}."
        ] * bool(measure.options)
        parts.append(f"`{name}`\n: {' '.join([*facts, f'Source: {measure.source}.'])}\n")
    return "\n".join(parts)


def _make_unshipped(name: str) -> str:
    """Return the page of a predictor without weights: the fixed text of its card."""
    from pqpp_models.registry import NOTES

    about, needs = NOTES[name]
    parts = [f"# {name}\n", f"{about[0].upper()}{about[1:]}."]
    parts += [f"It needs {needs}."] * bool(needs)
    card = ROOT / f"hub_cards/predictors/{name}.md"
    template = card.read_text("utf-8") if card.is_file() else ""
    notes = _ABOUT.findall(template)
    parts += [f"\n{about or how}" for about, how in notes if "{{" not in about + how]
    return "\n".join(parts) + "\n"
