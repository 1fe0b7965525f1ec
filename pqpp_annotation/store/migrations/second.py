"""Sessions, limits, copies of images and the owner's word on people; no `ranking`."""

import sqlalchemy as sa
from alembic import op

from pqpp_files.foreign.json_values import parse_json

revision = "second"
down_revision = "first"


def upgrade() -> None:
    """Add what is new; who was signed in opens the link again."""
    large = sa.BigInteger()
    with op.batch_alter_table("study") as batch:
        batch.add_column(sa.Column("url", sa.Text()))
        batch.add_column(_text("message"))
    with op.batch_alter_table("asset") as batch:
        batch.add_column(sa.Column("shown", sa.Text()))
        for name, default in (("orientation", "1"), ("file_width", "0"), ("file_height", "0")):
            column = sa.Column(name, sa.Integer(), nullable=False, server_default=default)
            batch.add_column(column)
    with op.batch_alter_table("person") as batch:
        batch.drop_column("session")
        batch.add_column(sa.Column("browser", sa.Text()))
        batch.add_column(_text("verdict"))
        batch.add_column(sa.Column("reopened", large))
        batch.add_column(sa.Column("stopped", large))
        batch.add_column(_text("message"))
    op.create_table(
        "session",
        sa.Column("visit", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("invitation_id", sa.Integer()),
        sa.Column("expires", large, nullable=False),
        sa.PrimaryKeyConstraint("visit", name="pk_session"),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name="fk_session_person_id"),
        sa.ForeignKeyConstraint(
            ["invitation_id"], ["invitation.id"], name="fk_session_invitation_id"
        ),
    )
    op.create_index("ix_session_person_id", "session", ["person_id"])
    op.create_table(
        "attempt",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("created", large, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_attempt"),
    )
    op.create_index("ix_attempt_key", "attempt", ["key"])
    _no_ranking(op.get_bind())
    # Links of `pqpp annotate init` to try a study made annotators; what they said is no data.
    trial = "SELECT person_id FROM invitation WHERE label = 'to try it' AND role = 'annotator'"
    op.execute(
        "UPDATE item SET done = done - (SELECT count(*) FROM assignment WHERE "
        "assignment.item_id = item.id AND assignment.finished IS NOT NULL AND "
        f"assignment.person_id IN ({trial} AND person_id IS NOT NULL))"
    )
    op.execute(f"UPDATE person SET role = 'trial' WHERE id IN ({trial})")
    op.execute(
        "UPDATE invitation SET role = 'trial' WHERE label = 'to try it' AND role = 'annotator'"
    )


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False, server_default="")


def _no_ranking(db: sa.Connection) -> None:
    """Turn `ranking`, which ranked nothing, into relevance by two grades."""
    from pqpp_annotation.study.study import without_ranking

    study = sa.table("study", sa.column("id"), sa.column("kind"), sa.column("config", sa.JSON))
    for row in db.execute(sa.select(study)).all():
        config = parse_json(row.config) if isinstance(row.config, str) else row.config
        new = without_ranking(config)
        change = {"kind": new["kind"], "config": new}
        db.execute(sa.update(study).where(study.c.id == row.id).values(**change))
