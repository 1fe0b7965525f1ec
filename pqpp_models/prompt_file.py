"""Read prompts or captions from a table or a text file."""

from collections.abc import Sequence

from pqpp_models.prompt_rows import PromptSource


def read_prompts_and_ids(
    path: str, column: str = "prompt", id_columns: Sequence[str] = ("prompt_id",)
) -> tuple[list[str], list[str]]:
    r"""Read the prompts of a file and their ids, from the first id column that exists.

    Returns:
        The prompts and the ids, which are row numbers without an id column.

    Raises:
        FileError: The file cannot be read, or has no such text column, or has no prompts.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "prompts.txt"
        >>> _ = path.write_text("a red cat\ntwo dogs\n")
        >>> read_prompts_and_ids(str(path))
        (['a red cat', 'two dogs'], ['0', '1'])
    """
    batches = [*PromptSource.from_file(path, column).read_batches(False)]
    prompts = [text for _, texts in batches for text in texts]
    name = next((name for name in id_columns if name in batches[0][0]), None)
    ids = [id_ for columns, _ in batches for id_ in columns[name]] if name else range(len(prompts))
    return prompts, [str(id_) for id_ in ids]


def read_texts(path: str, column: str = "prompt") -> list[str]:
    """Read the texts of a file; `-` is standard input, and `-.csv` a CSV table from it.

    Raises:
        FileError: The file cannot be read, or has no such text column.
    """
    return read_prompts_and_ids(path, column)[0]
