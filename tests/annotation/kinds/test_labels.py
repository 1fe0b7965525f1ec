"""Labels on a scale of a kind's own, with "unsure" beside them."""

import pytest

from pqpp_annotation.errors import StudyError
from pqpp_annotation.kinds.labels import LabelKind


class Toys(LabelKind):
    name = "toys"
    scale = "yes-no"

    def labels(self, settings):
        return (1, 0, None) if settings else (1, 0)


@pytest.mark.parametrize(("cell", "label"), [("yes", 1), ("0", 0), (" Unsure", None)])
def test_a_cell_of_an_earlier_answer_may_be_unsure(cell, label):
    assert Toys().expected(cell, {"unsure": True}) == {"label": label}


def test_where_nobody_may_be_unsure_it_is_no_answer():
    with pytest.raises(StudyError, match="'unsure'"):
        Toys().expected("unsure", {})


def test_what_is_allowed_can_be_written_in_a_cell():
    with pytest.raises(StudyError, match="'2'; it must be 1, 0, unsure"):
        Toys().expected("2", {"unsure": True})
