"""Options of the training scripts, without torch."""

from dataclasses import dataclass

from pqpp_backbones.training.options import DataOptions, HubOptions, OptimisationOptions
from pqpp_feedback.rahf.outputs import BLINDS, VARIANTS
from pqpp_files.errors import PqppError
from pqpp_files.options.option import option
from pqpp_models.bert import POOLINGS
from pqpp_models.clip import AGGREGATIONS, TASKS, TUNINGS
from pqpp_models.training.recipe import PredictorRecipe


@dataclass(kw_only=True)
class BertRecipe(PredictorRecipe):
    """Options for training a text encoder.

    Attributes:
        max_length: Maximum number of tokens of a prompt (default: 128, or the encoder's limit).
    """

    output_dir: str = option("runs/bert")
    pooling: str = option("cls", "how to pool the last layer for the head", POOLINGS)
    head_size: int = option(512, "units of the head's hidden layer")
    head_dropout: float = option(0.3, "dropout before the head")
    max_length: int | None = None
    group_by_length: bool = option(True, "do not batch prompts of similar length")
    balanced: bool = option(False, "divide each target's squared error by the target's variance")


@dataclass(kw_only=True)
class ClipRecipe(PredictorRecipe):
    """Options for training a CLIP-like model.

    Attributes:
        image_dir: Folder of the images of PQPP or of the dataset.
    """

    model: str = option("openai/clip-vit-base-patch32", "pretrained CLIP-like model")
    output_dir: str = option("runs/clip")
    image_dir: str | None = option(None, path="folder")
    targets: list[str] = option(["mean_hbpp"], "targets, with commas")
    task: str = option("generation", "task of the images and the head", TASKS)
    tuning: str = option("full", "what to train besides the head", TUNINGS)
    lora_rank: int = option(8, "rank of the adapters, with --tuning lora", gt=0)
    lora_alpha: int = option(16, "scale of the adapters")
    head_dropout: float = option(0.5, "dropout in the head")
    first_k: int = option(25, "retrieved images per model")
    aggregation: str = option("threshold", "how to compute P@10 and RR", AGGREGATIONS)


@dataclass(kw_only=True)
class CnnRecipe(PredictorRecipe):
    """Options for training the CNN; `model` embeds images if rows contain them.

    Attributes:
        image_dir: Folder of the images of PQPP or of the dataset.
    """

    model: str = option("openai/clip-vit-base-patch32", "CLIP-like model that embeds images")
    output_dir: str = option("runs/correlation_cnn")
    image_dir: str | None = option(None, path="folder")
    targets: list[str] = option(["mean_hbpp"], "targets, with commas")
    channels: int = option(1, "matrices per row, one per retrieval model", gt=0)
    matrix_size: int = option(4, "images per matrix: 4 for generation, 25 for retrieval", gt=0)


@dataclass(kw_only=True)
class RahfRecipe(DataOptions, OptimisationOptions, HubOptions):
    """Options for training RAHF."""

    subset: str | None = option("richhf", "configuration of the dataset")
    pickapic_dir: str | None = option(None, "a copy of Pick-a-Pic v1", decides=False, path="folder")
    model: str = option("towers", "pretrained towers, small, or a RAHF model to continue from")
    vision_model: str = option("google/vit-base-patch16-224-in21k", "image tower", path="name")
    text_model: str = option("google/t5-v1_1-base", "pretrained T5", path="name")
    output_dir: str = option("runs/rahf")
    variant: str = option("multi_head", "seven heads, or three with task strings", VARIANTS)
    heatmap_weight: float = option(5.0, "weight of the heatmaps' squared error", ge=0)
    score_weight: float = option(1.0, "weight of the scores' squared error", ge=0)
    keyword_weight: float = option(1.0, "weight of the rewritten prompt's cross-entropy", ge=0)
    joint_weight: float = option(1.0, "weight of misalignment and alignment among these", gt=0)
    joint_first: int = option(0, "epochs on misalignment, alignment and rewriting alone", ge=0)
    augmentation: bool = option(True, "omit the paper's augmentations")
    prompt_dropout: float = option(0.0, "share of prompts written from the image alone", ge=0, lt=1)
    blind: str = option("none", "ablation: input to hide from the model", BLINDS)
    in_memory: bool = option(False, "keep decoded images in memory; for small sets", decides=False)
    max_validation_rows: int | None = option(None, "use only the first rows of validation", gt=0)
    group_by_length: bool = option(True, "do not batch prompts of similar length")
    gradient_checkpointing: bool = option(False, "recompute activations, to save memory")
    metric_for_best_model: str = option("mean")
    early_stopping_patience: int = option(0)

    def __post_init__(self) -> None:
        """Check that all outputs are trained."""
        super().__post_init__()
        if self.joint_first >= self.num_train_epochs:
            least = f"less than `num_train_epochs` ({self.num_train_epochs})"
            raise PqppError(f"`joint_first` must be {least}; got {self.joint_first}")
