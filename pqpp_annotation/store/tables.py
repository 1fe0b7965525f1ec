"""The tables of a study's database; all times are in milliseconds since 1970, UTC.

A database contains one study. An *item* is a prompt with one or several images, rated on one page.
An *assignment* gives an item to a person; it also reserves one of the item's places. An *answer* is
one person's rating of an item or of one of its images; replaced answers are kept but not `current`.
"""

import secrets
from typing import Annotated, Any, ClassVar

from sqlalchemy import JSON, BigInteger, Double, ForeignKey, Index, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

VERSION = 6
"""Version of the tables; increase it when they change."""

Key = Annotated[int, mapped_column(primary_key=True)]
Large = Annotated[int, mapped_column(BigInteger)]
ItemKey = Annotated[int, mapped_column(ForeignKey("item.id"))]
ImageKey = Annotated[int, mapped_column(ForeignKey("item_image.id"))]
PersonKey = Annotated[int, mapped_column(ForeignKey("person.id"))]
Role = Annotated[str, mapped_column(Text, default="annotator")]


class StudyTable(DeclarativeBase):
    """The base class of all tables."""

    type_annotation_map: ClassVar = {
        str: Text,
        float: Double,
        dict[str, Any]: JSON,
        list[float]: JSON,
    }


class StudyRow(StudyTable):
    """The study, in a table of one row.

    Attributes:
        config: The settings of the study file when it was last opened.
        paused: Time of pausing; None while the study runs.
        url: The server's public URL; None if unknown.
        salt: Salt of the hashes of recruiting sites' ids.
    """

    __tablename__ = "study"
    id: Mapped[Key]
    version: Mapped[int] = mapped_column(default=VERSION)
    config: Mapped[dict[str, Any]]
    paused: Mapped[Large | None]
    url: Mapped[str | None]
    salt: Mapped[str] = mapped_column(default=secrets.token_hex)


class Asset(StudyTable):
    """An image file and its displayed copy.

    Attributes:
        sha256: Hash of the original file.
        location: Path of the original file, relative to the study file if inside its folder; never
            sent to a browser.
        media_type: Media type of the copy.
        width: Width of the copy in pixels; `height` likewise.
        shown: Hash of the copy, which is also its file name.
        orientation: EXIF orientation of the original file, 1 to 8.
        file_width: Width of the original file in pixels, before rotation; `file_height` likewise.
        frame: Left, top, right and bottom edge of the upright image in the copy, as fractions of
            the copy's sides; below 0 or above 1 if the copy is cropped.
    """

    __tablename__ = "asset"
    sha256: Mapped[str] = mapped_column(primary_key=True)
    location: Mapped[str]
    media_type: Mapped[str]
    width: Mapped[int]
    height: Mapped[int]
    shown: Mapped[str]
    orientation: Mapped[int]
    file_width: Mapped[int]
    file_height: Mapped[int]
    frame: Mapped[list[float]]


class Item(StudyTable):
    """A prompt with one or several images, rated on one page.

    Attributes:
        part: Index of the item among those of its prompt, from 0.
        purpose: `work`, `control` (rated by the control members too), `training` or `check`.
        expected: Right answers by image name ("" for the item), for training items and checks.
        detail: Data of the kind of task, such as linked prompts.
        done: Number of annotators who have finished it, without those whose places were reopened.
    """

    __tablename__ = "item"
    __table_args__ = (
        UniqueConstraint("prompt_id", "part"),
        Index("item_by_purpose", "purpose", "done"),
    )
    id: Mapped[Key]
    prompt_id: Mapped[str]
    part: Mapped[int] = mapped_column(default=0)
    prompt: Mapped[str]
    purpose: Mapped[str] = mapped_column(default="work")
    expected: Mapped[dict[str, Any]] = mapped_column(default=dict)
    detail: Mapped[dict[str, Any]] = mapped_column(default=dict)
    done: Mapped[int] = mapped_column(default=0)


class ItemImage(StudyTable):
    """An image of an item.

    Attributes:
        image: Name of the image in the table of prompts and in exports.
        is_reference: Whether it is a real photo, not marked as such on the page.
    """

    __tablename__ = "item_image"
    __table_args__ = (UniqueConstraint("item_id", "position"),)
    id: Mapped[Key]
    item_id: Mapped[ItemKey] = mapped_column(index=True)
    sha256: Mapped[str] = mapped_column(ForeignKey("asset.sha256"))
    position: Mapped[int]
    image: Mapped[str]
    model: Mapped[str] = mapped_column(default="")
    is_reference: Mapped[bool] = mapped_column(default=False)


class Person(StudyTable):
    """A person, identified by a pseudonym only.

    Attributes:
        name: The pseudonym in exports.
        role: `owner`, `control`, `annotator` or `trial` (answers are not exported).
        outside: Ids from a recruiting site, such as PROLIFIC_PID.
        outside_key: Salted hash of the recruiting site's id, which identifies the person on any
            link; None without an id.
        browser: On a shared link, hash of the secret of the only browser that can sign in; None
            before the first use.
        verdict: The owner's decision, `accept` or `refuse`; "" if the rules decide.
        reopened: Time when the person's items were opened to others; None if they were not.
        stopped: Time since which the person gets no more items; None if never stopped.
        training_tries: Number of failed tries of the training round.
        trained: Time when the training round was passed; None before.
        paid: Amounts of the payments, by ISO time.
    """

    __tablename__ = "person"
    id: Mapped[Key]
    name: Mapped[str] = mapped_column(unique=True)
    role: Mapped[Role]
    outside: Mapped[dict[str, Any]] = mapped_column(default=dict)
    outside_key: Mapped[str | None] = mapped_column(unique=True)
    browser: Mapped[str | None]
    verdict: Mapped[str] = mapped_column(default="")
    reopened: Mapped[Large | None]
    stopped: Mapped[Large | None]
    created: Mapped[Large]
    consented: Mapped[Large | None]
    training_tries: Mapped[int] = mapped_column(default=0)
    trained: Mapped[Large | None]
    paid: Mapped[dict[str, Any]] = mapped_column(default=dict)
    withdrawn: Mapped[Large | None]


class Leaver(StudyTable):
    """The payment record of a person who left, which is not linked to the person's row.

    Attributes:
        key: The person's `outside_key`, which prevents rejoining; random without one.
        outside: The person's ids from a recruiting site if something was owed, else {}.
        earned: `for_items` and `for_hours` of `Pay`; {} if nothing was owed or paid.
        paid: Amounts of the payments, by ISO time.
    """

    __tablename__ = "leaver"
    key: Mapped[str] = mapped_column(primary_key=True)
    outside: Mapped[dict[str, Any]]
    earned: Mapped[dict[str, Any]]
    paid: Mapped[dict[str, Any]]

    @property
    def name(self) -> str:
        """The person's code in payment files and, without a recruiting site, on their last page."""
        return f"left-{self.key[:10]}"


class Invitation(StudyTable):
    """An invitation link; only the hash of its token is stored.

    Attributes:
        label: The owner's note, hidden from annotators.
        is_shared: Whether many people use it, each with an id of a recruiting site.
        person_id: The person who joined with it; None before its first use, and for a shared link.
    """

    __tablename__ = "invitation"
    id: Mapped[Key]
    token_hash: Mapped[str] = mapped_column(unique=True)
    role: Mapped[Role]
    label: Mapped[str] = mapped_column(default="")
    is_shared: Mapped[bool] = mapped_column(default=False)
    person_id: Mapped[PersonKey | None]
    expires: Mapped[Large]
    revoked: Mapped[Large | None]

    def get_state(self, now: int) -> str:
        """Return `revoked`, `expired`, `used` or `open`; shared links are never `used`."""
        if self.revoked is not None:
            return "revoked"
        if self.expires <= now:
            return "expired"
        return "open" if self.person_id is None else "used"


class Assignment(StudyTable):
    """An item assigned to a person.

    Attributes:
        position: Position in the person's order, from 0.
        state: `open`, `done`, `skipped` or `expired`.
        expires: Time from which an open item can go to others; each saved answer extends it.
        finished: Time of the last needed answer; None before.
    """

    __tablename__ = "assignment"
    __table_args__ = (
        UniqueConstraint("person_id", "item_id"),
        Index("assignment_by_item", "item_id", "state", "expires"),
    )
    id: Mapped[Key]
    person_id: Mapped[PersonKey] = mapped_column(index=True)
    item_id: Mapped[ItemKey]
    position: Mapped[int]
    state: Mapped[str] = mapped_column(default="open")
    created: Mapped[Large]
    expires: Mapped[Large]
    finished: Mapped[Large | None]


class Answer(StudyTable):
    """A person's answer; deleted only on withdrawal.

    Attributes:
        item_image_id: The rated image; None if the answer is about the item.
        client_id: Unique id from the browser; a repeated answer is stored once.
        value: The answer, as `TaskKind.answer` defines it, such as {"label": 2}.
        seconds: Active time in seconds.
        current: False once the person has replaced it.
    """

    __tablename__ = "answer"
    __table_args__ = (Index("answer_by_assignment", "assignment_id", "item_image_id", "current"),)
    id: Mapped[Key]
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignment.id"))
    item_image_id: Mapped[ImageKey | None]
    client_id: Mapped[str] = mapped_column(unique=True)
    value: Mapped[dict[str, Any]]
    seconds: Mapped[float] = mapped_column(default=0.0)
    created: Mapped[Large]
    current: Mapped[bool] = mapped_column(default=True)


class Event(StudyTable):
    """An event in the history of a person.

    Attributes:
        kind: `consented`, `surveyed`, `reported` (a problem with an item), `doubted` (refused by
            the rules for the first time), `decided` (by the owner or the rules) or `withdrawn`.
        detail: Further data, such as the consent text.
    """

    __tablename__ = "event"
    id: Mapped[Key]
    person_id: Mapped[PersonKey] = mapped_column(index=True)
    kind: Mapped[str]
    detail: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created: Mapped[Large]


class Session(StudyTable):
    """A signed-in browser; deleting the row signs it out.

    Attributes:
        visit: Hash of the cookie's value.
        invitation_id: Id of the link used to sign in.
    """

    __tablename__ = "session"
    visit: Mapped[str] = mapped_column(primary_key=True)
    person_id: Mapped[PersonKey] = mapped_column(index=True)
    invitation_id: Mapped[int | None] = mapped_column(ForeignKey("invitation.id"))
    expires: Mapped[Large]


class Attempt(StudyTable):
    """An attempt at a rate-limited action, such as joining.

    Attributes:
        key: Hash of the action and of the person or address.
    """

    __tablename__ = "attempt"
    id: Mapped[Key]
    key: Mapped[str] = mapped_column(index=True)
    created: Mapped[Large]
