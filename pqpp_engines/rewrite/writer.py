"""Candidates for a prompt, written by a language model."""

from pathlib import Path

import jsonschema

from pqpp_backbones.chat.chat import Chat, Request, json_of
from pqpp_datasets.target_columns import measure_of
from pqpp_engines.errors import RewriteError

_HERE = Path(__file__).parent
_TRIES = 3
_SCHEMA = {
    "type": "object",
    "properties": {"rewrites": {"type": "array", "items": {"type": "string"}}},
    "required": ["rewrites"],
    "additionalProperties": False,
}
_LONGEST = 1000


class Writer:
    """Asks a language model for rewrites.

    Args:
        chat: The model; its budget is planned before the start and held to.
        count: Rewrites of each prompt.
        target: What shall become better: for one of retrieval it is told to expand a query.
        instruction: What it is told; one of the files beside this one if left out.

    Raises:
        RewriteError: The count is below 1.
    """

    def __init__(
        self, chat: Chat, count: int = 4, target: str = "mean_hbpp", instruction: str | None = None
    ) -> None:
        if count < 1:
            raise RewriteError(f"{count} rewrites: give 1 or more")
        measure = measure_of(target)
        retrieves = measure is not None and measure.task == "retrieval"
        file = _HERE / ("instruction_for_retrieval.txt" if retrieves else "instruction.txt")
        self.chat, self.count = chat, count
        self.instruction = instruction or file.read_text("utf-8").strip()

    def plan(self, prompts: list[str]) -> None:
        """Refuse, before anything is asked, what would cost more than is allowed.

        Raises:
            BudgetError: It would.
        """
        self.chat.budget.plan(len(prompts), self._request(max(prompts, key=len, default=""), 0))

    def __call__(self, prompt: str) -> list[str]:
        """Return the rewrites of a prompt, each once; none where no reply can be read.

        Raises:
            ChatError: There is no reply.
            BudgetError: The limit is reached.
        """
        for seed in range(_TRIES):
            # Out of the block: no reply, or none allowed, is no reply that cannot be read.
            reply = self.chat.ask(self._request(prompt, seed))
            try:
                answer = json_of(reply.text)
                jsonschema.validate(answer, _SCHEMA)
            except (ValueError, jsonschema.ValidationError):
                continue
            texts = (" ".join(text.split())[:_LONGEST] for text in answer["rewrites"])
            return list(dict.fromkeys(text for text in texts if text))[: self.count]
        return []

    def _request(self, prompt: str, seed: int) -> Request:
        text = f"Write {self.count} rewrites of this prompt:\n{prompt}"
        tokens = 60 * self.count + 60
        return Request(text, self.instruction, None, _SCHEMA, seed, 0.7, tokens)
