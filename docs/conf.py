"""The documentation as a site: ``make site``.

These are Sphinx' settings; the pages are beside this file.
"""

project = "Turnfold"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_show_copyright = False  # else the foot of each page says "Copyright ©" and nothing behind it
html_title = "Turnfold"
exclude_patterns = ["_build", "deploy/grafana"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# Pages are read in the repository too, where links lead to files that are no pages (benchmarks, examples). A test checks all.
suppress_warnings = ["myst.xref_missing", "myst.header"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
