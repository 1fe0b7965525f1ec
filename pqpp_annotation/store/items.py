"""The items of a study and their images."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import bindparam, func, insert, select, update

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store.tables import Asset, Item, ItemImage
from pqpp_annotation.store.transactions import Transaction, reads, writes, writes_locked
from pqpp_annotation.study.images import CheckedImage
from pqpp_annotation.study.prompts import NewItem
from pqpp_files.table_formats import cut_batches

_FINISHED_COUNT = func.count().filter(Item.done >= bindparam("places"))
_COLUMNS = ("prompt_id", "part", "prompt", "purpose", "expected", "detail")
_COUNTS = select(Item.purpose, func.count(), _FINISHED_COUNT).group_by(Item.purpose)


@dataclass(frozen=True)
class ItemCounts:
    """The number of items of a study by purpose.

    Attributes:
        finished: Number of work items that as many annotators as required have finished.

    Example:
        >>> print(ItemCounts(work=20, finished=5, control=2, training=0))
        20 items, 5 finished, 2 control items, 0 training items
    """

    work: int
    finished: int
    control: int
    training: int

    def __str__(self) -> str:
        return (
            f"{self.work:,} items, {self.finished:,} finished, {self.control:,} control items, "
            f"{self.training:,} training items"
        )


@reads
def count_items(db: Transaction) -> ItemCounts:
    """Return the number of items by purpose."""
    rows = db.run(_COUNTS, places=db.study.people_per_item)
    counts = {purpose: (items, full) for purpose, items, full in rows}
    control, training = (counts.get(purpose, (0, 0))[0] for purpose in ("control", "training"))
    return ItemCounts(*counts.get("work", (0, 0)), control, training)


@reads
def get_stored_image(db: Transaction, sha256: str) -> Asset:
    """Return the record of an image by its hash.

    Raises:
        AnnotationError: The study has no such image.
    """
    image = db.get(Asset, sha256)
    if image is None:
        raise AnnotationError("image not found in this study; reload the page", 403)
    return image


@writes
def update_image_record(db: Transaction, image: CheckedImage) -> None:
    """Replace an image's record, except its location, after its copy was created again."""
    columns = asdict(image) | {"location": Asset.location}
    db.execute(update(Asset).where(Asset.sha256 == image.sha256).values(columns))


@writes_locked
def add_items(db: Transaction, items: Sequence[NewItem], images: Sequence[CheckedImage]) -> int:
    """Add items and their images to a study; existing items are unchanged.

    Returns:
        Number of new items.

    Raises:
        AnnotationError: A prompt id exists with another prompt; nothing is added.
    """
    stored = db.execute(select(Item.prompt_id, Item.part, Item.prompt))
    prompts = {(prompt_id, part): prompt for prompt_id, part, prompt in stored}
    for item in items:
        if prompts.get((item.prompt_id, item.part), item.prompt) != item.prompt:
            problem = f"prompt_id {item.prompt_id:.60} is already used for another prompt"
            raise AnnotationError(f"{problem}; choose another id")
    hashes = set(db.scalars(select(Asset.sha256)))
    new_items = [item for item in items if (item.prompt_id, item.part) not in prompts]
    first_id = db.last_item_id + 1
    asset_rows = (asdict(image) for image in images if image.sha256 not in hashes)
    item_rows = (
        {**{name: getattr(item, name) for name in _COLUMNS}, "done": 0, "id": item_id}
        for item_id, item in enumerate(new_items, first_id)
    )
    image_rows = (
        {"item_id": item_id, "position": index, **image}
        for item_id, item in enumerate(new_items, first_id)
        for index, image in enumerate(item.images)
    )
    for table, values in ((Asset, asset_rows), (Item, item_rows), (ItemImage, image_rows)):
        for batch in cut_batches(values):  # limits memory
            db.execute(insert(table), batch)
    return len(new_items)
