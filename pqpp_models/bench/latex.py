"""Tables of results for papers: one a task, by booktabs, the published rows below a rule."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from pqpp_datasets.target_columns import measure_of
from pqpp_files.visible import visible
from pqpp_models.bench.notes import GENERATED_NOTE, notes
from pqpp_models.bench.protocol import PublishedResult, Result
from pqpp_models.bench.rows import Block, Half, blocks_of, heading, published_groups

_SIGNS = {"‡": "ddagger", "†": "dagger", "↑": "uparrow", "↓": "downarrow"}
_ESCAPES = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": "$<$", ">": "$>$", "|": "$|$"},  # other signs in LaTeX's own fonts
    **{"→": r"$\to$", "τ": r"$\tau$", "–": "--", "…": r"\ldots{}"},
    **{sign: rf"$^\{name}$" for sign, name in _SIGNS.items()},
}
# Never wider than the text, and never made wider.
_FIT = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def latex_tables(results: Sequence[Result], published: Sequence[PublishedResult] = ()) -> str:
    """Return a table for each task, in LaTeX; a measure of the task has a block of it.

    The best figures of ours are bold, and so are those of each published source. What the figures
    are stands above as comments, and in short in the captions.

    Args:
        results: Ours, from one split.
        published: The published figures of the same targets.
    """
    tasks: dict[str, list[Block]] = {}
    for block in blocks_of(results, published):
        name = block.measure
        measure = measure_of(name) if name not in ("automatic", "other") else None
        tasks.setdefault(measure.task if measure else name, []).append(block)
    lines = [f"% {' '.join(line.split())}" for line in notes(results, published)]
    lines.append(r"% \usepackage{booktabs,graphicx}")
    for task, blocks in tasks.items():
        at = f"{_slug(results[0].config)}-{_slug(results[0].split)}-{task}"
        lines += [
            r"\begin{table}[tp]",
            r"\centering\footnotesize",
            r"\setlength{\tabcolsep}{3pt}",
            rf"\caption{{{_caption(task, blocks, results, published)}}}",
            rf"\label{{tab:{at}}}",
        ]
        for block in blocks:
            lines += [r"\par\medskip", *_tabular(block, results)]
        lines.append(r"\end{table}")
    return "\n".join(lines)


def _tabular(block: Block, results: Sequence[Result]) -> Iterator[str]:
    first = {result.label: result for result in reversed(results)}
    names = [_escaped(heading(first[label], short=True)) for label in block.labels]
    yield _FIT
    yield rf"\begin{{tabular}}{{l{'rr' * len(names)}}}"
    yield r"\toprule"
    above = "".join(rf" & \multicolumn{{2}}{{c}}{{{name}}}" for name in names)
    yield rf"{_escaped(block.title.partition(' (')[0])}{above} \\"
    yield "".join(rf"\cmidrule(lr){{{at}-{at + 1}}}" for at in range(2, 2 + 2 * len(names), 2))
    yield "predictor" + r" & $r$ & $\tau$" * len(names) + r" \\"
    kind = None
    for row in block.rows:
        if row.kind != kind:
            yield r"\midrule"
        kind = row.kind
        halves = chain.from_iterable(cell or [Half("–", False, None)] * 2 for cell in row.cells)
        yield rf"{_escaped(row.name)} & {' & '.join(map(_figure, halves))} \\"
    yield r"\bottomrule"
    yield r"\end{tabular}}"


def _figure(half: Half) -> str:
    text = half.text.strip().replace("0.", ".", 1)
    digits = text.rstrip("‡†↑↓")
    shown = f"$-${digits[1:]}" if digits.startswith("-") else _escaped(digits)
    return (rf"\textbf{{{shown}}}" if half.best else shown) + _escaped(text[len(digits) :])


def _caption(task: str, blocks: Sequence[Block], results, published) -> str:
    first, sizes = results[0], sorted({r.n for r in results if r.n})
    n = "--".join(dict.fromkeys(str(size) for size in (sizes[:1] + sizes[-1:])))
    about = "" if task in ("automatic", "other") else f"{task} "
    parts = [
        f"Pearson's $r$ and Kendall's $\\tau$ of predicted and true {about}performance: "
        f"{_escaped(first.config)}, {_escaped(first.split)} ($n = {n or 0}$).",
        r"Best in bold; $^\dagger$\,$p < .01$, $^\ddagger$\,$p < .001$.",
    ]
    labels = {label for block in blocks for label in block.labels}
    for key, group in published_groups(published).items():
        if labels & {size.label for size in group}:
            at = group[0]
            parts.append(f"{key} published, on {_escaped(at.config)}, {at.split} ($n = {at.n}$).")
    if first.generated:
        parts.insert(0, f"{_escaped(GENERATED_NOTE)}.")
    return " ".join(parts)


def _slug(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]", "-", text).strip("-")


def _escaped(text: str) -> str:
    shown = "".join(_ESCAPES.get(letter, letter) for letter in visible(" ".join(text.split())))
    # Behind the end of a row these would be the end's own options.
    return f"{{}}{shown}" if shown.startswith(("[", "*")) else shown
