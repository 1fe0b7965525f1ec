"""A Sphinx extension for generated pages, links to the repository, formulas and versions."""

from site_parts import accessible, cells, commands, links, mathml, reference, roles, versions
from site_parts.sources import write_changed

GENERATED = "made"
"""The folder in `docs/` of the pages that each build generates; it is not committed."""


def setup(app):
    """Connect the handlers of this package to a Sphinx build."""
    app.connect("config-inited", cells.prepare_kernels)
    app.connect("builder-inited", _make_pages)
    app.connect("source-read", links.read_source)
    app.connect("include-read", links.read_included)
    app.connect("autodoc-skip-member", reference.skip_inherited)
    app.connect("html-page-context", accessible.fix_page, priority=900)  # after the theme
    app.connect("build-finished", versions.write_entry)
    app.add_html_math_renderer("mathml", (mathml.visit_inline, None), (mathml.visit_block, None))
    app.add_role("said", roles.make_code_role)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _make_pages(app):
    from site_parts import cards, copies

    pages = {
        **reference.make_pages(),
        **commands.make_pages(),
        **cards.make_pages(),
        **copies.make_pages(),
    }
    write_changed(app.srcdir / GENERATED, pages)
