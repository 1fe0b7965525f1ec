"""Types: every public function says them, and type checkers see what is found at import."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_UNCHECKED = 12
"""How many files the type checker still leaves out: lower it with the list in pyproject.toml."""

FILES = sorted(
    path
    for path in [*ROOT.glob("pqpp*.py"), *ROOT.glob("pqpp_*/**/*.py")]
    if "build" not in path.relative_to(ROOT).parts
)


def lacking(tree):
    """Public functions, and methods of public classes, with an argument or a result unsaid."""

    def walk(nodes, inside):
        for node in nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield from walk(node.body, True)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if node.name.startswith("_") and node.name != "__init__":
                    continue
                known = [name.id for name in node.decorator_list if isinstance(name, ast.Name)]
                given = node.args
                own = [*given.posonlyargs, *given.args]
                own = own[1:] if inside and "staticmethod" not in known else own
                own += [*given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
                is_said = node.returns is not None or node.name == "__init__"
                if not is_said or any(one.annotation is None for one in own):
                    yield node.name

    return list(walk(tree.body, False))


def test_what_is_looked_for():
    text = """
def said(a: int, *b: int, c: int = 1) -> int: ...
def unsaid(a) -> int: ...
def no_result(a: int): ...
def _private(a): ...
class Public:
    def __init__(self, a: int): ...
    def method(self, **k): ...
    @staticmethod
    def static(a): ...
class _Private:
    def method(self, a): ...
"""
    assert lacking(ast.parse(text)) == ["unsaid", "no_result", "method", "static"]


def test_public_functions_say_their_types():
    unsaid = {path: lacking(ast.parse(path.read_text("utf-8"))) for path in FILES}
    assert {path: names for path, names in unsaid.items() if names} == {}


def test_type_checkers_see_every_file_of_the_functions():
    """The package finds its files when it is imported, which a type checker does not do."""
    folder = ROOT / "pqpp_metrics" / "functional"
    named = re.findall(
        r"^    from pqpp_metrics\.functional\.(\w+) import \*",
        (folder / "__init__.py").read_text("utf-8"),
        re.MULTILINE,
    )
    assert named == sorted(path.stem for path in folder.glob("[!_]*.py"))


def test_packages_tell_that_they_have_types():
    for package in ROOT.glob("pqpp_*/"):
        assert (package / "py.typed").read_bytes() == b""


def test_the_files_that_are_not_checked_get_fewer():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    left_out = [one["module"] for one in settings["overrides"] if one.get("ignore_errors")]
    names = [name for names in left_out for name in names]
    assert len(names) <= MOST_UNCHECKED and names == sorted(set(names))
    for name in names:
        place = ROOT / name.replace(".", "/")
        assert place.with_suffix(".py").is_file() or (place / "__init__.py").is_file(), name


def test_every_package_is_given_to_the_type_checker():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    own = [path.name for path in ROOT.glob("pqpp*.py")] + [
        path.name for path in ROOT.glob("pqpp_*/")
    ]
    assert set(settings["files"]) == set(own)
