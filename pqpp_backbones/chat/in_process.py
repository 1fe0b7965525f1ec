"""A model of transformers that chats in this process, of texts or of images and texts."""

from typing import Any

from pqpp_backbones.chat.chat import MOST_TOLD, Budget, Chat, ChatError, Reply, Request, chances_of

_SEEING = "AutoModelForImageTextToText"


class InProcess(Chat):
    """A model in this process.

    Args:
        model: Of transformers, in evaluation mode on its device.
        processor: Its processor, or its tokenizer where it sees no images; it has a chat template.
        name: As it is kept with results.
        budget: What may be spent; without a limit by default.
    """

    def __init__(self, model: Any, processor: Any, name: str, budget: Budget | None = None) -> None:
        self.model, self.processor, self.name = model, processor, name
        self.budget = budget or Budget()

    def ask(self, request: Request) -> Reply:
        """Return the reply to one question; the same seed gives the same reply.

        Raises:
            ChatError: The model has no chat template, or the question has an image, which it cannot
                see.
        """
        import torch

        if getattr(self.processor, "chat_template", None) is None:
            raise ChatError(f"{self.name} has no chat template; name a model that chats")
        sees = hasattr(self.processor, "image_processor")
        if request.image is not None and not sees:
            raise ChatError(f"{self.name} sees no images; name a model of images and text")

        self.budget.admit(request)
        inputs = self.processor.apply_chat_template(
            _messages(request, sees),
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
        wanted: dict[str, Any] = {"do_sample": False, "max_new_tokens": request.most_tokens}
        if request.temperature > 0:
            wanted |= {"do_sample": True, "temperature": request.temperature}
        wanted |= {"return_dict_in_generate": True, "output_logits": bool(request.answers)}
        devices = [model.device] if model.device.type == "cuda" else []
        with torch.inference_mode(), torch.random.fork_rng(devices):
            torch.manual_seed(request.seed)
            generated = model.generate(**placed, **wanted)
        asked, tokens = placed["input_ids"].shape[1], generated.sequences
        text = self.processor.decode(tokens[0, asked:], skip_special_tokens=True)
        chances = None
        if request.answers:
            top = generated.logits[0][0].float().log_softmax(-1).topk(MOST_TOLD)
            words = map(self.processor.decode, top.indices.unsqueeze(-1))
            chances = chances_of(zip(words, top.values.tolist(), strict=True), request.answers)
        reply = Reply(text, asked, int(tokens.shape[1]) - asked, chances)
        self.budget.spend(request, reply)
        return reply


def _messages(request: Request, sees: bool) -> list[dict[str, Any]]:
    """Return what templates take: of models of images and text a list of parts, else plain text."""
    if not sees:
        said = [{"role": "system", "content": request.system}] if request.system else []
        return [*said, {"role": "user", "content": request.text}]
    content: list[dict[str, Any]] = [{"type": "text", "text": request.text}]
    if request.image is not None:
        content.insert(0, {"type": "image", "image": request.image})
    system: list[dict[str, Any]] = [
        {"role": "system", "content": [{"type": "text", "text": request.system}]}
    ]
    return [*(system if request.system else []), {"role": "user", "content": content}]


def open_in_process(
    name: str,
    budget: Budget | None = None,
    device: str | None = None,
    dtype: str = "float32",
    sees: bool = False,
) -> InProcess:
    """Load a model that chats, of texts or of images and texts, by its configuration.

    Args:
        name: A folder, `OWNER/REPOSITORY` or `OWNER/REPOSITORY@REVISION`; safetensors, no code.
        budget: What may be spent; without a limit by default.
        device: Where it runs; the usual one if left out.
        dtype: Of its numbers.
        sees: Whether it must be one of images and texts.

    Raises:
        CheckpointError: It cannot be had, or is of another kind.

    Example:
        >>> open_in_process("no-such-folder")
        Traceback (most recent call last):
        pqpp_backbones.errors.CheckpointError: model that chats: there is no folder ...
    """
    from pqpp_backbones.pretrained import load_model

    what = "model of images and text" if sees else "model that chats"
    loaded = load_model(name, _SEEING if sees else _class_of, what, device, dtype)
    revision = f"{loaded.told.name}@{loaded.told.revision}"
    return InProcess(loaded.model, loaded.processor, revision, budget)


def _class_of(config: Any) -> str:
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

    sees = type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    return _SEEING if sees else "AutoModelForCausalLM"
