"""Files sent to the browser: copies of images, and the scripts and styles of the pages."""

import hashlib
from pathlib import Path

from fastapi import APIRouter, HTTPException
from fastapi.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.store.items import update_image_record
from pqpp_annotation.store.tables import Asset
from pqpp_annotation.store.work import get_assignment, get_item_images
from pqpp_annotation.study.images import MOST_BYTES, CheckedImage, copy_image
from pqpp_annotation.web.security import LOG
from pqpp_annotation.web.site import Visit

pages = APIRouter()
FOLDERS = {"/static/kinds": "kinds", "/static/owner": "owner/static", "/static": "web/static"}
"""The folder with the served files, by URL path."""


class ScriptFiles(StaticFiles):
    """A folder of scripts, styles and SVG files; browsers revalidate them on each use."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or status 304 if the browser has it."""
        if Path(path).suffix not in (".js", ".css", ".svg"):
            raise HTTPException(404)
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


@pages.get("/images/{assignment}/{name}")
def send_task_image(visit: Visit, assignment: int, name: str) -> Response:
    """Send an image of an item assigned to the person, by its name on the page."""
    with visit.store.begin_read() as db:
        person = visit.get_person(db)
        images = get_item_images(db, get_assignment(db, person.id, assignment).item_id)
    get_name = visit.site.sessions.get_image_name
    image = next((image for key, image in images.items() if get_name(person.id, key) == name), None)
    if image is None:
        raise AnnotationError("image not found in this study; reload the page", 403)
    return send_image(visit, image)


def send_image(visit: Visit, image: Asset) -> Response:
    """Send the displayed copy of an image, which browsers may cache."""
    content = visit.site.copies.read(image.shown) or _restore_copy(visit, image)
    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    # A type in somebody else's database could make the image a page.
    media_type = "image/png" if content.startswith(b"\x89PNG") else "image/jpeg"
    return Response(content, media_type=media_type, headers=headers)


def _restore_copy(visit: Visit, image: Asset) -> bytes:
    """Create a lost copy again from the original file, and return it."""
    path, content = visit.study.root / image.location, b""
    copy: CheckedImage | str = "the image is missing or has changed; restore the file"
    if path.is_file() and path.stat().st_size <= MOST_BYTES:
        content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() == image.sha256:
        copy = copy_image(content, image.location, visit.study, visit.site.copies)
    if isinstance(copy, str):
        LOG.error("%s: %s", path, copy)
        raise HTTPException(404, "This image is missing or has changed.")
    update_image_record(visit.store, copy)
    return visit.site.copies.read(copy.shown) or b""
