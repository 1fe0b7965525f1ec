"""Reading a YAML file that a user has written: plain values only, whatever the file holds."""

from pathlib import Path
from typing import Any

from pqpp_files.errors import FileError, PqppError

_MOST_BYTES = 1_000_000


def read_yaml(
    path: str | Path,
    what: str = "settings",
    see: str = "",
    hint: str = "",
    error: type[PqppError] = FileError,
) -> dict[str, Any]:
    r"""Read a file of settings: a mapping of names to plain values, without aliases.

    Args:
        path: The file, UTF-8, at most a megabyte.
        what: What it holds, for the error.
        see: Where an example is, for the error, like "; see X".
        hint: What else a word may be that is the name of no YAML file, like "; see X".
        error: The class of what is raised.

    Raises:
        PqppError: It cannot be read, or is no such file; of the class `error`.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "study.yaml"
        >>> _ = path.write_text("name: mine\nseed: 1\n")
        >>> read_yaml(path)
        {'name': 'mine', 'seed': 1}
    """
    import yaml

    class PlainLoader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):  # a few lines of them unfold to gigabytes
                raise yaml.YAMLError("it holds an alias")
            return super().compose_node(parent, index)

    try:
        with Path(path).open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
    except OSError as caught:
        is_named_so = Path(path).suffix in (".yaml", ".yml")
        said = f"{path} cannot be read ({caught.strerror}); check the path"
        raise error(said if is_named_so else said + hint) from None
    if len(text) > _MOST_BYTES:
        raise error(f"{path} is larger than a megabyte; name {what}")
    try:
        content = yaml.load(text.decode("utf-8"), PlainLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as caught:  # 5,000 digits: a ValueError
        raise error(f"{path} is no YAML ({type(caught).__name__}); check its form") from None
    if not isinstance(content, dict):
        raise error(f"{path} holds no `name: value` lines{see}")
    return content
