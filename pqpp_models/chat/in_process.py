"""A model of transformers' `image-text-to-text` that chats in this process."""

from __future__ import annotations

from typing import Any

from pqpp_models.chat.chat import Budget, Chat, Reply, Request


class InProcess(Chat):
    """A model in this process.

    Args:
        model: Of transformers, in evaluation mode on its device.
        processor: Its processor, which has a chat template.
        name: As it is kept with results.
        budget: What may be spent; without a limit by default.
    """

    def __init__(self, model: Any, processor: Any, name: str, budget: Budget | None = None) -> None:
        self.model, self.processor, self.name = model, processor, name
        self.budget = budget or Budget()

    def ask(self, request: Request) -> Reply:
        """Return the reply to one question; the same seed gives the same reply."""
        import torch

        self.budget.admit(request)
        inputs = self.processor.apply_chat_template(
            _messages(request),
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
        model = self.model
        placed = {
            name: value.to(model.device, model.dtype if value.is_floating_point() else None)
            for name, value in inputs.items()
        }
        sampled = {"do_sample": False}
        if request.temperature > 0:
            sampled = {"do_sample": True, "temperature": request.temperature}
        devices = [model.device] if model.device.type == "cuda" else []
        with torch.inference_mode(), torch.random.fork_rng(devices):
            torch.manual_seed(request.seed)
            found = model.generate(**placed, **sampled, max_new_tokens=request.most_tokens)
        asked = placed["input_ids"].shape[1]
        text = self.processor.decode(found[0, asked:], skip_special_tokens=True)
        reply = Reply(text, asked, int(found.shape[1]) - asked)
        self.budget.spend(request, reply)
        return reply


def _messages(request: Request) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = [{"type": "text", "text": request.text}]
    if request.image is not None:
        content.insert(0, {"type": "image", "image": request.image})
    system = [{"role": "system", "content": [{"type": "text", "text": request.system}]}]
    return [*(system if request.system else []), {"role": "user", "content": content}]
