"""Read YAML of bounded size: plain values only, without aliases."""

from pathlib import Path
from typing import Any

from pqpp_files.errors import FileError, PqppError, reraise
from pqpp_files.foreign.json_values import read_bounded

_MAX_BYTES, _MAX_DIGITS = 1_000_000, 40


def read_yaml(
    path: str | Path, see: str = "", error: type[PqppError] = FileError, as_text: bool = False
) -> dict[str, Any]:
    r"""Return the settings in a YAML file, by name.

    Args:
        path: The file, UTF-8, at most a megabyte.
        see: The end of the error for a file that is not a mapping, or an unreadable path without a
            YAML suffix, such as "; see X".
        error: The error class to raise.
        as_text: Whether to keep all values as text.

    Raises:
        PqppError: The file cannot be read, is not YAML, has aliases, or is not a mapping.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "study.yaml"
        >>> _ = path.write_text("name: mine\nseed: 1\n")
        >>> read_yaml(path)
        {'name': 'mine', 'seed': 1}
    """
    hint = "" if Path(path).suffix in (".yaml", ".yml") else see
    text = read_bounded(path, _MAX_BYTES, error, f"check the path{hint}")
    content = parse_yaml(text, str(path), error, as_text)
    if not isinstance(content, dict):
        raise error(f"{path} must have `name: value` lines{see}")
    return content


def parse_yaml(
    text: str | bytes, name: str, error: type[PqppError] = FileError, as_text: bool = False
) -> Any:
    """Return the plain values of a YAML text.

    Args:
        text: Bytes must be UTF-8.
        name: The text's name in the error.
        error: The error class to raise.
        as_text: Whether to keep all values as text.

    Raises:
        PqppError: The text is not YAML, or contains an alias.

    Example:
        >>> parse_yaml("a: [1, no]", "a text"), parse_yaml("a: [1, no]", "a text", as_text=True)
        ({'a': [1, False]}, {'a': ['1', 'no']})
    """
    import yaml

    class PlainLoader(yaml.BaseLoader if as_text else yaml.SafeLoader):  # type: ignore[misc]
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):  # a few lines of aliases expand to gigabytes
                raise yaml.YAMLError("it contains an alias")
            node = super().compose_node(parent, index)
            if node.tag.endswith(":int") and len(node.value) > _MAX_DIGITS:
                raise yaml.YAMLError(f"the number {node.value:.20}... is too long")
            return node

    with reraise(f"{name} is not YAML", "check its syntax", error):
        return yaml.load(text.decode() if isinstance(text, bytes) else text, PlainLoader)
