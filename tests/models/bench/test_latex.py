"""LaTeX tables: escaped, bold where best, each on a page by pdflatex, nothing sticking out."""

import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from pqpp_files.figures import ResultTable, format_tables
from pqpp_models.bench.protocol import Predictions, evaluate_predictions, read_published
from pqpp_models.bench.split import Split
from pqpp_models.bench.tables import format_latex
from pqpp_models.targets import TARGETS

PAGE = r"""\documentclass{article}
\usepackage{booktabs,graphicx}
\begin{document}
\input{table.tex}
\end{document}
"""


def made(names, targets, n=60, fitted=(), split=None):
    """Results of predictors that know more of the truth the earlier they come."""
    generator = np.random.default_rng(0)
    true = {target: list(generator.normal(size=n)) for target in targets}
    said = [
        Predictions(
            name,
            tuple(targets),
            np.column_stack([true[t] + (k + 1) * generator.normal(size=n) for t in targets]),
            fitted=np.arange(n) < 5 * (name in fitted),
        )
        for k, name in enumerate(names)
    ]
    return evaluate_predictions(said, true, split or Split(None, "pqpp-v1.0", "validation"))


def typeset(text, folder):
    """The pages that pdflatex makes of tables, and its log; skips or fails without pdflatex."""
    if not shutil.which("pdflatex"):
        reason = "needs pdflatex: apt-get install texlive-latex-base texlive-latex-recommended"
        (pytest.fail if os.environ.get("PQPP_LATEX") else pytest.skip)(reason)
    (folder / "table.tex").write_text(text, "utf-8")
    (folder / "page.tex").write_text(PAGE)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    log = (folder / "page.log").read_text("latin-1")
    return int(re.search(r"\((\d+) pages?", log)[1]), log


LONG = "a/folder_of/my_own-predictor%v2"
HOSTILE = r"50%_off & #1 {x} ~^ \input{secret} $y$"


@pytest.mark.parametrize(
    ("names", "targets", "published", "tables"),
    [
        (["static-train", *(f"p_{n}" for n in range(8))], TARGETS, True, 2),
        ([LONG, HOSTILE, "n_words"], [f"a-model-of-{n}_rating" for n in range(9)], False, 1),
        (["mine", "n_words"], ["price", "alignment", "flux_p5"], False, 3),
    ],
)
def test_a_table_a_task_fits_a_page(names, targets, published, tables, tmp_path):
    beside = read_published() if published else ()
    text = format_latex(made(names, targets, fitted=names[:1]), beside)
    pages, log = typeset(text, tmp_path)
    assert pages <= text.count(r"\begin{table}") == tables  # small ones share a page
    assert "Overfull" not in log and "Float too large" not in log


def test_names_that_begin_like_options_are_only_names(tmp_path):
    names = ["first", "[99cm] far", "*starred", "a<b>|c", "a\x00b\x1b[31m\u202e"]
    text = format_latex(made(names, ["price"]))
    assert text.replace("\n", "").isprintable()
    typeset(text, tmp_path)
    rows = [{"name": name} for name in names]
    text_of_rates = format_tables("latex", [ResultTable("r", "Rates", ["name"], rows)])
    assert " {}[99cm] far" in text_of_rates and " {}*starred" in text_of_rates
    shown = [line.partition(" & ")[0] for line in text.splitlines() if line.count(" & ") == 2]
    assert "{}[99cm] far" in shown and "{}*starred" in shown
    assert "a$<$b$>$$|$c" in shown and r"a\textbackslash{}x00b" in text


def test_the_best_of_ours_and_of_each_source_is_bold():
    results = made(["better", "worse"], ["glide_hbpp", "mean_hbpp"])
    lines = format_latex(results, read_published()).splitlines()

    def row(name):
        return next(line for line in lines if line.startswith(name))

    assert row("better").count(r"\textbf") == 4 and r"\textbf" not in row("worse")
    # Of the paper's Table 3 fine-tuned CLIP is best on GLIDE: .649 and .474.
    assert r"\textbf{.649} & \textbf{.474} & -- & --" in row(r"finetuned\_clip [a]")
    assert r"\textbf{.600} & \textbf{.448}" in row(r"finetuned\_clip [b]")
    assert r"\textbf" not in row(r"finetuned\_bert [a]") + row(r"finetuned\_bert [b]")
    rules = [n for n, line in enumerate(lines) if line == r"\midrule"]
    assert lines[rules[1] + 1].startswith(r"finetuned\_bert [a]") and len(rules) == 2
