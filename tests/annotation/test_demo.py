"""The demo study."""

import pytest

from pqpp_annotation.demo import make_demo_study
from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.owner.overview import StudyMonitor
from pqpp_annotation.store.people import add_person, save_consent
from pqpp_annotation.store.work import reserve_item


@pytest.mark.slow
def test_demo_study_refuses_the_random_clicker(tmp_path):
    path, store = make_demo_study(tmp_path / "demo")
    overview = StudyMonitor(store).get_overview()
    assert path.is_file() and 0.5 < overview.progress.share < 1
    states = {row.name: row.state for row in overview.people if row.role == "annotator"}
    assert states == {"anna": "admitted", "boris": "admitted", "random-clicker": "refused"}
    assert len(overview.days) >= 3 < len(overview.disputes)
    assert sum(dict(overview.days).values()) == sum(row.votes for row in overview.people)
    save_consent(store, person := add_person(store, "me", "annotator").id)
    assert reserve_item(store, person).purpose == "training"
    store.close()


def test_demo_rejects_nonempty_folder(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(AnnotationError):
        make_demo_study(tmp_path)
