"""How the parts of text predictors learn: settings, without torch."""

from dataclasses import dataclass

from pqpp_backbones.training.number_format import FORMATS
from pqpp_files.options.option import Options, option


@dataclass(frozen=True)
class TuneSettings(Options):
    """How an encoder is fine-tuned.

    Attributes:
        head_learning_rate: of the new layers; the encoder's is ``learning_rate``.
        max_length: tokens after which a prompt is cut.
        mixed_precision: of `pqpp_backbones.training.number_format.FORMATS`.
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
    """How the encoder is tuned on the sources.

    Attributes:
        most_a_source: rows of a source that an epoch sees at most, so that none drowns the others.
        trained_layers: how many of the encoder's layers, from the top, learn from the sources.
    """

    most_a_source: int = 400
    trained_layers: int = 6


@dataclass(frozen=True)
class TunedSettings(TuneSettings):
    """How the encoder is fine-tuned that has a share in an ensemble.

    Attributes:
        share: its share in the targets of generation.
    """

    share: float = 0.35


@dataclass(frozen=True)
class FitSettings:
    """What a `CollectionModel` is fitted with; chosen by cross-validation inside PQPP's train.

    Attributes:
        kernel_layers: the layers of the encoder that have a kernel, that the networks see, and in
            which the nearest training prompts are looked up.
        kernel_width: what multiplies the squared distance of their unit vectors.
        feature_weight: weight of the features' kernel; a layer's is 1.
        feature_width: what multiplies its squared distance.
        ridge: strength of the regularisation.
        rank_share: share of the Gaussian rank in a target, beside its standardised value.
        networks: how many, each trained without its own part of the rows.
        hidden_size: units of a network's first hidden layer; the second has half as many.
        learning_rate: the highest, after warming up over a tenth of the steps.
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
    """What the network is trained by; chosen by cross-validation inside PQPP's train split.

    Attributes:
        piece_size: numbers in the vector of a word piece.
        point_size: numbers in a prompt's point.
        deeper_size: units of the layer over the hidden one, which is trained at the end, when all
            else stays as it is.
        deeper_dropout: of its inputs and its units.
        true_share: share of a training prompt's own scores in what it is trained to; the rest is
            what the teacher says of it without having seen its scores.
        point_weight: weight of the points' loss, one minus the cosine to the teacher's.
        first_weight: weight of the squared error of the first score; that of the others is 1.
        learning_rate: the highest, after warming up over a twentieth of the steps.
        weight_decay: of AdamW, on matrices only.
        alignment_epochs: of training further, on `alignment` and all else.
        mixed_precision: of `pqpp_backbones.training.number_format.FORMATS`.
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
    """How the layer is trained that sees pairs of word pieces; the rest is as for the network.

    Attributes:
        units: of the layer.
    """

    units: int = 256
    epochs: int = 20
