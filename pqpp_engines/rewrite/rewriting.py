"""Rewriting prompts: candidates come, the judge takes one that surely does better, or none."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pqpp_backbones.chat.chat import ChatError
from pqpp_engines.rewrite.judge import Judge


class Rewritten(NamedTuple):
    """What became of prompts.

    Attributes:
        columns: `prompt`, `rewritten`, `changed`, `probability` of being better, and the expected
            gains `TARGET_gain`, of the target and of the one beside; one a prompt.
        verdicts: One a candidate, with its `original`.
        error: What ended the writing; later prompts stay as they were.
        stopped_at: The place of the first of them.
    """

    columns: dict[str, list]
    verdicts: list[dict[str, Any]]
    error: ChatError | None = None
    stopped_at: int = 0


def rewrite_all(
    prompts: Sequence[str],
    write: Callable[[str], Sequence[str]],
    judge: Judge,
    progress: bool = False,
) -> Rewritten:
    """Rewrite prompts where that surely helps.

    What was paid for is kept: a writer that fails ends the writing, not the call.

    Args:
        write: Returns the candidates of a prompt, like `Writer` or `Synonyms`.
        judge: Says of each whether it is accepted, and how probably it is better.
        progress: Show a progress bar on standard error.
    """
    from tqdm import tqdm

    verdicts: list[dict[str, Any]] = []
    best: list[Any] = []
    error: ChatError | None = None
    stopped_at = 0
    for prompt in tqdm(prompts, unit="prompt", disable=not progress):
        try:
            candidates = write(prompt) if prompt.strip() and error is None else []
        except ChatError as failure:
            error, candidates, stopped_at = failure, [], len(best)
        judged = judge.rank(prompt, candidates) if candidates else []
        verdicts += [{"original": prompt, **verdict._asdict()} for verdict in judged]
        best.append(next((verdict for verdict in judged if verdict.accepted), None))
    columns: dict[str, list] = {
        "prompt": list(prompts),
        "rewritten": [v.prompt if v else text for text, v in zip(prompts, best, strict=True)],
        "changed": [verdict is not None for verdict in best],
        "probability": [verdict.probability if verdict else 0.0 for verdict in best],
        f"{judge.target}_gain": [verdict.gain if verdict else 0.0 for verdict in best],
    }
    if judge.beside:
        columns[f"{judge.beside}_gain"] = [verdict.beside if verdict else 0.0 for verdict in best]
    return Rewritten(columns, verdicts, error, stopped_at)


def read_rewrites(path: str) -> dict[str, list[str]]:
    """Return the candidates of each prompt from a table with the columns prompt and candidate."""
    from pqpp_files.read_table import read_table

    table = read_table(path, remedy="give the columns prompt and candidate")
    candidates: dict[str, list[str]] = {}
    for prompt, candidate in zip(table.texts("prompt"), table.texts("candidate"), strict=True):
        candidates.setdefault(prompt, []).append(candidate)
    return candidates
