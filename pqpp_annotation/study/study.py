"""The study file: task, number of annotators, and rules for filtering and payment."""

import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds import TaskKind, get_task_kind
from pqpp_datasets.own_benchmark.options import BEST, MIN_KAPPA, MIN_REFERENCE_SHARE
from pqpp_files.errors import PqppError
from pqpp_files.foreign.yaml_values import read_yaml
from pqpp_files.options.option import NEEDED, Options, option
from pqpp_files.options.recipe import build_recipe
from pqpp_files.paths import expand

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


@dataclass(kw_only=True)
class Control(Options):
    """Settings of control items: items for all annotators, to compare them with control members.

    Attributes:
        every: One item in `every` is a control item, at a random position.
        count: Number of items drawn as control items; None if the table marks them.
    """

    every: int = option(6, "one control item in N", ge=2)
    count: int | None = option(None, "number of control items, drawn at random", ge=1)


@dataclass(kw_only=True)
class TrainingRules(Options):
    """Settings of the training round before the work; each try has other items.

    Attributes:
        tries: Number of failed tries after which a person gets no work.
        items: Number of items per try; default: all, divided by the number of tries.
        least: Share of right answers needed to pass, 0 to 1.
    """

    tries: int = option(2, "attempts at the training items", ge=1)
    items: int | None = option(None, "training items per attempt", ge=1)
    least: float = option(0.8, "pass mark: share of correct answers", ge=0, lt=1.000001)


@dataclass(kw_only=True)
class Checks(Options):
    """Settings of checks (gold items): items with known answers among the work.

    Attributes:
        every: One item in `every` is a check, at a random position, until all have been used.
        max_wrong: Number of wrong answers up to which a person's votes are used.
    """

    every: int = option(10, "one check in N items", ge=2)
    max_wrong: int = option(2, "wrong answers allowed before votes are excluded", ge=0)


@dataclass(kw_only=True)
class Admission(Options):
    """Rules on whose votes count, as in `pqpp build`."""

    min_kappa: float = option(MIN_KAPPA, "minimum kappa with each control member")
    min_reference_share: float = option(MIN_REFERENCE_SHARE, "minimum share of relevant references")
    exclude: str | None = option(None, "as in `pqpp build`", choices=("flagged",))


@dataclass(kw_only=True)
class Payment(Options):
    """Settings of the pay of annotators.

    Attributes:
        per_item: Pay per finished item, for admitted annotators only.
        per_hour: Pay per active hour.
        max_minutes: Maximum active minutes that count per item.
    """

    per_item: float = option(0.0, "pay per finished item", ge=0)
    per_hour: float = option(0.0, "pay per active hour", ge=0)
    currency: str = option("EUR", "currency of the amounts")
    max_minutes: float = option(10.0, "maximum paid minutes per item", gt=0)


@dataclass(kw_only=True)
class CompletionLink(Options):
    """A URL and code with which people return to a recruiting site."""

    url: str | None = option(None, "URL to return to")
    code: str | None = option(None, "completion code")

    def __post_init__(self) -> None:
        """Check the URL."""
        super().__post_init__()
        if self.url and not re.match(r"https?://[^/\s]", self.url):
            raise AnnotationError(f"completion: url must be a web address; got {self.url!r:.80}")


@dataclass(kw_only=True)
class Completion(CompletionLink):
    """The URLs and codes for leaving a study; `url` and `code` are for people who have finished.

    Attributes:
        screened_out: For people who failed the training round or were stopped.
        quota_full: For people who came when others had filled all places.
        withdrawn: For people who withdrew.
    """

    screened_out: CompletionLink | None = option(None)
    quota_full: CompletionLink | None = option(None)
    withdrawn: CompletionLink | None = option(None)


@dataclass(kw_only=True)
class Study(Options):
    """A study as defined by its file.

    Attributes:
        folder: The study file's folder, which paths are relative to.
        database: A path, or `$NAME` of an environment variable with a PostgreSQL URL.
        reopen_after: Number of rated control images after which a refused person's places are
            opened to others; null to leave this to the owner.
        task: Settings of the kind of task, with defaults filled in.
        seed: Seed of all random orders.

    Example:
        >>> study = parse_study({"name": "mine", "kind": "rating"})
        >>> study.people_per_item, study.control.every, study.kind.name
        (3, 6, 'rating')
        >>> parse_study({"name": "mine", "kind": "rating", "people_per_itm": 2})
        Traceback (most recent call last):
            ...
        pqpp_annotation.errors.AnnotationError: unknown option `people_per_itm`; ...
    """

    name: str = option(NEEDED, "lower-case letters, digits and hyphens")
    kind_name: str = option(NEEDED, "kind of task")
    title: str = option("", "one-line question")
    instructions: str = option("", "instructions, plain-text paragraphs")
    contact: str = option("", "who runs the study and how to reach them; shown on the start page")
    privacy: str = option("", "data stored about participants; default text if empty")
    prompts: str = option("", "table of prompts")
    image_dir: str | None = option(None, "image folder")
    image_column: str = option("image", "column of image names or URLs")
    database: str = option("study.db", "path in the folder, or $NAME of a variable with a URL")
    language: str | None = option(None, "page language, such as de; default: the browser's")
    people_per_item: int = option(3, "annotators per item", ge=1)
    reservation_minutes: float = option(30.0, "minutes until an open item goes to others", gt=0)
    items_per_person: int | None = option(None, "items per session, including controls", ge=1)
    reopen_after: int | None = option(20, ge=1)
    image_size: int | None = option(768, "image side in pixels; null: original size", ge=16)
    fit: str = option("pad", "how to make images square", choices=("pad", "crop"))
    control: Control = option(Control(), "`every`: one item in N; `count`: N drawn at random")
    training: TrainingRules = option(TrainingRules(), "attempts, items per attempt, pass mark")
    checks: Checks = option(Checks(), "every, max_wrong; checks are marked in the table")
    admission: Admission = option(Admission(), "whose votes count, as in `pqpp build`")
    best: int = option(BEST, "annotators per prompt whose votes count", ge=1)
    consent: str | None = option(None, "consent text; people agree to it first")
    payment: Payment | None = option(None, "per_item, per_hour, currency, max_minutes")
    completion: Completion | None = option(None, "url and code with which people return")
    survey: dict[str, str] = option({}, "questions at the end, each with its choices or []")
    seed: int = option(0, "random seed", ge=0, lt=2**63)
    task: dict[str, str] = option({}, "settings of the kind of task")
    folder: str = option(".", "folder of the study file")

    def __post_init__(self) -> None:
        """Check the name, database, task settings and survey."""
        super().__post_init__()
        if not _NAME.fullmatch(self.name):
            allowed = "name must have 1 to 64 characters: a-z, 0-9 and inner hyphens"
            raise AnnotationError(f"{allowed}; got {self.name!r:.80}")
        # A URL can contain a password.
        if not self.database or "://" in self.database or ".." in Path(self.database).parts:
            allowed = "a path without '..', or $NAME of an environment variable"
            raise AnnotationError(f"database must be {allowed}")
        self.task = self.kind.complete_settings(self.task)
        for question, choices in self.survey.items():
            if not isinstance(choices, list) or not all(isinstance(x, str) for x in choices):
                raise AnnotationError(f"survey, {question!r:.60}: expected a list of choices or []")

    @cached_property
    def kind(self) -> TaskKind:
        """The kind of task, in the variant that the settings select."""
        return get_task_kind(self.kind_name).choose_variant(self.task)

    @property
    def root(self) -> Path:
        """The folder of the study file."""
        return Path(self.folder)

    def to_config(self) -> dict[str, Any]:
        """Return the settings as plain values, with defaults filled in."""
        settings = {key: value for key, value in self.to_dict().items() if key != "folder"}
        return {"kind" if key == "kind_name" else key: value for key, value in settings.items()}


def read_study(path: str | os.PathLike[str]) -> Study:
    r"""Read a study file.

    Raises:
        AnnotationError: The file is missing or not YAML, or a setting is unknown or invalid.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "study.yaml"
        >>> _ = path.write_text("name: mine\nkind: rating\npeople_per_item: 0\n")
        >>> read_study(path)
        Traceback (most recent call last):
            ...
        pqpp_annotation.errors.AnnotationError: ...study.yaml: `people_per_item` is 0; it ...
    """
    target = expand(path)
    settings = read_yaml(target, "; create a study file with pqpp annotate init", AnnotationError)
    try:
        return parse_study(settings, target.parent)
    except AnnotationError as error:
        raise AnnotationError(f"{path}: {error}") from None


def parse_study(config: Mapping[str, Any], folder: str | os.PathLike[str] = ".") -> Study:
    """Parse the settings of a study.

    Args:
        config: The settings, named as in the study file.
        folder: The folder that paths are relative to.

    Raises:
        AnnotationError: A setting is unknown, invalid or missing.

    Example:
        >>> parse_study({"name": "mine", "kind": "rating", "people_per_item": 2}).people_per_item
        2
    """
    mappings: dict[str, Any] = {name: config.get(name) or {} for name in ("task", "survey")}
    others = {name: config[name] for name in config if name not in (*mappings, "kind", "folder")}
    for name in ("name", "kind"):
        if config.get(name) is None:
            raise AnnotationError(f"{name} is missing; add it to the study file")
    for name, settings in mappings.items():
        if not isinstance(settings, Mapping):
            raise AnnotationError(f"{name}: expected a mapping, got {settings!r:.60}")
        mappings[name] = {str(key): value for key, value in settings.items()}
    try:
        # `task` and `survey` can have values of any type, checked by `Study`.
        study = build_recipe(Study, {**others, "kind_name": config["kind"], "folder": str(folder)})
        return dataclasses.replace(study, **mappings)
    except PqppError as error:
        raise AnnotationError(str(error).replace("kind_name", "kind")) from None
