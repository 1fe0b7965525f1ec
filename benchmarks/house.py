"""Facts about the plan of the code: sizes, circles, imports that go up, names and copies.

    python benchmarks/house.py [--before REVISION]

Code lines are lines on which a token starts that is no comment and no docstring. A circle is a set
of files that import one another, imports inside functions included. A name stands twice if two
modules define a public class or function of that name; `PROTOCOLS` are the names that a file must
have to be found. A mechanism is known by calls that nothing else makes.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAYERS = (
    "pqpp_cli",
    "pqpp_engines",
    "pqpp_annotation",
    "pqpp_feedback",
    "pqpp_models",
    "pqpp_datasets",
    "pqpp_metrics",
    "pqpp_hub",
    "pqpp_files",
)
"""Each may import those after it."""

SHARED = {"alignment", "bench", "training", "encoder", "explain", "images", "record"}
"""Folders of `pqpp_models` that are no family; all others know nothing of one another."""

TOP = 16
"""The most files at the top of a package; commands and benchmarks, found by name, don't count."""

PROTOCOLS = {
    *("add_parser", "run", "main", "register", "patch", "features", "files", "read"),
    *("add_options", "open_assessors", "check", "finish", "conditions"),
}

MECHANISMS = {
    "write a file beside and rename": (r"\bmkstemp\(|os\.replace\(|beside\.replace\(", ()),
    "write a folder whole or not at all": (r"(?:place|old|folder)\.rename\(", ()),
    "read a table": (
        r"\bcsv\.(?:DictReader|reader|read_csv|open_csv)\(|(?:pd|pandas)\.read_csv\(",
        (
            "pqpp_metrics/trec_lines.py",  # white space separates, by TREC's own rules
            "pqpp_models/text/training/texts.py",  # PartiPrompts: quotes are text there
        ),
    ),
    "render a card": (r"jinja2\.Environment\(", ()),
    "render a page": (r"(?<![\w.])Environment\(", ()),
    "hash a file": (r"sha1\(", ()),
}
"""What a mechanism's code calls, which stands in one file, and files with a reason to do alike."""


def main() -> None:
    """Print the facts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", default="ebe53946fc", help="the revision to compare with")
    options = parser.parse_args()
    print("files at the top of each package:", dict(top_files()))
    print("circles:", circles() or 0)
    print("imports that go up:", upward_imports() or 0)
    print("families that import one another:", family_imports() or 0)
    print("names that stand twice:", twice() or 0)
    for mechanism, files in copies().items():
        print(f"{mechanism}: {len(files)} {files}")
    before, after = sizes(_sources_at(options.before)), sizes(_sources())
    print(f"{'package':16}{'code before':>12}{'after':>8}{'lines before':>14}{'after':>8}")
    for package in sorted({*before, *after}):
        (code, lines), (code_now, lines_now) = before[package], after[package]
        print(f"{package:16}{code:>12}{code_now:>8}{lines:>14}{lines_now:>8}")
    print("templates and tests, apart:", dict(sizes_apart()))


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
    apart = {"pqpp_cli": set(_commands()), "pqpp_datasets": set(_benchmark_modules())}
    found = Counter()
    for name in _paths():
        folder, _, file = name.rpartition("/")
        if folder in LAYERS and file.removesuffix(".py") not in apart.get(folder, ()):
            found[folder] += 1
    return found


def _commands() -> list[str]:
    names = (Path(name) for name in _paths() if name.startswith("pqpp_cli/"))
    return [path.stem for path in names if "def add_parser(" in (ROOT / path).read_text("utf-8")]


def _benchmark_modules() -> list[str]:
    names = (Path(name) for name in _paths() if re.fullmatch(r"pqpp_datasets/\w+\.py", name))
    return [
        path.stem for path in names if re.search(r"^BENCHMARKS\b", (ROOT / path).read_text(), re.M)
    ]


def imports() -> dict[str, set[str]]:
    """Return which modules each module imports, at its top and inside functions."""
    modules = {_module(name): name for name in _paths() if name.split("/")[0] in LAYERS}
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for module, name in modules.items():
        for node in _imports_of(ast.parse((ROOT / name).read_text("utf-8"))):
            graph[module] |= set(_targets(node, modules)) - {module}
    return graph


def _imports_of(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports, but for those that only a type checker sees."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        yield from _imports_of(child)


def _targets(node: ast.Import | ast.ImportFrom, modules: dict[str, str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in modules)
    elif node.module:
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
    """Return the imports against the order of `LAYERS`."""
    rank = {package: place for place, package in enumerate(LAYERS)}
    return sorted(
        f"{module} -> {other}"
        for module, imported in imports().items()
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
    above = ("pqpp_models.bench", "pqpp_models.alignment")
    return module.startswith(above) or not module.startswith("pqpp_models")


def twice() -> dict[str, list[str]]:
    """Return the public classes and functions whose name stands in two modules."""
    homes = defaultdict(list)
    for name in _paths():
        if not name.startswith("pqpp_"):
            continue
        for node in ast.parse((ROOT / name).read_text("utf-8")).body:
            kinds = ast.ClassDef | ast.FunctionDef
            if isinstance(node, kinds) and not node.name.startswith("_"):
                homes[node.name].append(name)
    return {
        name: files
        for name, files in sorted(homes.items())
        if len(files) > 1 and name not in PROTOCOLS
    }


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
