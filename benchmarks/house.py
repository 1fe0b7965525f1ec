"""Facts about the plan of the code: sizes, circles, imports that go up, names and copies.

    python benchmarks/house.py [--before REVISION]
    python benchmarks/house.py --map

Code lines are lines on which a token starts that is no comment and no docstring. A circle is a set
of files that import one another: inside functions, for type checkers alone and by importlib too. A
name stands twice if two modules define a public class, function or constant of that name;
`PROTOCOLS` are the names that a file must have to be found. A mechanism is known by calls that
nothing else makes.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAYERS = (
    "pqpp_cli",
    "pqpp_engines",
    "pqpp_annotation",
    "pqpp_feedback",
    "pqpp_models",
    "pqpp_backbones",
    "pqpp_datasets",
    "pqpp_metrics",
    "pqpp_hub",
    "pqpp_files",
)
"""Each may import those after it."""

SHARED = {"bench", "training", "explain", "images", "record", "verdict"}
"""Folders of `pqpp_models` that are no family; all others know nothing of one another."""

TOP = 16
"""The most files at the top of a package; commands, benchmarks and predictors, found by name, don't
count."""

PROTOCOLS = {
    *("run", "main", "register", "patch", "announce", "features", "files", "read"),
    *("BENCHMARKS", "CITATION", "KIND", "logger"),
    *("check", "finish", "conditions"),
    *("upgrade", "revision", "down_revision"),
}

MECHANISMS = {
    "write a file beside and rename": (
        r"\bmkstemp\(|os\.replace\(|beside\.replace\(",
        (
            "pqpp_annotation/study/copies.py",
        ),  # by the ten thousand, not flushed: made again if lost
    ),
    "write a folder whole or not at all": (r"(?:place|old|folder)\.rename\(", ()),
    "read a table": (
        r"\bcsv\.(?:DictReader|reader|read_csv|open_csv)\(|(?:pd|pandas)\.read_csv\(",
        (
            "pqpp_metrics/trec_lines.py",  # white space separates, by TREC's own rules
            "pqpp_models/text/training/data.py",  # PartiPrompts: quotes are text there
        ),
    ),
    "render a card": (r"jinja2\.Environment\(", ()),
    "render a page": (r"(?<![\w.])Environment\(", ()),
    "hash a file": (r"sha1\(", ()),
}
"""What a mechanism's code calls, which stands in one file, and files with a reason to do alike."""


WAYS = {
    "A prompt": (
        ("pqpp_cli/predict.py", "words, a file or a dataset is named"),
        ("pqpp_models/prompt_rows.py", "its rows, some thousand at a time"),
        ("pqpp_models/predict.py", "the targets that the predictor has"),
        ("pqpp_models/predictor.py", "scores, deviations, `far`"),
        ("pqpp_files/write_table.py", "the same table with new columns: .csv, .jsonl, .parquet"),
    ),
    "A judgment": (
        ("pqpp_annotation/web/app.py", "a click in the browser, kept in the study's database"),
        ("pqpp_annotation/export.py", "judgments.csv, relevance.csv: the columns of `pqpp build`"),
        ("pqpp_datasets/own_benchmark/build.py", "admitted, aggregated, split"),
        ("pqpp_datasets/own_benchmark/write.py", "a folder of Parquet files with a card"),
        ("pqpp_models/bench/run.py", "predictors compared on it"),
        ("pqpp_models/hub.py", "a predictor fitted to it, on the Hub"),
    ),
    "An image": (
        ("pqpp_engines/generate/run.py", "images/PROMPT_ID/MODEL_I.png and metadata.jsonl"),
        ("pqpp_feedback/assess/pictures.py", "images with their prompts"),
        ("pqpp_feedback/assess/run.py", "a row an image: verdict, score, reason, evidence"),
        ("pqpp_feedback/assess/verdicts.py", "verdicts.parquet, scored again without models"),
    ),
    "A result": (
        ("pqpp_models/bench/protocol.py", "predictions beside true values"),
        ("pqpp_metrics/functional/qpp_report.py", "Pearson, Kendall, intervals"),
        ("pqpp_models/bench/tables.py", "a table for the terminal, Markdown, LaTeX, CSV, JSON"),
        ("pqpp_models/bench/report/page.py", "an HTML report"),
    ),
}
"""The ways through the house: the files that a thing passes, and what each hands on."""


def main() -> None:
    """Print the facts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", default="ebe53946fc", help="the revision to compare with")
    parser.add_argument("--map", action="store_true", help="print the map of the house instead")
    options = parser.parse_args()
    if options.map:
        print(house_map())
        return
    print("files at the top of each package:", dict(top_files()))
    print("circles:", circles() or 0)
    print("imports that go up:", upward_imports() or 0)
    print("families that import one another:", family_imports() or 0)
    print("names that stand twice:", twice() or 0)
    print("constants that stand twice:", len(twice(constants=True)))
    for mechanism, files in copies().items():
        print(f"{mechanism}: {len(files)} {files}")
    before, after = sizes(_sources_at(options.before)), sizes(_sources())
    print(f"{'package':16}{'code before':>12}{'after':>8}{'lines before':>14}{'after':>8}")
    for package in sorted({*before, *after}):
        (code, lines), (code_now, lines_now) = before[package], after[package]
        print(f"{package:16}{code:>12}{code_now:>8}{lines:>14}{lines_now:>8}")
    print("templates and tests, apart:", dict(sizes_apart()))


def house_map() -> str:
    """Return a page that shows the packages, who imports whom, and the ways through the house."""
    arrows: Counter = Counter()
    for module, imported in imports().items():
        home = module.split(".")[0]
        packages = (other.split(".")[0] for other in imported)
        arrows.update((home, package) for package in packages if package in LAYERS)
    code = sizes(_sources())
    lines = [
        "# The house on one page",
        "",
        "For those who look for a room. It is drawn from the code when the site is built.",
        "",
        "A package imports those below it only; the numbers say how often.",
        "",
        "| package | what it holds | code lines | imports |",
        "|---|---|---|---|",
    ]
    for package in LAYERS:
        text = (ROOT / package / "__init__.py").read_text("utf-8")
        holds = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0].rstrip(".")
        below = [f"`{other}` {n}" for (home, other), n in sorted(arrows.items()) if home == package]
        below = [text for text in below if f"`{package}`" not in text]
        lines.append(
            f"| `{package}` | {holds} | {code[package][0]:,} | {', '.join(below) or '–'} |"
        )
    for way, stations in WAYS.items():
        lines += ["", f"## {way}", "", "| file | what it hands on |", "|---|---|"]
        lines += [f"| `{file}` | {what} |" for file, what in stations]
    return "\n".join(lines) + "\n"


def _git(*words: str) -> str:
    return subprocess.run(("git", "-C", ROOT, *words), capture_output=True, text=True).stdout


def _paths() -> list[str]:
    named = _git("ls-files", "--cached", "--others", "--exclude-standard", "*.py").split()
    return [name for name in named if not name.startswith("tests/") and (ROOT / name).is_file()]


def _sources() -> Iterator[tuple[str, str]]:
    return ((name, (ROOT / name).read_text("utf-8")) for name in _paths())


def _sources_at(revision: str) -> Iterator[tuple[str, str]]:
    names = _git("ls-tree", "-r", "--name-only", revision).split()
    for name in names:
        if name.endswith(".py") and not name.startswith("tests/"):
            yield name, _git("show", f"{revision}:{name}")


def sizes(sources: Iterable[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """Return code lines and all lines by package, and their sums under `all`."""
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for name, text in sources:
        code, lines = code_lines(text), text.count("\n")
        for key in (name.split("/")[0], "all"):
            found[key] = (found[key][0] + code, found[key][1] + lines)
    return found


def code_lines(text: str) -> int:
    """Count the lines on which code stands."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    skipped.add(tokenize.ENDMARKER)
    kept = {
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in skipped
    }
    return len(kept - _docstring_lines(ast.parse(text)))


def _docstring_lines(tree: ast.AST) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) or not body:
            continue
        first = body[0]
        if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
            lines.update(range(first.lineno, first.end_lineno + 1))
    return lines


def sizes_apart() -> Counter:
    """Return the lines of what is not counted as saved: templates and tests."""
    names = _git("ls-files", "hub_cards", "tests").split()
    kinds = Counter()
    for name in names:
        if name.endswith((".py", ".md")) and (ROOT / name).is_file():
            kinds[name.split("/")[0]] += (ROOT / name).read_text("utf-8").count("\n")
    return kinds


def top_files() -> Counter:
    """Count the Python files at the top of each package, without those found by name."""
    apart = {
        "pqpp_cli": _modules_with('"""`pqpp ', "pqpp_cli"),
        "pqpp_datasets": _modules_with(r"BENCHMARKS\b", "pqpp_datasets"),
        "pqpp_models": _modules_with("PREDICTORS =", "pqpp_models"),
    }
    found = Counter()
    for name in _paths():
        folder, _, file = name.rpartition("/")
        if folder in LAYERS and file.removesuffix(".py") not in apart.get(folder, ()):
            found[folder] += 1
    return found


def _modules_with(start: str, package: str) -> set[str]:
    """Name the files at the top of a package that hold a line with such a start."""
    paths = (ROOT / package).glob("*.py")
    return {path.stem for path in paths if re.search(f"^{start}", path.read_text("utf-8"), re.M)}


def imports(by_table: bool = False) -> dict[str, set[str]]:
    """Return which modules each module imports.

    At its top, inside functions, for type checkers alone, and by importlib.

    Args:
        by_table: Whether a text ``package.module:name`` counts too: what a table of kinds or a hook
            at the interpreter's start names is imported when it is asked for.
    """
    graph, by_tables = _both_imports()
    return {module: graph[module] | by_tables[module] for module in graph} if by_table else graph


@cache
def _both_imports() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return what modules import by statements and calls, and what their tables name."""
    modules = {_module(name): name for name in _paths() if name.split("/")[0] in LAYERS}
    graph: dict[str, set[str]] = {module: set() for module in modules}
    by_tables: dict[str, set[str]] = {module: set() for module in modules}
    for module, name in modules.items():
        for node in ast.walk(ast.parse((ROOT / name).read_text("utf-8"))):
            if isinstance(node, ast.Constant):
                by_tables[module].update(_by_table(node, modules))
            elif isinstance(node, ast.Call):
                graph[module].update(_by_importlib(node, modules))
            elif isinstance(node, ast.Import | ast.ImportFrom):
                graph[module].update(_targets(node, modules))
        graph[module].discard(module)
        by_tables[module].discard(module)
    return graph, by_tables


def _by_importlib(node: ast.Call, modules: Iterable[str]) -> Iterator[str]:
    """Yield what a call like ``import_module(f"pqpp_cli.{name}")`` may import."""
    if "import_module" not in (getattr(node.func, "attr", ""), getattr(node.func, "id", "")):
        return
    named = node.args[0]
    parts = named.values if isinstance(named, ast.JoinedStr) else [named]
    if isinstance(parts[0], ast.Constant):
        pattern, groups = "", {}
        for part in parts:
            if isinstance(part, ast.Constant):
                pattern += re.escape(part.value)
                continue
            name = ast.unparse(part)  # the same name stands for the same text
            pattern += f"(?P={groups[name]})" if name in groups else rf"(?P<g{len(groups)}>\w+)"
            groups.setdefault(name, f"g{len(groups)}")
        yield from (module for module in modules if re.fullmatch(pattern, module))


def _by_table(node: ast.Constant, modules: Iterable[str]) -> Iterator[str]:
    if isinstance(node.value, str):
        named = node.value.partition(":")[0]
        if "." in named and named in modules:
            yield named


def _targets(node: ast.AST, modules: Iterable[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules)
    elif isinstance(node, ast.ImportFrom) and node.module:
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name if name in modules else node.module for name in inner)


def _module(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def circles() -> list[list[str]]:
    """Return the sets of files that import one another."""
    import networkx

    graph = networkx.DiGraph()
    for module, imported in imports().items():
        graph.add_edges_from((module, other) for other in imported)
    parts = networkx.strongly_connected_components(graph)
    return sorted(sorted(part) for part in parts if len(part) > 1)


def upward_imports() -> list[str]:
    """Return the imports against the order of `LAYERS`, those by tables of kinds included."""
    rank = {package: place for place, package in enumerate(LAYERS)}
    return sorted(
        f"{module} -> {other}"
        for module, imported in imports(by_table=True).items()
        for other in imported
        if other.split(".")[0] in rank and rank[other.split(".")[0]] < rank[module.split(".")[0]]
    )


def family_imports() -> list[str]:
    """Return the imports between families of predictors, and those of `bench` from below it."""
    found = []
    for module, imported in imports().items():
        own = _family(module)
        for other in imported:
            theirs = _family(other)
            if own and theirs and own != theirs:
                found.append(f"{module} -> {other}")
            if theirs == "" and other.startswith("pqpp_models.bench") and not _above(module):
                found.append(f"{module} -> {other}")
    return sorted(found)


def _family(module: str) -> str:
    package, _, inner = module.partition(".")
    folder = inner.partition(".")[0]
    is_folder = (ROOT / package / folder).is_dir()
    return folder if package == "pqpp_models" and is_folder and folder not in SHARED else ""


def _above(module: str) -> bool:
    return module.startswith("pqpp_models.bench") or not module.startswith("pqpp_models")


MOST_CONSTANTS_TWICE = 43
"""How many names of constants may stand twice; only ever fewer."""


def twice(constants: bool = False) -> dict[str, list[str]]:
    """Return the public classes and functions, or constants, whose name stands in two modules."""
    return {
        name: files
        for name, files in sorted(_homes()[constants].items())
        if len(files) > 1 and name not in PROTOCOLS
    }


@cache
def _homes() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the files of each public class or function, and of each constant, by name."""
    homes: tuple = defaultdict(list), defaultdict(list)
    for name in _paths():
        if name.startswith("pqpp_"):
            tree = ast.parse((ROOT / name).read_text("utf-8"))
            for files, found in zip(homes, (_definitions(tree), _constants(tree)), strict=True):
                for defined in sorted(set(found)):
                    if not defined.startswith("_"):
                        files[defined].append(name)
    return homes


def _definitions(tree: ast.Module) -> Iterator[str]:
    kinds = ast.ClassDef | ast.FunctionDef
    return (node.name for node in tree.body if isinstance(node, kinds))


def _constants(tree: ast.Module) -> Iterator[str]:
    """Yield the names that are assigned at the top of a file."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets if isinstance(node, ast.Assign | ast.AnnAssign) else ():
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            yield from (part.id for part in parts if isinstance(part, ast.Name))


def copies() -> dict[str, list[str]]:
    """Return the files that hold each of `MECHANISMS`."""
    return {
        mechanism: [
            name
            for name, text in _sources()
            if name.startswith("pqpp_") and name not in apart and re.search(pattern, text)
        ]
        for mechanism, (pattern, apart) in MECHANISMS.items()
    }


if __name__ == "__main__":
    main()
