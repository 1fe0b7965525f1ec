"""The options of each assessor; model libraries are imported only when an assessor is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pqpp_backbones import DTYPES
from pqpp_backbones.chat.models import ChatOptions
from pqpp_feedback.errors import FeedbackError
from pqpp_files.extras import require_extra
from pqpp_files.foreign.json_values import read_json
from pqpp_files.options.option import Options, option

if TYPE_CHECKING:
    from pqpp_feedback.assess.assessor import Assessor


#: By name: repository, licence, size, training data, the paper's agreement with people, the model's
#: text for a prompt `{}`, and the repository of the processor if not that of the weights.
KNOWN_SCORES: dict[str, dict[str, str]] = read_json(Path(__file__).with_name("scores.json"))
SCORES = tuple(KNOWN_SCORES)


@dataclass(frozen=True, kw_only=True)
class AssessorOptions(Options):
    """Options of an assessor; subclasses add their own and load the models.

    The first line of a subclass's docstring describes its rating, the rest its input.

    Attributes:
        agreement: A sentence on how well the assessor agrees with people.
    """

    agreement: ClassVar[str] = ""

    evidence: str | None = option(None, "score the evidence of an earlier table again", path="file")
    device: str | None = option(None, "cpu, cuda, cuda:1, ... (default: a GPU if there is one)")
    dtype: str = option("float32", "number format of the models", DTYPES)

    def load(self) -> Sequence[Assessor]:
        """Load the models, unless stored evidence is used, and return the assessors.

        Raises:
            FeedbackError: An option is invalid.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class GimbrrOptions(AssessorOptions):
    """Whether images show the objects of GIMBRR's prompts, and the right number.

    The prompts' table has task, representations (objects) and task_specific_label (counts, or what
    must be absent), as in load_dataset("pqpp", "gimbrr"). A prompt whose task has no routine, or
    whose object the detector has no class for, gets a reason instead of a verdict. Models are
    folders or OWNER/REPOSITORY[@REVISION]; detectors can be DETR, RT-DETR, D-FINE, OWLv2 or
    GroundingDINO.
    """

    agreement = (
        "The authors' automated verdicts agree with people on 3,860 images with kappa .58 (by task "
        "from -.00 for simple arithmetic to .51 for conditional generation), but rank another "
        "model first than people do (pqpp bench gimbrr);"
    )

    clip: str = option("openai/clip-vit-large-patch14", "CLIP-like model", path="name")
    detector: str = option("facebook/detr-resnet-50@no_timm", "object detector")
    seed: int = option(0, "seed of the texts to compare with")

    def load(self) -> Sequence[Assessor]:
        """Load the models, unless stored evidence is used."""
        from pqpp_feedback.gimbrr.assessor import ClipScorer, GimbrrAssessor
        from pqpp_feedback.gimbrr.published import PublishedRoutine

        routine = PublishedRoutine(self.seed)
        if self.evidence:
            return [GimbrrAssessor(routine)]
        with require_extra("pqpp assess gimbrr", "assess"):
            from pqpp_feedback.assess.detector import Detector

        clip = ClipScorer(self.clip, self.device, self.dtype)
        return [GimbrrAssessor(routine, clip, Detector(self.detector, self.device, self.dtype))]


@dataclass(frozen=True, kw_only=True)
class RahfOptions(AssessorOptions):
    """Scores, heatmaps and misaligned words from a RAHF model.

    Attributes:
        threshold: Minimum probability at which a word counts as misaligned.
    """

    agreement = "How well a RAHF model agrees with people is in its card (pqpp bench measures it)."

    model: str | None = option(None, "folder or OWNER/REPOSITORY of a RAHF model", path="name")
    threshold: float = option(0.5, ge=0, lt=1)

    def __post_init__(self) -> None:
        """Check the model and its packages before images are searched."""
        super().__post_init__()
        if self.evidence:
            return
        if self.model is None:
            remedy = "train one with pqpp train rahf, and set `model` to its folder"
            raise FeedbackError(f"`model` is missing (Google has not published one); {remedy}")
        with require_extra("pqpp assess rahf", "models"):
            import torch  # noqa: F401
            import transformers  # noqa: F401

    def load(self) -> Sequence[Assessor]:
        """Load the model."""
        from pqpp_feedback.rahf.assessor import RahfAssessor

        if self.evidence:
            return [RahfAssessor(None, self.threshold)]
        assert self.model is not None
        import torch

        from pqpp_feedback.rahf import FeedbackModel

        model = FeedbackModel.from_pretrained(self.model, self.device)
        model.model.to(getattr(torch, self.dtype))
        return [RahfAssessor(model, self.threshold)]


@dataclass(frozen=True, kw_only=True)
class VistarOptions(ChatOptions, AssessorOptions):
    """VISTAR's scores: text, light, scenes, characters, penetration, geometry, and HWPQ.

    A score applies to prompts with the data that it needs; other rows name what is missing. Columns
    or control parameters of a prompt: text; light; panels, subject, layout; count, postures,
    expressions; objects. Every number that the paper does not print is in
    pqpp_feedback/vistar/vistar_choices.yaml.

    Attributes:
        only: Scores to compute (default: all but hwpq); text_rendering needs no download.
        model: Another model for a role: detector, segmenter, depth, similarity, features, pose,
            expression; repeatable.
        weighting: Formula of penetration: corrected, or as printed in the paper.
        text_script: Script of the texts; usual is Latin, Chinese and Japanese, others are
            downloaded once.
        questionnaires: Folder of hwpq's questionnaires; existing ones are not replaced.
    """

    agreement = (
        "How well these scores agree with people is not known; the paper reports 77 to 85% of "
        "pairs for its own implementation."
    )

    only: list[str] = option([])
    model: dict[str, str] = option({}, path="name")
    weighting: str | None = option(None, choices=("corrected", "printed"))
    text_script: str = option(
        "usual", choices=("usual", "greek", "cyrillic", "korean", "arabic", "devanagari", "thai")
    )
    writer: str | None = option(None, "model for hwpq's questionnaires (default: --chat-model)")
    questionnaires: str | None = option(None, path="folder")
    answers_per_question: int = option(3, "answers per question of hwpq", metavar="K", ge=1)

    def load(self) -> Sequence[Assessor]:
        """Load the models of the requested scores."""
        from pqpp_feedback.vistar.scores import load_scores

        return load_scores(self)


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(ChatOptions, AssessorOptions):
    """Published scores of an image for its prompt: CLIPScore, PickScore, HPSv2, VQAScore, ...

    Attributes:
        with_: Scores to compute; vqa_score needs --chat-model (default: clip_score).
        weights: Other weights for a score: a folder, OWNER/REPOSITORY[@REVISION] or, for a pickle,
            a file; repeatable.
        confirm: SHA-256 of a pickle to allow from now on; compare it with the source first.
    """

    agreement = "Published agreement with people was measured on other images;"

    with_: list[str] = option([], None, SCORES, also=("with",))
    weights: dict[str, str] = option({})
    confirm: list[str] = option([], metavar="SHA256")
    question: str | None = option(None, "vqa_score's question; {} is the prompt", metavar="TEXT")

    def __post_init__(self) -> None:
        """Check for unused weights, a question without `{}`, and vqa_score without a model."""
        super().__post_init__()
        names = self.with_ or SCORES[:1]
        for name in self.weights:
            if name not in names or name == "vqa_score":
                raise FeedbackError(f"`weights` is not used for {name!r}; remove this entry")
        if self.question is not None and "{}" not in self.question:
            raise FeedbackError(f"`question` must contain {{}} for the prompt; got {self.question}")
        if "vqa_score" in names and not (self.evidence or self.chat_model):
            raise FeedbackError("vqa_score needs a chat model; set `chat_model`")

    def load(self) -> Sequence[Assessor]:
        """Load the models or connect to the endpoint, unless stored evidence is used."""
        assessors: list[Assessor] = []
        for name in self.with_ or SCORES[:1]:
            if name == "vqa_score":
                from pqpp_feedback.vqa import QUESTION, VqaAssessor

                options = self.chat_model or "", self.make_budget(), self.device, self.dtype
                chat = None if self.evidence else self.open_chat(*options, images=True)
                assessors.append(VqaAssessor(chat, self.question or QUESTION))
                continue
            with require_extra("pqpp assess score", "assess"):
                from pqpp_feedback.scores import PublishedScore, load_scorer
            model = name, self.weights.get(name), self.device, self.dtype, self.confirm
            assessors.append(PublishedScore(name, None if self.evidence else load_scorer(*model)))
        return assessors
