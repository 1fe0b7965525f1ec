"""What is sent as it is: the copies of images, the scripts and styles of the pages."""

import contextlib
import hashlib
from pathlib import Path

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store.access import get_session_item
from pqpp_annotation.store.items import save_copy
from pqpp_annotation.store.tables import Asset
from pqpp_annotation.store.work import get_images
from pqpp_annotation.study.images import CheckedImage, copy_image
from pqpp_annotation.web.security import LOG
from pqpp_annotation.web.site import Here

pages = APIRouter()
FOLDERS = {"/static/kinds": "kinds", "/static/owner": "owner/static", "/static": "web/static"}
"""Address to the folder with the served files."""


class Scripts(StaticFiles):
    """A folder that serves only scripts, styles and drawings, revalidated each time."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or 304 if the browser has it."""
        if Path(path).suffix not in (".js", ".css", ".svg"):
            raise HTTPException(404)
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


@pages.get("/images/{assignment}/{name}")
def send_task_image(visit: Here, assignment: int, name: str) -> Response:
    """Send an image of an item that was assigned to the person, by the page's name for it."""
    with visit.store.reading() as db:
        asked = get_session_item(db, visit.session, assignment)
        if asked is None:
            raise HTTPException(401, "open your link again")
        images = {} if asked.item_id is None else get_images(db, asked.item_id)
    name_of = visit.site.sessions.name_image
    shown = next((images[image] for image in images if name_of(asked.id, image) == name), None)
    if shown is None:
        raise AnnotationError("this study has no such image", 403)
    return send_image(visit, shown)


def send_image(visit: Here, image: Asset) -> Response:
    """Send the copy of an image, no more than the copy."""
    content = visit.site.copies.read(image.shown)
    if content is None:
        content, media_type = _restore(visit, image)
    else:
        media_type = image.media_type
    kept = {"Cache-Control": "private, max-age=31536000, immutable"}
    return Response(content, media_type=media_type, headers=kept)


def _restore(visit: Here, image: Asset) -> tuple[bytes, str]:
    """Return a copy that was lost."""
    path, content = visit.study.root / image.location, b""
    copy: CheckedImage | str = "it is lost, or no longer what the study was made with"
    with contextlib.suppress(OSError):
        content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() == image.sha256:
        copy = copy_image(content, image.location, visit.study, visit.site.copies)
    if isinstance(copy, str):
        LOG.error("%s: %s", path, copy)
        raise HTTPException(404, "This image is missing or has changed.")
    save_copy(visit.store, copy)
    return visit.site.copies.read(copy.shown) or b"", copy.media_type
