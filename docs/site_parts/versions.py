"""Write the start page of a site with one folder per version."""

import re

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>pqpp: all versions</title>
<meta http-equiv="refresh" content="0; url={newest}/index.html">
</head>
<body>
<main>
<h1>pqpp</h1>
<ul>
{items}
</ul>
</main>
</body>
</html>
"""


def write_entry(app, problem):
    """Write the `index.html` that links all versions, unless the build has no folder of its own."""
    if problem or app.builder.name != "html" or app.outdir.name != app.config.version:
        return
    folders = (path.parent.name for path in app.outdir.parent.glob("*/index.html"))
    names = sorted(folders, key=_get_order, reverse=True)
    items = "\n".join(f'<li><a href="{name}/index.html">{name}</a></li>' for name in names)
    page = _PAGE.format(newest=names[0], items=items)
    (app.outdir.parent / "index.html").write_text(page, "utf-8")


def _get_order(name):
    return [int(part) for part in re.findall(r"\d+", name)]
