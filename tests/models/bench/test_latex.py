"""LaTeX tables: escaped text, bold best figures, and pages without overflow by pdflatex."""

import os
import re
import shutil
import subprocess

import pytest
from models.bench.test_report import make_results as make_one

from pqpp_files.figures import ResultTable, format_tables
from pqpp_models.bench.protocol import read_published
from pqpp_models.bench.tables import format_latex
from pqpp_models.targets import TARGETS

PAGE = r"""\documentclass{article}
\usepackage{booktabs,graphicx}
\begin{document}
\input{table.tex}
\end{document}
"""


def make_results(names, targets, fitted=()):
    """Make results of predictors, the most accurate first."""
    return [
        result
        for k, name in enumerate(names)
        for result in make_one(60, name, targets, k + 1, k, 5 * (name in fitted))[2]
    ]


def typeset(text, folder):
    """Run pdflatex; return the number of pages and the log. Skip or fail without pdflatex."""
    if not shutil.which("pdflatex"):
        reason = "needs pdflatex: apt-get install texlive-latex-base texlive-latex-recommended"
        (pytest.fail if os.environ.get("PQPP_LATEX") else pytest.skip)(reason)
    (folder / "table.tex").write_text(text, "utf-8")
    (folder / "page.tex").write_text(PAGE)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    assert process.returncode == 0, process.stdout[-2000:]
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
def test_tables_fit_pages(names, targets, published, tables, tmp_path):
    published_results = read_published() if published else ()
    text = format_latex(make_results(names, targets, fitted=names[:1]), published_results)
    pages, log = typeset(text, tmp_path)
    assert pages <= text.count(r"\begin{table}") == tables  # small tables share a page
    assert "Overfull" not in log and "Float too large" not in log


def test_escapes_names_that_look_like_options(tmp_path):
    names = ["first", "[99cm] far", "*starred", "a<b>|c", "a\x00b\x1b[31m\u202e"]
    text = format_latex(make_results(names, ["price"]))
    assert text.replace("\n", "").isprintable()
    typeset(text, tmp_path)
    rows = [{"name": name} for name in names]
    rates = format_tables("latex", [ResultTable("r", "Rates", ["name"], rows)])
    assert " {}[99cm] far" in rates and " {}*starred" in rates
    first_cells = [line.partition(" & ")[0] for line in text.splitlines() if line.count(" & ") == 2]
    assert "{}[99cm] far" in first_cells and "{}*starred" in first_cells
    assert "a$<$b$>$$|$c" in first_cells and r"a\textbackslash{}x00b" in text


def test_best_figure_of_each_group_is_bold():
    results = make_results(["better", "worse"], ["glide_hbpp", "mean_hbpp"])
    lines = format_latex(results, read_published()).splitlines()

    def find_line(name):
        return next(line for line in lines if line.startswith(name))

    assert find_line("better").count(r"\textbf") == 4 and r"\textbf" not in find_line("worse")
    # In the paper's Table 3, fine-tuned CLIP is best on GLIDE: .649 and .474.
    assert r"\textbf{.649} & \textbf{.474} & -- & --" in find_line(r"finetuned\_clip [a]")
    assert r"\textbf{.600} & \textbf{.448}" in find_line(r"finetuned\_clip [b]")
    assert r"\textbf" not in find_line(r"finetuned\_bert [a]") + find_line(r"finetuned\_bert [b]")
    rules = [n for n, line in enumerate(lines) if line == r"\midrule"]
    assert lines[rules[1] + 1].startswith(r"finetuned\_bert [a]") and len(rules) == 2
