"""Images that somebody has made already, in whatever folder they lie."""

import glob
import re
from collections.abc import Mapping, Sequence, Set
from fnmatch import fnmatchcase
from pathlib import Path

from pqpp_engines.errors import GenerateError
from pqpp_engines.generate.generators import Generator, Made, Wanted
from pqpp_files.errors import FileError
from pqpp_files.foreign.images import ENDINGS, image_header, open_image
from pqpp_files.hashes import sha256_of
from pqpp_files.paths import expanded, inside_of

MARK = "{prompt_id}"
PATTERNS = (f"{MARK}/*", f"{MARK}_*", f"{MARK}.*")
"""What is looked for, in this order, where no pattern is given."""


class FolderGenerator(Generator):
    """Takes images from a folder: the first of a prompt is its number 0, and so on.

    PNG files are taken as they are, others are written as PNG with the same pixels.

    Args:
        folder: Where the images lie.
        name: What the model that made them is called in files.
        prompt_ids: The ids that are looked for in the files' names.
        pattern: Of their paths below the folder, with `{prompt_id}` in it; `*` stands for anything.
            The first of `PATTERNS` that fits an image, if left out.

    Raises:
        GenerateError: There is no such folder, no image in it is of a prompt, or the pattern has no
            `{prompt_id}`.

    Example:
        >>> FolderGenerator("/no/such/folder", "glide", {"p1"})
        Traceback (most recent call last):
        pqpp_engines.errors.GenerateError: /no/such/folder: there is no such folder; ...
    """

    def __init__(
        self, folder: str | Path, name: str, prompt_ids: Set[str], pattern: str | None = None
    ) -> None:
        self.folder, self.name = expanded(folder), name
        self.settings = {"taken_from": self.folder.name}
        if not self.folder.is_dir():
            raise GenerateError(
                f"{folder}: there is no such folder; name the one that the images are in"
            )
        if pattern is not None and MARK not in pattern:
            raise GenerateError(f"pattern {pattern}: {MARK} is not in it; write it where ids stand")
        self._files = _files_of(self.folder, prompt_ids, (pattern,) if pattern else PATTERNS)
        if not self._files:
            wanted = pattern or " or ".join(PATTERNS)
            raise GenerateError(
                f"{folder} holds no image named {wanted} for one of the {len(prompt_ids)} prompts; "
                "say by a pattern how they are named"
            )

    def make(self, wanted: Sequence[Wanted]) -> list[Made]:
        """See `Generator.make`; nothing is made, and a prompt may have fewer images."""
        return [self._one(each) for each in wanted]

    def _one(self, wanted: Wanted) -> Made:
        files = self._files.get(wanted.prompt_id, ())
        if wanted.index >= len(files):
            return Made(None, None, {"refused": f"no image {wanted.index} of {wanted.prompt_id}"})
        path = files[wanted.index]
        facts = {
            "seed": None,  # of whoever made it
            "source": path.relative_to(self.folder).as_posix(),
            "source_sha256": sha256_of(path),
        }
        try:
            whole, header = open_image(path), image_header(path)
        except FileError:
            raise GenerateError(f"{path} is not a whole image; remove or replace it") from None
        as_it_is = header.format == "PNG" and header.orientation == 1
        return Made(path if as_it_is else whole, None, facts)


def _files_of(folder: Path, ids: Set[str], patterns: Sequence[str]) -> Mapping[str, list[Path]]:
    """Return the images of each prompt in the order of the numbers in their names."""
    files: dict[str, list[tuple[int, Path]]] = {}
    for path in folder.rglob("*"):
        if path.suffix.casefold() not in ENDINGS or path.name.startswith("."):
            continue
        if not path.is_file():  # a pipe would be waited for
            continue
        name = path.relative_to(folder).as_posix()
        fits = ((at, _prompt_of(name, pattern, ids)) for at, pattern in enumerate(patterns))
        place, prompt_id = next((fit for fit in fits if fit[1] is not None), (0, None))
        if prompt_id is not None:
            inside_of(folder, name)  # a link may lead to anything
            files.setdefault(prompt_id, []).append((place, path))
    return {
        pattern: [path for place, path in sorted(some, key=_in_order) if place == min(some)[0]]
        for pattern, some in files.items()
    }


def _prompt_of(name: str, pattern: str, ids: Set[str]) -> str | None:
    """Return the longest id that makes a pattern fit a file's path."""
    head = pattern.partition(MARK)[0]
    starts = range(len(name)) if glob.has_magic(head) else (len(head),)
    for start in starts:
        for end in range(len(name), start, -1):
            prompt_id = name[start:end]
            if prompt_id in ids and fnmatchcase(
                name, pattern.replace(MARK, glob.escape(prompt_id))
            ):
                return prompt_id
    return None


def _in_order(placed: tuple[int, Path]) -> list:
    """Order image 2 before image 10."""
    parts = re.split(r"(\d+)", placed[1].as_posix())
    return [int(part) if at % 2 else part for at, part in enumerate(parts)]
