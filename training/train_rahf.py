r"""Train RAHF, the model of rich human feedback (Liang et al., CVPR 2024, sections 4 and 9).

Examples::

  accelerate launch training/train_rahf.py --config rahf --pickapic-dir pickapic_v1
  PYTHONPATH=tests python -c "from support.richhf_scenes import write_scenes; \
      write_scenes('scenes', {'train': 10000, 'validation': 300})"
  pqpp train rahf --config rahf_scenes \
      --data-dir scenes/richhf --pickapic-dir scenes/pickapic
"""

from functools import partial
from pathlib import Path
from typing import Any

from accelerate.utils import gather_object
from pqpp_training.options import RahfRecipe
from transformers import (
    AutoImageProcessor,
    AutoTokenizer,
    TrainerCallback,
    ViTImageProcessor,
    set_seed,
)

from pqpp_backbones.pretrained import safe_load
from pqpp_backbones.training.publish import check_no_result, describe_run, push_if_requested
from pqpp_backbones.training.script import run_or_exit, run_script
from pqpp_backbones.training.trainer import Outcome, PerformanceTrainer, to_training_arguments
from pqpp_feedback.rahf import bench
from pqpp_feedback.rahf.configuration_rahf import RahfConfig
from pqpp_feedback.rahf.examples import Examples, describe_data, load_split
from pqpp_feedback.rahf.feedback import RAHF_FILES, FeedbackModel, push_feedback_model
from pqpp_feedback.rahf.modeling_rahf import RahfForRichFeedback, load_towers
from pqpp_feedback.rahf.processing_rahf import RahfProcessor, train_tokenizer
from pqpp_files.errors import PqppError


def make_model(recipe: RahfRecipe, prompts: list[str]) -> tuple[RahfForRichFeedback, RahfProcessor]:
    """Create the model of a recipe, and its processor."""
    weights = ("heatmap_weight", "score_weight", "keyword_weight", "joint_weight")
    fields = {name: getattr(recipe, name) for name in weights}
    if recipe.model == "small":
        # The tokenizer is trained on the prompts; with 512 pieces, common words are whole.
        tokenizer = train_tokenizer(prompts, vocab_size=512)
        config = RahfConfig.small(recipe.variant, vocab_size=len(tokenizer), **fields)
        model = RahfForRichFeedback(config)
        size = model.config.vision_config.image_size
        images = ViTImageProcessor(size={"height": size, "width": size})
        return model, RahfProcessor(images, tokenizer, variant=recipe.variant)
    if recipe.model == "towers":
        return join_towers(recipe, fields)
    loaded = FeedbackModel.from_pretrained(recipe.model, device="cpu")
    variant = loaded.model.config.variant
    if variant != recipe.variant:
        fault = f"`variant` is {recipe.variant!r}, but {recipe.model} has {variant!r}"
        raise PqppError(f"{fault}; set `variant` to {variant!r}")
    for name, value in fields.items():
        setattr(loaded.model.config, name, value)
    return loaded.model.train(), loaded.processor


def join_towers(
    recipe: RahfRecipe, fields: dict[str, Any]
) -> tuple[RahfForRichFeedback, RahfProcessor]:
    """Create a model from two pretrained towers, and its processor."""
    vision, text = recipe.vision_model, recipe.text_model
    what, remedy = f"{vision} and {text} cannot be joined", "name an image encoder and a T5 model"
    with safe_load(what, remedy, vision, text):
        towers = load_towers(vision, text)
        images = AutoImageProcessor.from_pretrained(vision, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(text, trust_remote_code=False)
    with safe_load(what, remedy):  # the heads are new
        model = RahfForRichFeedback.from_towers(*towers, variant=recipe.variant, **fields)
    return model, RahfProcessor(images, tokenizer, variant=recipe.variant)


class RahfTrainer(PerformanceTrainer):
    """A trainer that evaluates as in the published tables."""

    control: Any

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return the metrics on the validation split."""
        examples = self.eval_dataset
        rank, world = self.args.process_index, self.args.world_size
        rows = list(range(rank, len(examples), world))
        model = self.accelerator.unwrap_model(self.model_wrapped).eval()
        outputs = bench.predict_rows(FeedbackModel(model, examples.processor), examples, rows)
        predicted = bench.collect_predictions(gather_object([outputs]))
        figures = bench.evaluate(predicted, bench.collect_ground_truth(examples))
        metrics = {f"eval_{k}": v for k, v in bench.summarise_metrics(figures).items()}
        self.log(metrics)
        control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        self.control = control
        return metrics


class OptimizerResetCallback(TrainerCallback):
    """A callback that resets AdamW's averages in the epoch in which further outputs are trained.

    Their average squares are near 0, so the first steps would be several times the learning rate.
    """

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **options: Any) -> None:
        """Reset the averages at the start of that epoch."""
        if state.epoch == self.epoch:
            options["optimizer"].state.clear()


def train(recipe: RahfRecipe) -> Outcome:
    """Train and save a model, and return the outcome."""
    folder = Path(recipe.output_dir) / "model"
    check_no_result(folder, recipe, RAHF_FILES)
    arguments = to_training_arguments(recipe)
    source = recipe.data_dir, recipe.pickapic_dir, recipe.dataset, recipe.subset
    training = load_split(recipe.train_split, *source, recipe.max_train_rows)
    validation = load_split(recipe.validation_split, *source, recipe.max_validation_rows)
    set_seed(recipe.seed)
    model, processor = make_model(recipe, training["prompt"][:])
    make_examples = partial(
        Examples,
        processor=processor,
        heatmap_size=model.config.heatmap_size,
        blind=recipe.blind,
        in_memory=recipe.in_memory,
    )
    options = {name: getattr(recipe, name) for name in ("seed", "prompt_dropout", "joint_first")}
    examples = make_examples(training, augmented=recipe.augmentation, **options)
    validation_examples = make_examples(validation)
    trainer = RahfTrainer(
        recipe,
        model,
        arguments,
        head="heads",
        lengths=examples.count_words() if recipe.group_by_length else None,
        train_dataset=examples,
        eval_dataset=validation_examples,
        data_collator=examples.collate,
        callbacks=[OptimizerResetCallback(recipe.joint_first)] if recipe.joint_first else [],
    )
    outcome = trainer.fit()
    if trainer.is_world_process_zero():
        check_no_result(folder, recipe, RAHF_FILES)  # another run may have saved one meanwhile
        facts = describe_data(recipe, examples, validation_examples)
        details = {**facts, **describe_run(recipe, facts["data"], outcome)}
        FeedbackModel(trainer.model, processor).save_pretrained(folder, details)
        print(f"saved in {folder}")
        push_if_requested(folder, recipe, push_feedback_model)
    return outcome


main = partial(run_script, train, RahfRecipe, __doc__)
"""The entry point of the command line."""

if __name__ == "__main__":
    run_or_exit(main)
