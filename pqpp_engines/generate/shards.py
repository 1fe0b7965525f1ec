"""Images made from shard to shard, with a table of what was made and what could not be."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from pqpp_engines.errors import EngineError
from pqpp_engines.generate.generators import Generator
from pqpp_engines.generate.run import (
    IMAGES,
    MadeImage,
    check_job,
    image_name,
    make_images,
    wanted_images,
)
from pqpp_files.shards import ERROR, ShardStore, cell_texts, ids_of


@dataclass
class GenerateShard:
    """A job of `pqpp_files.shards`: from the rows of prompts to images, and a row for each.

    The images are what `generate` makes, in the same files; one that is there is not made again, so
    that a killed job loses one batch and no shard.

    Args:
        open_generator: Loads what makes them, when the first shard comes.
        output: The folder; images lie in `images/{prompt_id}/{model}_{i}.png`.
        images_per_prompt: How many of each.
        batch_size: How many at a time.
        column: The column of prompts; those of ids are `prompt_id`.

    Returns:
        `file_name` below `images`, `prompt_id`, `prompt`, `model`, `index`, `seed`, `flagged`,
        `sha256` and `error`: why there is no image of a prompt that is no text, or that the
        generator refuses while it makes others.

    Example:
        >>> import pyarrow as pa, tempfile
        >>> from PIL import Image
        >>> from pqpp_engines.generate import Generator, Made
        >>> class Grey(Generator):
        ...     name, settings = "grey", {}
        ...     def make(self, wanted):
        ...         return [Made(Image.new("L", (8, 8), 128)) for one in wanted]
        >>> job = GenerateShard(Grey, tempfile.mkdtemp(), images_per_prompt=1)
        >>> found = job(pa.table({"prompt_id": ["a", "b"], "prompt": ["a cat", None]}))
        >>> found["file_name"].to_pylist(), found["error"].to_pylist()[1]
        (['a/grey_0.png', None], 'the prompt is a NoneType, not a text')
    """

    open_generator: Callable[[], Generator]
    output: str
    images_per_prompt: int = 2
    batch_size: int = 1
    column: str = "prompt"

    @cached_property
    def generator(self) -> Generator:
        """What makes the images."""
        return self.open_generator()

    @property
    def settings(self) -> dict[str, Any]:
        """What the rows depend on besides the prompts."""
        return {
            "job": "generate",
            "column": self.column,
            "images_per_prompt": self.images_per_prompt,
            "model": self.generator.name,
            **self.generator.settings,
        }

    def __getstate__(self) -> dict[str, Any]:
        """Leave the model behind: each process loads its own."""
        return {name: value for name, value in vars(self).items() if name != "generator"}

    def __call__(self, table: pa.Table) -> pa.Table:
        """Make the images, and return what is told of them."""
        check_job(self.generator, self.images_per_prompt, self.batch_size)
        texts, faults = cell_texts(table, self.column, "prompt", "name the column of prompts")
        ids, wrong = ids_of(table, "prompt_id")
        faults = [wrong_id or fault for wrong_id, fault in zip(wrong, faults, strict=True)]
        asked = [{"prompt_id": key, "prompt": text} for key, text in zip(ids, texts, strict=True)]
        good = [prompt for prompt, fault in zip(asked, faults, strict=True) if fault is None]
        made: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for image in self._made(good):
            made[image.wanted.prompt_id].append(self._row(image))
        rows: list[dict[str, Any]] = []
        for prompt, fault in zip(asked, faults, strict=True):
            bad = {**prompt, "model": self.generator.name, ERROR: fault}
            rows += [bad] if fault else made[prompt["prompt_id"]]
        names = ("prompt_id", "prompt", "model", "index", "file_name", "seed", "flagged", "sha256")
        kinds = {"index": pa.int64(), "seed": pa.int64(), "flagged": pa.bool_()}
        schema = pa.schema([(name, kinds.get(name, pa.string())) for name in (*names, ERROR)])
        return pa.Table.from_pylist(rows, schema)

    def _made(self, prompts: list[dict[str, str]]) -> list[MadeImage]:
        """Make images in their order; where none at all can be made, it is no fault of a prompt."""
        wanted = wanted_images(self.generator, prompts, self.images_per_prompt)
        store = ShardStore(self.output)
        done = list(make_images(self.generator, wanted, store, self.batch_size, go_on=True))
        if len(prompts) > 1 and all(image.refusal for image in done):
            raise EngineError(f"no image of {len(prompts)} prompts can be made: {done[0].refusal}")
        return sorted(done, key=lambda image: image.wanted.index)

    def _row(self, image: MadeImage) -> dict[str, Any]:
        wanted, name = image.wanted, self.generator.name
        file = image_name(self.generator, wanted).removeprefix(f"{IMAGES}/")
        return {
            "file_name": None if image.refusal else file,
            "prompt_id": wanted.prompt_id,
            "prompt": wanted.prompt,
            "model": name,
            "index": wanted.index,
            **{key: image.told.get(key) for key in ("seed", "flagged", "sha256")},
            ERROR: image.refusal,
        }
