"""Options shared by the recipes of predictors."""

from dataclasses import dataclass

from pqpp_backbones.training.options import DataOptions, HubOptions, OptimisationOptions
from pqpp_datasets.target_columns import drop_single_means, get_targets
from pqpp_files.options.option import Options, option
from pqpp_models.targets import resolve_targets


@dataclass(kw_only=True)
class TargetOptions(Options):
    """Options of the predicted targets.

    Attributes:
        targets: Targets to predict, separated by commas (default: all in the data).
    """

    source: str | None = option(None, "use only prompts of this source, such as mscoco")
    targets: list[str] = option([])

    def __post_init__(self) -> None:
        """Set the default targets to those of the benchmark."""
        super().__post_init__()
        if self.targets:
            self.targets = list(resolve_targets(self.targets))
            return
        from pqpp_datasets.benchmarks import BENCHMARKS

        dataset = getattr(self, "dataset", "pqpp")
        listed = BENCHMARKS.get(getattr(self, "subset", None) or dataset)
        if listed is not None and (dataset == "pqpp" or dataset in BENCHMARKS):
            self.targets = list(drop_single_means(get_targets(listed.features({}))))


@dataclass(kw_only=True)
class PredictorRecipe(DataOptions, TargetOptions, OptimisationOptions, HubOptions):
    """Options shared by the predictors' trainers.

    Attributes:
        head_learning_rate: Learning rate of the new layers (default: the same).
    """

    head_learning_rate: float | None = option(None, gt=0)
