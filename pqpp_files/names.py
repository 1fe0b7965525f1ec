"""Names that users type: check them, split lists, and suggest corrections."""

import contextlib
import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

# Letters of any script and most signs are allowed, but no path that leads out of a folder.
_FOLDER = re.compile(r"(?!\.)[^/\\\x00-\x1f:]{1,200}")
_FLAG = re.compile(r"--\w[\w-]*(?==|$)")


def is_folder_name(text: str) -> bool:
    """Return whether a text, such as a prompt's id, is a valid folder name on every system.

    Example:
        >>> is_folder_name("mscoco-1"), is_folder_name("../mine"), is_folder_name("")
        (True, False, False)
    """
    return _FOLDER.fullmatch(text) is not None


def is_url(text: str) -> bool:
    """Return whether a text is the URL of a web page, without a query.

    Example:
        >>> is_url("https://example.org/study"), is_url("example.org"), is_url("http://[::")
        (True, False, False)
    """
    with contextlib.suppress(ValueError):  # from an invalid host, such as [::
        return bool(urlsplit(text) and re.fullmatch(r"https?://[^\s/?#]+(/[\w.~-]+)*/?", text))
    return False


def split_names(text: str) -> list[str]:
    """Return the names in a comma-separated list, without surrounding spaces and empty names.

    Example:
        >>> split_names("mean_hbpp, mean_p10,")
        ['mean_hbpp', 'mean_p10']
    """
    return [part.strip() for part in text.split(",") if part.strip()]


def pluralize(n: int, singular: str, plural: str = "") -> str:
    """Return a number and a noun, such as `2 votes`.

    Args:
        plural: The plural; default: the singular with an s.

    Example:
        >>> pluralize(1, "annotator"), pluralize(0, "vote"), pluralize(2, "query", "queries")
        ('1 annotator', '0 votes', '2 queries')
    """
    return f"{n} {singular if n == 1 else plural or singular + 's'}"


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a suggestion of up to three known names for an unknown one.

    Args:
        otherwise: The suggestion if no known name is similar; default: all known names.

    Example:
        >>> did_you_mean("n_word", ["n_words", "n_synsets", "static"])
        "did you mean 'n_words'?"
        >>> did_you_mean("x", ["sdxl_hbpp", "mean_rr"])
        'choose one of sdxl_hbpp, mean_rr'
    """
    names = list(known)
    if similar := find_close_names(name, names):
        return f"did you mean {' or '.join(map(repr, similar))}?"
    return otherwise or f"choose one of {', '.join(names)}"


def find_close_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names that are similar to a name, or contain it.

    Example:
        >>> known = ["kendall", "pearson"]
        >>> find_close_names("kendal", known), find_close_names("ears", known)
        (['kendall'], ['pearson'])
        >>> find_close_names("num_train_epochs", ["max_train_rows"])
        []
    """
    import difflib

    names = {other.lstrip("-"): other for other in known}  # all flags share their hyphens
    short = name[:80].lstrip("-")  # the search time grows with the square of the length
    hits = difflib.get_close_matches(short, names, cutoff=0.7)
    hits = hits or [n for n in names if short in n and short[2:]]
    return [names[other] for other in hits[:3]]


def is_repository_id(name: str) -> bool:
    """Return whether a name has the form `OWNER/REPOSITORY`.

    Example:
        >>> is_repository_id("someone/pqpp-static"), is_repository_id("static")
        (True, False)
    """
    part = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?"
    return isinstance(name, str) and re.fullmatch(f"{part}/{part}", name) is not None


def hyphenate_flags(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with hyphens instead of underscores in flags.

    Example:
        >>> hyphenate_flags(["--image_dir=my_images", "--", "--a_prompt"])
        ['--image-dir=my_images', '--', '--a_prompt']
    """
    end = words.index("--") if "--" in words else len(words)
    flags = [_FLAG.sub(lambda match: match[0].replace("_", "-"), word) for word in words[:end]]
    return [*flags, *words[end:]]
