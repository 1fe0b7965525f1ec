"""A predicted score as guidance while a diffusers pipeline samples (RichHF paper, section 5).

At each step the image that the scheduler expects at the end is decoded and judged, and the sample
is moved along the gradient of the score. The gradient is taken with respect to that expected
image's latents, without going through the denoising network: it costs one decoding and one judgment
a step, and works with every pipeline whose loop calls `scheduler.step`.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional

from pqpp_feedback.rahf.feedback import FeedbackModel
from pqpp_feedback.rahf.outputs import SCORES

Decode = Callable[[torch.Tensor], torch.Tensor]


@contextlib.contextmanager
def guided(
    pipe: Any,
    feedback: FeedbackModel,
    prompt: str,
    score: str = "overall",
    scale: float = 0.05,
    decode: Decode | None = None,
) -> Iterator[Any]:
    """Let a score guide a pipeline inside a `with` block.

    Args:
        pipe: A pipeline of diffusers with a `scheduler`; with a `vae`, in its latent space.
        feedback: Predicts the score.
        prompt: What the images are generated from.
        score: The score to raise.
        scale: Length of a step's move, in parts of the sample's own length.
        decode: Turns samples into images in 0 .. 1; the pipeline's `vae` does, if left out. Needed
            where samples are packed in a form of the pipeline's own.

    Yields:
        The pipeline.

    Example:
        >>> with guided(pipe, feedback, "a cat"):  # doctest: +SKIP
        ...     image = pipe("a cat").images[0]
    """
    judge = ScoreGradient(feedback, prompt, score, decode or functools.partial(decoded, pipe))
    scheduler, step = pipe.scheduler, pipe.scheduler.step

    # Pipelines look at the signature of `step`, which `wraps` keeps.
    @functools.wraps(step)
    def guided_step(*args: Any, **kwargs: Any) -> Any:
        as_tuple = not kwargs.pop("return_dict", True)
        output = step(*args, **kwargs, return_dict=True)
        expected = getattr(output, "pred_original_sample", None)
        # Some schedulers do not tell what they expect: then the sample itself is judged.
        direction = judge(output.prev_sample if expected is None else expected)
        output.prev_sample = moved(output.prev_sample, direction, scale)
        return (output.prev_sample,) if as_tuple else output

    # An outer guidance has put its own step there.
    outer = vars(scheduler).get("step")
    scheduler.step = guided_step
    try:
        yield pipe
    finally:
        del scheduler.step
        if outer is not None:
            scheduler.step = outer


class ScoreGradient:
    """The gradient of a predicted score with respect to samples; arguments as of `guided`."""

    def __init__(self, feedback: FeedbackModel, prompt: str, score: str, decode: Decode) -> None:
        self.model, self.processor = feedback.model, feedback.processor
        self.column, self.decode = SCORES.index(score), decode
        self.tokens = self.processor(text=[prompt]).to(self.model.device)

    def score(self, samples: torch.Tensor) -> torch.Tensor:
        """Return the score of each sample; gradients flow through."""
        images = self.decode(samples).to(self.model.device, self.model.dtype)
        size = self.model.config.image_size
        pixels = as_pixel_values(images, self.processor.image_processor, size)
        tokens = {k: v.expand(len(pixels), *v.shape[1:]) for k, v in self.tokens.items()}
        return self.model(pixel_values=pixels, **tokens).scores[:, self.column]

    def __call__(self, samples: torch.Tensor) -> torch.Tensor:
        """Return the gradient for each sample."""
        with torch.inference_mode(False), torch.enable_grad():
            leaf = samples.detach().clone().requires_grad_(True)
            (gradient,) = torch.autograd.grad(self.score(leaf).sum(), leaf)
        return gradient


def moved(samples: torch.Tensor, direction: torch.Tensor, scale: float) -> torch.Tensor:
    """Return samples moved along a direction by a part of their own length."""
    norm, inner = torch.linalg.vector_norm, tuple(range(1, samples.ndim))
    length, own = (norm(part.float(), dim=inner, keepdim=True) for part in (direction, samples))
    return samples + (scale * own / length.clamp(min=1e-12) * direction).to(samples.dtype)


def decoded(pipe: Any, samples: torch.Tensor) -> torch.Tensor:
    """Return samples as images in 0 .. 1, by the pipeline's autoencoder where it has one."""
    vae = getattr(pipe, "vae", None)
    if vae is not None:
        samples = samples / getattr(vae.config, "scaling_factor", 1.0)
        samples = samples + (getattr(vae.config, "shift_factor", None) or 0.0)
        samples = vae.decode(samples.to(vae.dtype), return_dict=False)[0]
    return ((samples.float() + 1) / 2).clamp(0, 1)


def as_pixel_values(images: torch.Tensor, image_processor: Any, size: int) -> torch.Tensor:
    """Return images in 0 .. 1 as `pixel_values`, as the image processor would; gradients flow."""
    if images.shape[1] == 1:
        images = images.expand(-1, 3, -1, -1)
    if images.shape[-2:] != (size, size):
        images = functional.interpolate(
            images, (size, size), mode="bilinear", antialias=True, align_corners=False
        )
    mean, spread = (
        torch.tensor(getattr(image_processor, name), device=images.device, dtype=images.dtype)
        for name in ("image_mean", "image_std")
    )
    return (images - mean[:, None, None]) / spread[:, None, None]
