"""Convert links between files of the repository to links between pages of the site."""

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


def find_page(path: str) -> str | None:
    """Return the path of a repository file's page on the site, or None if it has no page.

    >>> find_page("docs/scale.md"), find_page("benchmarks/planted_voters.md")
    ('/scale.md', '/made/benchmarks/planted_voters.md')
    """
    if path in _PAGES:
        return _PAGES[path]
    for pattern, page in _FOLDERS:
        if match := re.fullmatch(pattern, path):
            return match.expand(page)
    return None


def to_site(text: str, folder: str) -> str:
    """Convert links to files of the repository in a Markdown text to links to pages of the site.

    Args:
        text: The content of a file.
        folder: The folder of the file in the repository, like `docs`.

    >>> to_site("[scale](../docs/scale.md#a)", "benchmarks")
    '[scale](/scale.md#a)'
    """

    def replace_link(match):
        page = find_page(os.path.normpath(PurePosixPath(folder, match[2])))
        return f"{match[1]}{page}{match[3] or ''}{match[4]}" if page else match[0]

    return _LINK.sub(replace_link, text)


def read_source(app, docname, content):
    """Convert the links of a page in `docs/`; those of generated pages are converted already."""
    if not docname.startswith("made/"):
        content[0] = to_site(content[0], str(PurePosixPath("docs", docname).parent))


def read_included(app, relative_path, docname, content):
    """Convert the links of a file that a page includes."""
    content[0] = to_site(content[0], os.path.normpath(PurePosixPath("docs", relative_path).parent))
