"""The tables of a study's database; every time is in milliseconds since 1970, UTC.

A database contains one study. An *item* is what a person is shown at once: a prompt with one or
several images. An *assignment* gives an item to a person, and is the reservation that keeps an item
from going to more people than required. An *answer* is one person's rating of an item, or of
one of its images; a changed answer stays, no longer `current`.
"""

import secrets
from typing import Annotated, Any, ClassVar

from sqlalchemy import JSON, BigInteger, Double, ForeignKey, Index, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

VERSION = 6
"""Of the tables; a change of them is another."""

Key = Annotated[int, mapped_column(primary_key=True)]
Large = Annotated[int, mapped_column(BigInteger)]
OfItem = Annotated[int, mapped_column(ForeignKey("item.id"))]
OfImage = Annotated[int, mapped_column(ForeignKey("item_image.id"))]
OfPerson = Annotated[int, mapped_column(ForeignKey("person.id"))]
Role = Annotated[str, mapped_column(Text, default="annotator")]


class StudyTable(DeclarativeBase):
    """What all tables share."""

    type_annotation_map: ClassVar = {
        str: Text,
        float: Double,
        dict[str, Any]: JSON,
        list[float]: JSON,
    }


class StudyRow(StudyTable):
    """The study itself; one row.

    Attributes:
        config: The study file as it was read when the study was made or last changed.
        paused: Since when no items are assigned; None while it runs.
        url: The server's public address; None if unknown.
        salt: Salt of the hashes of outside ids.
    """

    __tablename__ = "study"
    id: Mapped[Key]
    version: Mapped[int] = mapped_column(default=VERSION)
    config: Mapped[dict[str, Any]]
    paused: Mapped[Large | None]
    url: Mapped[str | None]
    salt: Mapped[str] = mapped_column(default=secrets.token_hex)


class Asset(StudyTable):
    """An image that was checked and hashed; the only way to reach it is its hash.

    Attributes:
        sha256: Hash of the original file.
        location: Path of the file as it was found; never sent to a browser.
        media_type: Media type of the shown copy, like its `width` and `height`.
        shown: Hash of the copy that is shown, by which the folder of copies names it.
        orientation: The EXIF orientation of the original file, 1 to 8.
        file_width: Width of the original file in its own pixels, like `file_height`.
        frame: Where left, top, right and bottom of the upright file are in the copy, in fractions
            of its sides; below 0 or above 1 what the copy has not.
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
    """What a person is shown at once.

    Attributes:
        purpose: `work`, `control` (rated by the control members too), `training` or `check`.
        expected: The right answer of a training item or a check; {} for others.
        detail: Further data of its kind of task, such as linked prompts or the retrieval query.
        done: How many annotators have finished it whose places are not open again, counted in the
            transaction of the last answer.
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
        image: The name in the user's file and in exports.
        is_reference: Whether it is a true photo of the prompt, unmarked among the generated ones.
    """

    __tablename__ = "item_image"
    __table_args__ = (UniqueConstraint("item_id", "position"),)
    id: Mapped[Key]
    item_id: Mapped[OfItem] = mapped_column(index=True)
    sha256: Mapped[str] = mapped_column(ForeignKey("asset.sha256"))
    position: Mapped[int]
    image: Mapped[str]
    model: Mapped[str] = mapped_column(default="")
    is_reference: Mapped[bool] = mapped_column(default=False)


class Person(StudyTable):
    """A participant, without name, address or e-mail.

    Attributes:
        name: The pseudonym that exports show.
        role: `owner`, `control`, `annotator` or `trial`, whose answers are not data.
        outside: Ids that a recruiting site sent with the link, such as PROLIFIC_PID.
        outside_key: Salted hash of the id of the recruiting site, by which the person is found
            again, whatever the link; None without an id.
        browser: For a person with a shared link: hash of the first browser's secret, which
            alone is let in again; None at first.
        verdict: What the owner decided, `accept` or `refuse`; "" if the rules decide.
        reopened: Since when others may do the person's items; None while the person keeps the
            places.
        stopped: Since when the person gets no more items; None before.
        training_tries: Failed tries at the comprehension check.
        trained: When the check was passed.
        paid: Moment of each payment to its amount.
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
    """A person who left: stored apart from the person's row; only amounts owed can link the two.

    Attributes:
        key: The `outside_key`, which prevents a second start; random for a person without one.
        outside: Ids to pay by, if something was owed.
        earned: `for_items` and `for_hours` of `Pay`; {} if nothing was owed.
        paid: Moment of each payment to its amount.
    """

    __tablename__ = "leaver"
    key: Mapped[str] = mapped_column(primary_key=True)
    outside: Mapped[dict[str, Any]]
    earned: Mapped[dict[str, Any]]
    paid: Mapped[dict[str, Any]]

    @property
    def name(self) -> str:
        """A former person's id in payment files, and on the last page if there is no other."""
        return f"left-{self.key[:10]}"


class Invitation(StudyTable):
    """A link; only the hash of its token is stored.

    Attributes:
        label: A note of the owner's; annotators do not see it.
        is_shared: Whether many follow it, each with an id of a recruiting site.
        person_id: The person it created; None before its first use, and for a shared link.
    """

    __tablename__ = "invitation"
    id: Mapped[Key]
    token_hash: Mapped[str] = mapped_column(unique=True)
    role: Mapped[Role]
    label: Mapped[str] = mapped_column(default="")
    is_shared: Mapped[bool] = mapped_column(default=False)
    person_id: Mapped[OfPerson | None]
    expires: Mapped[Large]
    revoked: Mapped[Large | None]

    def get_state(self, now: int) -> str:
        """Return `revoked`, `expired`, `used`, or `open`; a shared link stays open."""
        if self.revoked is not None:
            return "revoked"
        if self.expires <= now:
            return "expired"
        return "open" if self.person_id is None else "used"


class Assignment(StudyTable):
    """An item given to a person.

    Attributes:
        position: Its place in the person's own order, from 0.
        state: `open`, `done`, `skipped` or `expired`.
        expires: When an open item is assigned to somebody else; every save postpones it.
    """

    __tablename__ = "assignment"
    __table_args__ = (
        UniqueConstraint("person_id", "item_id"),
        Index("assignment_by_item", "item_id", "state", "expires"),
    )
    id: Mapped[Key]
    person_id: Mapped[OfPerson] = mapped_column(index=True)
    item_id: Mapped[OfItem]
    position: Mapped[int]
    state: Mapped[str] = mapped_column(default="open")
    created: Mapped[Large]
    expires: Mapped[Large]
    finished: Mapped[Large | None]


class Answer(StudyTable):
    """A person's answer; deleted only on withdrawal.

    Attributes:
        item_image_id: The image that it is about; None if it is about the item.
        client_id: An id from the browser; a repeated answer is stored once.
        value: A value of the kind of task, like {"label": 2}.
        seconds: Active time on it.
        current: False once the person has changed it.
    """

    __tablename__ = "answer"
    __table_args__ = (Index("answer_by_assignment", "assignment_id", "item_image_id", "current"),)
    id: Mapped[Key]
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignment.id"))
    item_image_id: Mapped[OfImage | None]
    client_id: Mapped[str] = mapped_column(unique=True)
    value: Mapped[dict[str, Any]]
    seconds: Mapped[float] = mapped_column(default=0.0)
    created: Mapped[Large]
    current: Mapped[bool] = mapped_column(default=True)


class Event(StudyTable):
    """What happened when: `consented`, `withdrawn`, `decided` about a person, first `doubted`.

    Or a person has `reported` that an item is not as it should be, or was `surveyed`.
    """

    __tablename__ = "event"
    id: Mapped[Key]
    person_id: Mapped[OfPerson] = mapped_column(index=True)
    kind: Mapped[str]
    detail: Mapped[dict[str, Any]] = mapped_column(default=dict)
    created: Mapped[Large]


class Session(StudyTable):
    """A signed-in browser; without its row, a cookie is not valid.

    Attributes:
        visit: Hash of the cookie's value.
        invitation_id: The link that it began with.
    """

    __tablename__ = "session"
    visit: Mapped[str] = mapped_column(primary_key=True)
    person_id: Mapped[OfPerson] = mapped_column(index=True)
    invitation_id: Mapped[int | None] = mapped_column(ForeignKey("invitation.id"))
    expires: Mapped[Large]


class Attempt(StudyTable):
    """Something that was tried and may not be tried too often, such as joining.

    Attributes:
        key: The kind of attempt and a hash of the person or address.
    """

    __tablename__ = "attempt"
    id: Mapped[Key]
    key: Mapped[str] = mapped_column(index=True)
    created: Mapped[Large]
