"""Links that are right in the repository lead to the site's own pages."""

import os
import re
from pathlib import PurePosixPath

_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#:]+)(#[^)\s]*)?(\))")
_PAGES = {
    "README.md": "/index.md",
    "CHANGELOG.md": "/made/project/changelog.md",
    "CONTRIBUTING.md": "/made/project/contributing.md",
    "SECURITY.md": "/made/project/security.md",
    "LICENSE": "/made/project/licence.md",
    "CITATION.cff": "/made/project/citation.md",
}
_FOLDERS = (
    (r"docs/(.+)", r"/\1"),
    (r"benchmarks/(.+\.md)", r"/made/benchmarks/\1"),
    (r"pqpp_metrics/(\w+)/README\.md", r"/made/metrics/\1.md"),
    (r"pqpp_models/weights/([\w-]+)/README\.md", r"/made/predictors/\1.md"),
)


def site_page(path: str) -> str | None:
    """Return the place of a file of the repository on the site, from its root; None if it has none.

    >>> site_page("docs/scale.md"), site_page("benchmarks/planted_voters.md")
    ('/scale.md', '/made/benchmarks/planted_voters.md')
    """
    if path in _PAGES:
        return _PAGES[path]
    for pattern, page in _FOLDERS:
        if match := re.fullmatch(pattern, path):
            return match.expand(page)
    return None


def to_site(text: str, folder: str) -> str:
    """Return Markdown whose links to files of the repository lead to their places on the site.

    Args:
        text: Of a file.
        folder: Where in the repository the file is, like `docs`.

    >>> to_site("[scale](../docs/scale.md#a)", "benchmarks")
    '[scale](/scale.md#a)'
    """

    def led(match):
        page = site_page(os.path.normpath(PurePosixPath(folder, match[2])))
        return f"{match[1]}{page}{match[3] or ''}{match[4]}" if page else match[0]

    return _LINK.sub(led, text)


def read_source(app, docname, content):
    """Lead the links of a page of `docs/`; pages that are made have theirs led already."""
    if not docname.startswith("made/"):
        content[0] = to_site(content[0], str(PurePosixPath("docs", docname).parent))


def read_included(app, relative_path, docname, content):
    """Lead the links of a file that a page includes."""
    content[0] = to_site(content[0], os.path.normpath(PurePosixPath("docs", relative_path).parent))
