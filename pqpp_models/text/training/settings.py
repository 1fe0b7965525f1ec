"""Settings for training the components of text predictors, without torch."""

from dataclasses import dataclass

from pqpp_backbones.training.number_format import FORMATS
from pqpp_files.options.option import Options, option


@dataclass(frozen=True)
class TuneSettings(Options):
    """Settings for fine-tuning an encoder.

    Attributes:
        head_learning_rate: learning rate of new layers; the encoder's is ``learning_rate``.
        max_length: number of tokens to which a prompt is truncated.
        mixed_precision: one of `pqpp_backbones.training.number_format.FORMATS`.
    """

    epochs: int = 4
    batch_size: int = 32
    learning_rate: float = 5e-5
    head_learning_rate: float = 1e-3
    weight_decay: float = 0.01
    max_length: int = 96
    mixed_precision: str = option("no", choices=FORMATS)


@dataclass(frozen=True)
class SourceSettings(TuneSettings):
    """Settings for tuning the encoder on the studies.

    Attributes:
        max_per_source: maximum number of rows per study and epoch, so that no study dominates.
        trained_layers: number of the encoder's top layers that are trained.
    """

    max_per_source: int = 400
    trained_layers: int = 6


@dataclass(frozen=True)
class EnsembleTuning(TuneSettings):
    """Settings of the fine-tuned encoder in an ensemble.

    Attributes:
        share: the encoder's weight in the predictions of generation targets.
    """

    share: float = 0.35


@dataclass(frozen=True)
class FitSettings:
    """Settings of a `CollectionModel`, chosen by cross-validation within PQPP's train split.

    Attributes:
        kernel_layers: the encoder's layers for kernels, networks and the search for nearest
            training prompts.
        kernel_width: factor of the squared distance of unit vectors.
        feature_weight: weight of the features' kernel; a layer's kernel has weight 1.
        feature_width: factor of the squared distance of features.
        ridge: strength of the penalty.
        rank_share: weight of a target's normal score in the fitted value; the rest is the weight of
            its standardised value.
        networks: number of networks and of folds; each network is trained on all folds but one.
        hidden_size: units of a network's first hidden layer; the second has half as many.
        learning_rate: the peak, after warming up over a tenth of the steps.
    """

    kernel_layers: tuple[int, ...] = (6, 2)
    kernel_width: float = 0.7
    feature_weight: float = 2.0
    feature_width: float = 0.3
    ridge: float = 5.0
    rank_share: float = 0.5
    networks: int = 4
    hidden_size: int = 384
    input_dropout: float = 0.5
    dropout: float = 0.5
    epochs: int = 18
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.02


@dataclass(frozen=True)
class DistilSettings(Options):
    """Settings for distilling the network, chosen by cross-validation within PQPP's train split.

    Attributes:
        piece_size: dimensions of a word piece's vector.
        point_size: dimensions of a prompt's embedding.
        deeper_size: units of the layer over the hidden layer, which is trained last, with all other
            layers frozen.
        deeper_dropout: dropout of that layer's inputs and units.
        true_share: weight of a training prompt's true scores; the rest is the teacher's out-of-fold
            prediction.
        point_weight: weight of the embeddings' loss, one minus the cosine to the teacher's
            embeddings.
        first_weight: weight of the squared error of the first score; that of the others is 1.
        learning_rate: the peak, after warming up over a twentieth of the steps.
        weight_decay: AdamW's weight decay, on matrices only.
        alignment_epochs: epochs of further training on `alignment` and all other goals.
        mixed_precision: one of `pqpp_backbones.training.number_format.FORMATS`.
    """

    piece_size: int = 96
    filters: int = 192
    hidden_size: int = 256
    point_size: int = 64
    deeper_size: int = 128
    deeper_dropout: float = 0.1
    dropout: float = 0.2
    true_share: float = 0.5
    point_weight: float = 1.0
    first_weight: float = 6.0
    epochs: int = 10
    batch_size: int = 128
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    alignment_epochs: int = 8
    mixed_precision: str = option("no", choices=FORMATS)


@dataclass(frozen=True)
class PairSettings(Options):
    """Settings of the layer for pairs of word pieces."""

    units: int = 256
    epochs: int = 20
