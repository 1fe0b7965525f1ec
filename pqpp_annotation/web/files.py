"""What is sent as it is: images by their hash, the scripts and styles of the pages."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, FastAPI, HTTPException
from fastapi import Path as InPath
from fastapi.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from pqpp_annotation.store.items import stored_image
from pqpp_annotation.web.security import LOG
from pqpp_annotation.web.site import PACKAGE, Here

pages = APIRouter()


class Scripts(StaticFiles):
    """A folder of which only scripts, styles and drawings are sent, asked for anew each time."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or 304 where the browser has it."""
        if Path(path).suffix not in (".js", ".css", ".svg"):
            raise HTTPException(404)
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


def mount_static(app: FastAPI) -> None:
    """Give the app the addresses below `/static`; each folder stands beside the code it serves."""
    for url, folder in (
        ("/static/kinds", "kinds"),
        ("/static/owner", "owner/static"),
        ("/static", "web/static"),
    ):
        app.mount(url, Scripts(directory=PACKAGE / folder, check_dir=False))


@pages.get("/images/{sha256}")
def image_file(visit: Here, sha256: Annotated[str, InPath(pattern="^[0-9a-f]{64}$")]) -> Response:
    """Send an image; its hash is looked up, so no path comes from a request."""
    visit.person()
    image = stored_image(visit.store, sha256)
    path = visit.study.root / image.location
    try:
        about = path.stat()
        is_same = _sha256(path, about.st_mtime_ns, about.st_size) == sha256
    except OSError as error:
        LOG.error("an image cannot be read: %s", error)
        raise HTTPException(404, "This image cannot be read.") from None
    if not is_same:
        LOG.error("%s is no longer the image that the study was made with", path)
        raise HTTPException(404, "This image was changed.")
    kept = {"Cache-Control": "private, max-age=31536000, immutable"}
    return FileResponse(path, media_type=image.media_type, headers=kept)


@lru_cache(maxsize=100_000)
def _sha256(path: Path, changed: int, size: int) -> str:
    """Return the hash of a file, read again only when it was changed."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
