"""RAHF: an image tower, a T5 whose encoder reads image and prompt together, and heads.

Liang et al., "Rich Human Feedback for Text-to-Image Generation", CVPR 2024, sections 4.1 and 9.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, AutoModelForSeq2SeqLM, PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutput
from transformers.utils import ModelOutput, can_return_tuple

from pqpp_backbones.pretrained import StrictLoading
from pqpp_feedback.errors import FeedbackError
from pqpp_feedback.rahf.configuration_rahf import RahfConfig
from pqpp_feedback.rahf.outputs import HEATMAPS, JOINT_OUTPUTS, KEYWORD_TASK, SCORES, TASK_STRINGS
from pqpp_feedback.rahf.words import WordDecoder


class ChannelLayerNorm(nn.LayerNorm):
    """Layer norm over channels at each pixel."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Normalise a map of shape `(batch, channels, height, width)`."""
        return super().forward(features.movedim(1, -1)).movedim(-1, 1)


class ChannelScaleNorm(nn.Module):
    """RMS norm over channels at each pixel, with a scale per channel.

    The released weights use this norm, which has no mean and no bias.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Normalise a map of shape `(batch, channels, height, width)`."""
        mean_square = features.float().square().mean(dim=1, keepdim=True)
        scale = torch.rsqrt(mean_square + 1e-8).to(features.dtype)
        return features * scale * self.weight[:, None, None]


class ReadOut(nn.Module):
    """The two convolutions after a deconvolution, residual in the released style."""

    def __init__(self, channels: int, released: bool) -> None:
        super().__init__()
        self.first, self.second = _make_conv(channels, channels), _make_conv(channels, channels)
        self.norms = nn.ModuleList(_make_norm(channels, released) for _ in range(2))
        self.released = released

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return a map of the same shape."""
        values = torch.relu(self.norms[0](self.first(features)))
        values = self.norms[1](self.second(values))
        return torch.relu(values + features if self.released else values)


class HeatmapHead(nn.Module):
    """A head for heatmaps: two convolutions, deconvolutions with read-outs, and a sigmoid."""

    def __init__(self, config: RahfConfig) -> None:
        super().__init__()
        released = config.head_style == "released"
        convs = [config.text_config.d_model, *config.heatmap_conv_sizes]
        deconvs = [convs[-1], *config.heatmap_deconv_sizes]
        channels = deconvs[-1]
        self.convs = nn.ModuleList(_make_conv(*sizes) for sizes in itertools.pairwise(convs))
        self.conv_norms = nn.ModuleList(_make_norm(size, released) for size in convs[1:])
        doubling = {"stride": 2, "padding": 1, "output_padding": 1}
        self.deconvs = nn.ModuleList(
            nn.ConvTranspose2d(*sizes, 3, **doubling) for sizes in itertools.pairwise(deconvs)
        )
        self.deconv_norms = nn.ModuleList(_make_norm(size, released) for size in deconvs[1:])
        self.readouts = nn.ModuleList(ReadOut(size, released) for size in deconvs[1:])
        self.last_conv = _make_conv(channels, channels)
        self.last_norm = nn.Identity() if released else _make_norm(channels, released)
        self.output = _make_conv(channels, 1)
        self.released = released

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return heatmaps of shape `(batch, height, width)` in 0 .. 1, always in float32."""
        for conv, norm in zip(self.convs, self.conv_norms, strict=True):
            # The released weights normalise after the ReLU here, but before it elsewhere.
            features = conv(features)
            features = norm(torch.relu(features)) if self.released else torch.relu(norm(features))
        stages = zip(self.deconvs, self.deconv_norms, self.readouts, strict=True)
        for deconv, norm, readout in stages:
            features = readout(torch.relu(norm(deconv(features))))
        features = torch.relu(self.last_norm(self.last_conv(features)))
        return torch.sigmoid(self.output(features).float()).squeeze(1)


class ScoreHead(nn.Module):
    """A head for a score: convolutions, dense layers and a sigmoid."""

    def __init__(self, config: RahfConfig) -> None:
        super().__init__()
        released = config.head_style == "released"
        sizes = [config.text_config.d_model, *config.score_conv_sizes]
        kernel = {"kernel_size": config.score_conv_kernel, "padding": config.score_conv_padding}
        self.convs = nn.ModuleList(nn.Conv2d(*pair, **kernel) for pair in itertools.pairwise(sizes))
        self.norms = nn.ModuleList(_make_norm(size, released) for size in sizes[1:])
        dense = [sizes[-1] * config.score_map_size**2, *config.score_dense_sizes, 1]
        self.dense = nn.ModuleList(nn.Linear(*pair) for pair in itertools.pairwise(dense))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return scores of shape `(batch,)` in 0 .. 1, always in float32."""
        for conv, norm in zip(self.convs, self.norms, strict=True):
            features = torch.relu(norm(conv(features)))
        hidden = features.flatten(1)
        for layer in self.dense[:-1]:
            hidden = torch.relu(layer(hidden))
        return torch.sigmoid(self.dense[-1](hidden).float()).squeeze(1)


def _make_conv(inputs: int, outputs: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1)


def _make_norm(channels: int, released: bool) -> nn.Module:
    return ChannelScaleNorm(channels) if released else ChannelLayerNorm(channels)


@dataclass
class RahfOutput(ModelOutput):
    """The seven outputs for a batch; outputs that `task_ids` does not select are NaN or None.

    Attributes:
        loss: The weighted sum of the three losses, if there are labels.
        heatmaps: `(batch, 2, height, width)` in 0 .. 1: implausibility, misalignment.
        scores: `(batch, 4)` in 0 .. 1: plausibility, alignment, aesthetics, overall.
        logits: `(batch, length, vocabulary)`, the rewritten prompt's, if there are `labels`.
        encoder_states: `(batch, tokens, size)`, the decoder's input, image tokens first.
        encoder_mask: `(batch, tokens)`, 0 at padding.
        heatmap_loss: Mean squared error of the pixels.
        score_loss: Mean squared error of the scores.
        keyword_loss: Cross-entropy per token.
    """

    loss: torch.Tensor | None = None
    heatmaps: torch.Tensor | None = None
    scores: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    encoder_states: torch.Tensor | None = None
    encoder_mask: torch.Tensor | None = None
    heatmap_loss: torch.Tensor | None = None
    score_loss: torch.Tensor | None = None
    keyword_loss: torch.Tensor | None = None

    @property
    def t5_inputs(self) -> dict[str, Any]:
        """The encoder's outputs, as input of T5's decoder."""
        states = BaseModelOutput(last_hidden_state=self.encoder_states)
        return {"encoder_outputs": states, "attention_mask": self.encoder_mask}


class ImageProjection(nn.Linear):
    """A projection from the image tower's width to T5's."""


class RahfForRichFeedback(StrictLoading, PreTrainedModel):
    """The model that predicts scores, heatmaps and misaligned words of an image and its prompt."""

    config_class = RahfConfig
    accepts_loss_kwargs = False  # the loss is a mean; Trainer divides it by accumulation steps
    base_model_prefix = "rahf"
    main_input_name = "pixel_values"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _no_split_modules = ("ViTLayer", "T5Block", "HeatmapHead", "ScoreHead")

    def __init__(
        self,
        config: RahfConfig,
        vision_model: PreTrainedModel | None = None,
        text_model: PreTrainedModel | None = None,
    ) -> None:
        super().__init__(config)

        self.vision_model = vision_model or AutoModel.from_config(
            config.vision_config, trust_remote_code=False, **_disable_pooling(config.vision_config)
        )
        self.text_model = text_model or AutoModelForSeq2SeqLM.from_config(
            config.text_config, trust_remote_code=False
        )
        width = config.text_config.d_model
        self.projection = ImageProjection(config.vision_config.hidden_size, width)
        is_shared = config.variant != "multi_head"
        heatmaps, scores = (["shared"], ["shared"]) if is_shared else (HEATMAPS, SCORES)
        self.heatmap_heads = nn.ModuleDict({name: HeatmapHead(config) for name in heatmaps})
        self.score_heads = nn.ModuleDict({name: ScoreHead(config) for name in scores})
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if isinstance(module, ChannelScaleNorm):
            init.ones_(module.weight)
        elif isinstance(module, HeatmapHead):
            # Most pixels are unmarked, so training starts from predictions of .05 instead of .5.
            init.constant_(module.output.bias, -3.0)
        elif isinstance(module, ImageProjection):
            # Image tokens start with the standard deviation of T5's word embeddings, 1.
            init.normal_(module.weight, std=module.in_features**-0.5)

    @classmethod
    def from_towers(cls, tower: nn.Module, t5: nn.Module, **fields: Any) -> Self:
        """Build a model from the outputs of `load_towers`, a new projection and new heads.

        Args:
            **fields: Fields of `RahfConfig`, like `variant`.
        """
        config = RahfConfig(vision_config=tower.config, text_config=t5.config, **fields)
        return cls(config, tower.float(), t5)

    def get_input_embeddings(self) -> nn.Module:
        """Return the embedding layer for the prompt's tokens."""
        return self.text_model.get_input_embeddings()

    def embed_images(self, pixel_values: torch.Tensor) -> torch.Tensor:
        """Return image tokens of the T5's width, `(batch, tokens, size)`."""
        return self.projection(self.vision_model(pixel_values=pixel_values).last_hidden_state)

    def encode(
        self, image_tokens: torch.Tensor, input_ids: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Encode image tokens and prompts together.

        Args:
            image_tokens: The output of `embed_images`.
            input_ids: `(batch, length)`, the prompts.
            mask: `(batch, length)`, 0 at padding; default: no padding.

        Returns:
            The states, `(batch, tokens, size)`, and their mask.
        """
        prompt_embeddings = self.text_model.get_input_embeddings()(input_ids)
        mask = torch.ones_like(input_ids) if mask is None else mask
        mask = torch.cat([mask.new_ones(image_tokens.shape[:2]), mask], dim=1)
        joint = torch.cat([image_tokens, prompt_embeddings.to(image_tokens.dtype)], dim=1)
        encoder = self.text_model.get_encoder()
        return encoder(inputs_embeds=joint, attention_mask=mask).last_hidden_state, mask

    def to_feature_map(self, states: torch.Tensor, n_image_tokens: int) -> torch.Tensor:
        """Return the patches' states as a feature map, `(batch, size, grid, grid)`."""
        grid = self.config.grid_size
        # Tokens before the patches, such as a class token, have no position.
        patches = states[:, n_image_tokens - grid * grid : n_image_tokens]
        return patches.transpose(1, 2).unflatten(2, (grid, grid))

    @can_return_tuple
    def forward(
        self,
        pixel_values: torch.Tensor,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        task_ids: torch.Tensor | None = None,
        heatmap_labels: torch.Tensor | None = None,
        score_labels: torch.Tensor | None = None,
        labels: torch.Tensor | None = None,
    ) -> RahfOutput:
        """Predict all requested outputs, and the loss if there are labels.

        Args:
            pixel_values: `(batch, 3, size, size)`.
            input_ids: `(batch, length)`; in the augmented-prompt variant `(batch, tasks, length)`,
                each with its task string before the prompt.
            attention_mask: Same shape as `input_ids`.
            task_ids: `(batch, tasks)`, indices of `outputs.TASK_STRINGS`, in the augmented-prompt
                variant; default: all seven in order.
            heatmap_labels: `(batch, 2, height, width)` in 0 .. 1, NaN if missing.
            score_labels: `(batch, 4)` in 0 .. 1, NaN if missing.
            labels: `(batch, length)`, the rewritten prompt's tokens, -100 for ignored ones.

        With `return_dict=False`, or if the configuration requests it, a tuple is returned.

        Raises:
            FeedbackError: `task_ids` is missing, but `input_ids` does not have all seven tasks.
        """
        image_tokens = self.embed_images(pixel_values)
        if self.config.variant == "multi_head":
            states, mask = self.encode(image_tokens, input_ids, attention_mask)
            features = self.to_feature_map(states, image_tokens.shape[1])
            heatmaps = [self.heatmap_heads[name](features) for name in HEATMAPS]
            scores = [self.score_heads[name](features) for name in SCORES]
            if self.config.head_style == "released":  # its decoder attends only to the prompt
                states, mask = (a[:, image_tokens.shape[1] :] for a in (states, mask))
            output = RahfOutput(heatmaps=torch.stack(heatmaps, 1), scores=torch.stack(scores, 1))
            output.encoder_states, output.encoder_mask = states, mask
        else:
            output = self._predict_by_task(image_tokens, input_ids, attention_mask, task_ids)
        if labels is not None and output.encoder_states is not None:
            shifted = self.text_model.prepare_decoder_input_ids_from_labels(labels=labels)
            output.logits = self.text_model(**output.t5_inputs, decoder_input_ids=shifted).logits
            output.keyword_loss = cross_entropy(output.logits, labels)
        targets = ("heatmap", heatmap_labels, HEATMAPS), ("score", score_labels, SCORES)
        for kind, values, names in targets:
            if values is not None:
                weights = [self.config.joint_weight if n in JOINT_OUTPUTS else 1.0 for n in names]
                output[f"{kind}_loss"] = squared_error(output[f"{kind}s"], values, weights)
        losses = []
        for kind in ("heatmap", "score", "keyword"):
            loss = getattr(output, f"{kind}_loss")
            if loss is not None:
                losses.append(getattr(self.config, f"{kind}_weight") * loss)
        if losses:
            output.loss = torch.stack(losses).sum()
        return RahfOutput(**output)  # in the declared order, the loss first

    def _predict_by_task(self, image_tokens, input_ids, attention_mask, task_ids) -> RahfOutput:
        if input_ids.ndim == 2:
            input_ids = input_ids[:, None]
            attention_mask = None if attention_mask is None else attention_mask[:, None]
        batch, tasks, _ = input_ids.shape
        if task_ids is None and tasks != len(TASK_STRINGS):
            raise FeedbackError(f"got {tasks} of {len(TASK_STRINGS)} tasks; set `task_ids`")
        task = torch.arange(tasks).repeat(batch) if task_ids is None else task_ids.flatten()
        task = task.to(input_ids.device)
        mask = None if attention_mask is None else attention_mask.flatten(0, 1)
        repeated = image_tokens.repeat_interleave(tasks, dim=0)
        states, mask = self.encode(repeated, input_ids.flatten(0, 1), mask)
        features = self.to_feature_map(states, image_tokens.shape[1])
        row = torch.arange(batch, device=input_ids.device).repeat_interleave(tasks)
        output = RahfOutput(
            heatmaps=_apply_head(self.heatmap_heads["shared"], features, row, task, batch, 0, 2),
            scores=_apply_head(self.score_heads["shared"], features, row, task, batch, 2, 6),
        )
        is_keyword = task == KEYWORD_TASK
        if is_keyword.sum() == batch:
            output.encoder_states, output.encoder_mask = states[is_keyword], mask[is_keyword]
        return output

    @torch.no_grad()
    def compute_word_probabilities(
        self,
        encoded: RahfOutput,
        words: Sequence[Sequence[Sequence[int]]],
        suffix: Sequence[int],
        threshold: float,
    ) -> list[list[float]]:
        """Return, for each word of each prompt, the probability that it is misaligned.

        Greedy decoding is restricted to the prompts' words, so that no word is lost, repeated or
        changed; it is as fast as free decoding.

        Args:
            encoded: The model's output for the images and prompts.
            words: The tokens of each word of each prompt (from the processor).
            suffix: The tokens of the suffix (from the processor).
            threshold: Minimum probability at which a word is decoded as misaligned; later words are
                conditioned on these decisions.
        """
        config = self.config.text_config
        decoders = [WordDecoder(w, suffix, config.eos_token_id, threshold) for w in words]
        next_tokens, cache = [config.decoder_start_token_id] * len(decoders), None
        while not all(decoder.is_done for decoder in decoders):
            tokens = torch.tensor(next_tokens, device=self.device)[:, None]
            options = {"past_key_values": cache, "use_cache": True}
            outputs = self.text_model(**encoded.t5_inputs, decoder_input_ids=tokens, **options)
            cache = outputs.past_key_values
            logits = outputs.logits[:, -1].float().cpu().numpy()
            next_tokens = [d.choose_token(row) for d, row in zip(decoders, logits, strict=True)]
        return [decoder.probabilities for decoder in decoders]


def _disable_pooling(config: Any) -> dict[str, Any]:
    if config.model_type == "siglip_vision_model":
        config.vision_use_head = False
        return {}
    return {"add_pooling_layer": False} if config.model_type in ("vit", "deit") else {}


def _apply_head(head, features, row, task, batch: int, first: int, last: int) -> torch.Tensor:
    """Run a head for its tasks, and write each result to its row and column; the rest is NaN."""
    selected = (task >= first) & (task < last)
    values = head(features[selected])
    table = values.new_full((batch, last - first, *values.shape[1:]), float("nan"))
    return table.index_put((row[selected], task[selected] - first), values)


def squared_error(
    predicted: torch.Tensor, labels: torch.Tensor, weights: Sequence[float]
) -> torch.Tensor:
    """Return the mean squared error of entries that are NaN in neither input; 0 if there are none.

    Args:
        predicted: `(batch, outputs, ...)`; NaN if missing.
        labels: Same shape.
        weights: One per output.

    Example:
        >>> nan = float("nan")
        >>> predicted, labels = torch.tensor([[0.0, nan, 3.0]]), torch.tensor([[2.0, 1.0, nan]])
        >>> float(squared_error(predicted, labels, [1, 1, 1]))
        4.0
        >>> float(squared_error(torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 2.0]]), [1, 3]))
        3.25
    """
    known = ~(torch.isnan(labels) | torch.isnan(predicted))
    # Replace NaN before the difference, because NaN times zero is NaN in the gradient.
    error = torch.where(known, predicted, 0) - torch.where(known, labels.to(predicted.dtype), 0)
    counts = known.to(error.dtype)
    scale = torch.tensor(weights, dtype=error.dtype, device=error.device)
    counts = counts * scale.reshape(-1, *[1] * (error.ndim - 2))
    total = counts.sum()
    return (error.square() * counts).sum() / torch.where(total > 0, total, 1)


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of tokens that are not ignored; 0 if all are ignored."""
    total = nn.functional.cross_entropy(
        logits.float().flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum"
    )
    return total / (labels != -100).sum().clamp(min=1)


def load_towers(vision: str, text: str) -> tuple[nn.Module, nn.Module]:
    """Load a pretrained image tower and a pretrained T5.

    Args:
        vision: Name or path of the image tower, for `AutoModel.from_pretrained`.
        text: Name or path of the T5, for `AutoModelForSeq2SeqLM.from_pretrained`.
    """
    config = AutoConfig.from_pretrained(vision, trust_remote_code=False)
    config = getattr(config, "vision_config", config)
    pooling = _disable_pooling(config)
    tower = AutoModel.from_pretrained(
        vision, config=config, use_safetensors=True, trust_remote_code=False, **pooling
    )
    t5 = AutoModelForSeq2SeqLM.from_pretrained(
        text, dtype=torch.float32, use_safetensors=True, trust_remote_code=False
    )
    for model in (tower, t5):
        model.config.name_or_path = ""  # a published configuration must not contain a local path
    return tower, t5
