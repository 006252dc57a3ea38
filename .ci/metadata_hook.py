"""The wheel's links and its long description.

Lives here: what hatchling asks when it builds: the README with links that work outside of the repository, and the project's
links. Does not belong here: the repository's address (pyproject.toml has it, beside the path of this file).

As long as no address is set there, relative links of the README become plain text, and images go: a link that leads nowhere is
worse than none.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE_IMAGE = re.compile(r"!\[([^]\[]*)\]\((?!https?:)([^)\s]+)\)\n\n")
_RELATIVE_LINK = re.compile(r"(?<!!)\[([^]\[]+)\]\((?!https?:|#|mailto:)([^)\s]+)\)")


def readme_for(text: str, repository: str) -> str:
    """The README for a page that is not the repository's."""
    if not repository:
        return _RELATIVE_LINK.sub(r"\1", _RELATIVE_IMAGE.sub("", text))
    base = repository.rstrip("/")
    return _RELATIVE_LINK.sub(rf"[\1]({base}/blob/main/\2)", _RELATIVE_IMAGE.sub(rf"![\1]({base}/raw/main/\2)\n\n", text))


def links(repository: str) -> dict[str, str]:
    """The project's links; none without an address."""
    base = repository.rstrip("/")
    ends = {"Source": "", "Documentation": "/tree/main/docs", "Changelog": "/blob/main/CHANGELOG.md", "Issues": "/issues"}
    return {name: base + end for name, end in ends.items()} if base else {}


class LinksHook(MetadataHookInterface):
    """Fills in ``readme`` and ``urls``."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling with the ``[project]`` table."""
        repository = str(self.config.get("repository", ""))
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": readme_for(text, repository)}
        metadata["urls"] = links(repository)
