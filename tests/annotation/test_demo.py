"""The demo: a whole small study out of nothing."""

import pytest

from pqpp_annotation.demo import make_demo_study
from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.owner.overview import StudyMonitor
from pqpp_annotation.store.people import add_person, save_consent
from pqpp_annotation.store.work import reserve_item


@pytest.mark.slow
def test_the_demo_is_half_done_and_finds_who_clicked_at_random(tmp_path):
    path, store = make_demo_study(tmp_path / "demo")
    look = StudyMonitor(store).get_overview()
    assert path.is_file() and 0.5 < look.progress.share < 1
    states = {row.name: row.state for row in look.people if row.role == "annotator"}
    assert states == {"anna": "admitted", "boris": "admitted", "random-clicker": "refused"}
    assert len(look.days) >= 3 and look.disputes
    person = add_person(store, "me", "annotator").id
    save_consent(store, person)
    assert reserve_item(store, person).purpose == "training"
    store.close()


def test_the_demo_takes_no_folder_of_others(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(AnnotationError):
        make_demo_study(tmp_path)
