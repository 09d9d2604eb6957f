"""How Sphinx makes the site of this folder's pages: `make docs`."""

from __future__ import annotations

import rocmkern

project = "rocmkern"
author = "the rocmkern authors"
copyright = author
version = release = rocmkern.__version__

extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
highlight_language = "text"
copybutton_prompt_text = "$ "

html_theme = "pydata_sphinx_theme"
html_title = "rocmkern"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 5,
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": []}
