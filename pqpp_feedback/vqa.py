"""A vision-language model that answers whether an image matches its prompt."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from pqpp_backbones.chat.chat import Chat, Request
from pqpp_backbones.pretrained import ModelId
from pqpp_feedback.assess.assessor import Assessor, Verdict
from pqpp_feedback.assess.pictures import Picture, open_pictures

ANSWERS = ("yes", "no")
# The question of VQAScore (Lin et al., ECCV 2024, arXiv 2404.01291).
QUESTION = 'Does this figure show "{}"? Please answer yes or no.'


class VqaAssessor(Assessor):
    """An assessor whose score is the probability of "yes", like VQAScore.

    If the model returns no probabilities, or those of "yes" and "no" are both 0 because the answer
    starts with another token, the answer is a verdict without a score. An answer other than yes or
    no gives no verdict.

    Args:
        chat: The model; None to score only stored evidence.
        question: The question, with `{}` for the prompt.

    Example:
        >>> from pathlib import Path
        >>> evidence = {"said": "Yes", "yes": 0.6, "no": 0.3}
        >>> VqaAssessor().score(evidence, Picture(Path("a.png"), "a cat"))
        Verdict(verdict=True, score=0.6, reason='"Yes"; yes 0.600, no 0.300')
    """

    name, routine = "vqa_score", "vqascore"
    is_one_by_one = True

    def __init__(self, chat: Chat | None = None, question: str = QUESTION) -> None:
        super().__init__({"answers": ModelId(chat.name)} if chat else None)
        self._chat, self._question = chat, question

    @property
    def settings(self) -> Mapping[str, Any]:
        """The question."""
        return {"question": self._question}

    def check_budget(self, pictures: Sequence[Picture]) -> None:
        """Raise an error, before a run, if its questions would exceed the budget."""
        if self._chat:
            self._chat.prepare(itertools.starmap(self._make_request, open_pictures(pictures)))

    def get_notes(self) -> list[str]:
        """Return the number and cost of calls."""
        return [self._chat.budget.describe_spending()] if self._chat else []

    def observe(self, images: Sequence[Any], pictures: Sequence[Picture]) -> list[dict[str, Any]]:
        """Ask the question about each image."""
        assert self._chat is not None
        replies = map(self._chat.ask, map(self._make_request, images, pictures))
        return [{"said": reply.text.strip()[:200], **(reply.probs or {})} for reply in replies]

    def _make_request(self, image: Any, picture: Picture) -> Request:
        text = self._question.replace("{}", picture.prompt)
        return Request(text, image=image, max_tokens=8, answers=ANSWERS)

    def score(self, evidence: Mapping[str, Any], picture: Picture) -> Verdict:
        """Return whether "yes" is more likely than "no", and the probability of "yes"."""
        answer = f'"{evidence["said"]}"'
        yes, no = (float(evidence.get(name, 0.0)) for name in ANSWERS)
        if yes or no:
            return Verdict(yes > no, yes, f"{answer}; yes {yes:.3f}, no {no:.3f}")
        word = evidence["said"].strip(" .!\"'*").casefold()
        verdict = word.startswith("yes") if word.startswith(ANSWERS) else None
        reason = "neither yes nor no"
        if evidence["said"].startswith("<think>"):
            reason = "its reasoning was cut off; use a model or template without reasoning"
        elif verdict is not None:
            reason = "the model gives no probabilities of yes and no"
        return Verdict(verdict, None, f"{answer}; {reason}")
