"""Count code lines and hold them to the ratchet: `python benchmarks/lines.py [--check]`.

Docstrings, comments and blank lines do not count. `--check` exits with 1 where a package has more
lines than `.ci/lines.json` allows. The totals there only ever go down; a commit may move allowance
from one package to another.
"""

import ast
import io
import json
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def count_code_lines(text: str, tree: ast.Module) -> int:
    """Count the lines of a file that hold code."""
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in layout and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            doc = node.body[0]
            lines.difference_update(range(doc.lineno, (doc.end_lineno or 0) + 1))
    return len(lines)


def main() -> int:
    """Print the table, and check it if asked."""
    limits = json.loads((ROOT / ".ci" / "lines.json").read_text("utf-8"))
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines, files, uses = Counter[str](), Counter[str](), Counter[str]()
    private: list[str] = []
    for path in filter(Path.is_file, (ROOT / name for name in names.split())):
        text = path.read_text("utf-8")
        tree, package = ast.parse(text), path.relative_to(ROOT).parts[0].removesuffix(".py")
        lines[package] += count_code_lines(text, tree)
        files[package] += 1
        if package.startswith("pqpp"):
            nodes = [*ast.walk(tree)]
            functions = [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
            private.extend(name for name in functions if name[0] == "_" and name[1:2] != "_")
            uses.update(getattr(node, "id", getattr(node, "attr", "")) for node in nodes)
    code = [package for package in lines if package.startswith(("pqpp", "training"))]
    lines["code"], files["code"] = (sum(table[name] for name in code) for table in (lines, files))
    over = [name for name in (*code, *limits) if lines[name] > limits.get(name, 0)]
    for name, limit in limits.items():
        print(f"{name:16}{lines[name]:>8} of {limit:>6} lines{files[name]:>6} files")
    print(f"private functions used once: {sum(uses[n] == 1 for n in private) / len(private):.0%}")
    print(*(f"{name} is over its allowance in .ci/lines.json" for name in over), sep="\n")
    return int(bool(over) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
