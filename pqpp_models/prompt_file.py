"""Prompts or captions, with their ids, from a table or a text file."""

from collections.abc import Sequence


def read_prompts_and_ids(
    path: str, column: str = "prompt", id_columns: Sequence[str] = ("prompt_id",)
) -> tuple[list[str], list[str]]:
    r"""Return the prompts of a file, and the ids that the first of some columns gives them.

    Returns:
        Prompts and ids; without such a column the numbers of the rows are the ids.

    Raises:
        FileError: The file cannot be read, or has no such column of texts.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "prompts.txt"
        >>> _ = path.write_text("a red cat\ntwo dogs\n")
        >>> read_prompts_and_ids(str(path))
        (['a red cat', 'two dogs'], ['0', '1'])
    """
    from pqpp_files.open_input import Input
    from pqpp_files.read_table import read_table
    from pqpp_models.tool_prompts import read_tool_prompts

    source = Input(path)
    if (found := read_tool_prompts(source)) is not None:
        return found["prompt"], [str(number) for number in range(len(found["prompt"]))]
    table = read_table(source, plain=column, remedy="name it with `column`")
    prompts = table.texts(column)
    named = next((name for name in id_columns if name in table), None)
    return prompts, [str(id_) for id_ in (table[named] if named else range(len(prompts)))]


def read_texts(path: str, column: str = "prompt") -> list[str]:
    """Return the texts of a file, in order; `-` is standard input, `-.csv` it as CSV.

    Raises:
        FileError: The file cannot be read, or has no such column of texts.
    """
    return read_prompts_and_ids(path, column)[0]
