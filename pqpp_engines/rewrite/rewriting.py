"""Rewrite prompts: a language model writes candidates, and the judge ranks and accepts them.

`write_study` prepares a study in which people compare images of original and rewritten prompts.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pqpp_backbones.chat.chat import Chat, Request, ServiceError, parse_json_reply
from pqpp_datasets.target_columns import get_measure
from pqpp_engines.errors import EngineError
from pqpp_engines.rewrite.judge import UNCONFIRMED, Judge
from pqpp_files.atomic_write import lock_folder, write_file
from pqpp_files.paths import check_output_folder, expand
from pqpp_files.write_table import format_table

_FOLDER = Path(__file__).parent
_TRIES = 3
_SCHEMA = {
    "type": "object",
    "properties": {"rewrites": {"type": "array", "items": {"type": "string"}}},
    "required": ["rewrites"],
    "additionalProperties": False,
}
_MAX_LENGTH = 1000
PROMPTS, PAIRS = "prompts.csv", "pairs.csv"
ORIGINAL, REWRITTEN = "original", "rewritten"


class Writer:
    """A language model that rewrites prompts.

    Args:
        count: Number of rewrites per prompt.
        target: The target to improve; for a retrieval target, the model expands queries.
    """

    def __init__(self, chat: Chat, count: int = 4, target: str = "mean_hbpp") -> None:
        measure = get_measure(target)
        is_query = measure is not None and measure.task == "retrieval"
        file = _FOLDER / ("instruction_for_retrieval.txt" if is_query else "instruction.txt")
        self.chat, self.count, self.instruction = chat, count, file.read_text("utf-8").strip()

    def check_budget(self, prompts: list[str]) -> None:
        """Raise an error, before the first request, if the calls would exceed the budget.

        Raises:
            ServiceError: The budget is too small.
        """
        self.chat.prepare(self._make_request(prompt, 0) for prompt in prompts)

    def __call__(self, prompt: str) -> list[str]:
        """Return distinct rewrites of a prompt; none if it is refused or no reply is valid.

        Raises:
            ServiceError: There is no reply, or the budget is spent.
        """
        import jsonschema

        for seed in range(_TRIES):
            try:
                reply = self.chat.ask(self._make_request(prompt, seed))
            except ServiceError as error:
                if error.affects_one_request:
                    return []
                raise
            try:
                answer = parse_json_reply(reply.text)
                jsonschema.validate(answer, _SCHEMA)
            except (ValueError, jsonschema.ValidationError):
                continue
            texts = (" ".join(text.split())[:_MAX_LENGTH] for text in answer["rewrites"])
            return list(dict.fromkeys(text for text in texts if text))[: self.count]
        return []

    def _make_request(self, prompt: str, seed: int) -> Request:
        text = f"Write {self.count} rewrites of this prompt:\n{prompt}"
        return Request(text, self.instruction, None, _SCHEMA, seed, 0.7, 60 * self.count + 60)


class RewriteResult(NamedTuple):
    """The results of rewriting prompts.

    Attributes:
        columns: One value per prompt: `prompt`; `rewritten`, the best rewrite if it was accepted,
            else the prompt; `changed`, whether it was accepted; `best`, the highest-ranked rewrite
            that was accepted or lacks only confirmation by an entailment model, else the prompt;
            `probability`, the probability that `best` is better; and `TARGET_gain`, the expected
            gain of `best`, for the target and for a second target.
        verdicts: One dict per candidate: its `RewriteVerdict`, and the `original`.
        error: The error that ended the writing, with its prompt; empty if there was none.
    """

    columns: dict[str, list]
    verdicts: list[dict[str, Any]]
    error: str = ""


def rewrite_prompts(
    prompts: Sequence[str],
    write: Callable[[str], Sequence[str]],
    judge: Judge,
    progress: bool = False,
) -> RewriteResult:
    """Rank the candidates for each prompt, and replace the prompt by its best accepted candidate.

    If the writer fails, the rewrites so far, which may have cost money, are returned.

    Args:
        write: A function that returns the candidates of a prompt, such as a `Writer`.
        judge: The judge, which ranks the candidates and accepts or rejects each.
        progress: Show a progress bar on standard error.
    """
    from tqdm import tqdm

    verdicts: list[dict[str, Any]] = []
    best: list[Any] = []
    error = ""
    for prompt in tqdm(prompts, unit="prompt", disable=not progress):
        try:
            candidates = write(prompt) if prompt.strip() and not error else []
        except ServiceError as failure:
            error = f"stopped at prompt {len(best) + 1} (later prompts are unchanged): {failure}"
            candidates = []
        ranked = judge.rank(prompt, candidates) if candidates else []
        verdicts += [{"original": prompt, **verdict._asdict()} for verdict in ranked]
        best.append(next((v for v in ranked if v.accepted or v.reason == UNCONFIRMED), None))
    changed = [verdict is not None and verdict.accepted for verdict in best]
    texts = [v.prompt if v else text for text, v in zip(prompts, best, strict=True)]
    pairs = zip(prompts, texts, changed, strict=True)
    columns: dict[str, list] = {
        "prompt": list(prompts),
        "rewritten": [rewrite if accepted else text for text, rewrite, accepted in pairs],
        "changed": changed,
        "best": texts,
        "probability": [verdict.probability if verdict else 0.0 for verdict in best],
        f"{judge.target}_gain": [verdict.gain if verdict else 0.0 for verdict in best],
    }
    if judge.other_target:
        columns[f"{judge.other_target}_gain"] = [v.other_gain if v else 0.0 for v in best]
    return RewriteResult(columns, verdicts, error)


def read_rewrites(path: str) -> dict[str, list[str]]:
    """Return the candidates of each prompt from a table with the columns prompt and candidate."""
    from pqpp_files.read_table import read_table

    table = read_table(path, remedy="each row needs prompt and candidate")
    candidates: dict[str, list[str]] = {}
    for prompt, candidate in zip(table.texts("prompt"), table.texts("candidate"), strict=True):
        candidates.setdefault(prompt, []).append(candidate)
    return candidates


def write_study(
    folder: str | os.PathLike[str],
    prompt_ids: Sequence[str],
    originals: Sequence[str],
    rewrites: Sequence[str],
    model: str,
    images_per_prompt: int = 1,
) -> int:
    """Write the prompts for `pqpp generate`, and the pairs that `pqpp annotate` shows.

    People see the original prompt with an image of the original and an image of its rewrite, and
    choose the better image without knowing which is which. Unchanged prompts are left out.

    Args:
        folder: The folder for `prompts.csv` (`prompt_id`, `prompt`) and `pairs.csv` (`prompt_id`,
            `prompt`, `image` below `images`, and `original` or `rewritten` as `model`). Other files
            in it are kept.
        prompt_ids: Distinct ids, one per prompt.
        originals: The prompts.
        rewrites: The rewritten prompts, in the same order.
        model: The name of the model in file names of `pqpp generate`.
        images_per_prompt: Number of image pairs per prompt.

    Returns:
        The number of prompts in the study.

    Raises:
        EngineError: No prompt was rewritten, or the folder has another `prompts.csv`.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> write_study(folder, ["7", "8"], ["a cat", "a dog"], ["one cat", "a dog"], "sdxl")
        1
        >>> print((folder / "pairs.csv").read_text(), end="")
        prompt_id,prompt,image,model
        7-0,a cat,7-original/sdxl_0.png,original
        7-0,a cat,7-rewritten/sdxl_0.png,rewritten
    """
    path = expand(folder)
    check_output_folder(path)
    if (path / PROMPTS).exists() and not (path / PAIRS).exists():
        raise EngineError(f"{path / PROMPTS} is not from an earlier study; choose another folder")
    prompts: list[tuple[Any, ...]] = []
    pairs: list[tuple[Any, ...]] = []
    for key, original, rewrite in zip(prompt_ids, originals, rewrites, strict=True):
        if rewrite == original:
            continue
        sides = {ORIGINAL: original, REWRITTEN: rewrite}
        prompts += [(f"{key}-{side}", text) for side, text in sides.items()]
        for index in range(images_per_prompt):
            pair_id, file = f"{key}-{index}", f"{model}_{index}.png"
            pairs += [(pair_id, original, f"{key}-{side}/{file}", side) for side in sides]
    if not prompts:
        raise EngineError("all rewrites equal their prompts; there is nothing to compare")
    names = ("prompt_id", "prompt", "image", "model")
    path.mkdir(parents=True, exist_ok=True)
    with lock_folder(path):  # another run may write the other file at the same time
        for file, rows in ((PAIRS, pairs), (PROMPTS, prompts)):
            columns = dict(zip(names, zip(*rows, strict=True), strict=False))
            write_file(path / file, format_table("csv", columns))
    return len(prompts) // 2
