# SPDX-License-Identifier: Apache-2.0
"""Code blocks of the documentation: what a page shows, block by block.

A line `<!-- illustration -->` before a block says that it shows something that cannot be had here:
such a block is not checked.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
_BLOCK = re.compile(
    r"^(?P<mark><!-- illustration -->\n)?```(?P<language>.*)\n(?P<text>(?:.*\n)*?)```$",
    re.MULTILINE,
)
_PROMPT = re.compile(r"^\S*\$ ", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A code block, and where it is."""

    page: Path
    line: int
    language: str
    text: str
    illustrates: bool

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def commands(self) -> Iterator[list[str]]:
        """The arguments of each use of `quiltmd` in a block of a shell."""
        text = self.text
        if self.language == "console":
            lines = [line for line in text.splitlines() if _PROMPT.match(line)]
            text = _PROMPT.sub("", "\n".join(lines))
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if "quiltmd" in words and words[0] not in ("pip", "cp", "which"):
                yield words[words.index("quiltmd") + 1 :]


def blocks(*languages: str) -> list[Block]:
    """All blocks of some languages that are not illustrations; without languages, all blocks."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in _BLOCK.finditer(text):
            line = text.count("\n", 0, match.start("language")) + 1
            block = Block(page, line, match["language"], match["text"], bool(match["mark"]))
            if not languages or (block.language in languages and not block.illustrates):
                found.append(block)
    return found


_LINK = re.compile(r"\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]*))?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as mkdocs and repository browsers make them."""
    headings = _HEADING.findall(_BLOCK.sub("", page.read_text(encoding="utf-8")))
    shown = [re.sub(r"\]\([^)]*\)|[^\w\s-]", "", heading).strip() for heading in headings]
    return {heading.lower().replace(" ", "-") for heading in shown}


def dead_links(page: Path) -> list[str]:
    """Links to files, folders or headings that are not there."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    dead = []
    for path, anchor in _LINK.findall(text):
        target = (page.parent / path).resolve() if path else page
        known = anchors(target) if anchor and target.suffix == ".md" and target.is_file() else set()
        if not target.exists() or (known and anchor not in known):
            dead.append(f"{page.relative_to(ROOT)}: {path}#{anchor}")
    return dead
