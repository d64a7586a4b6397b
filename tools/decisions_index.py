# SPDX-License-Identifier: Apache-2.0
"""Writes the index of docs/decisions.md from its headings, between two comments: make format."""

from __future__ import annotations

import re
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "docs" / "decisions.md"
INDEX = re.compile(r"(?<=<!-- index -->\n).*?(?=<!-- end of index -->)", re.DOTALL)


def anchor(heading: str) -> str:
    """The anchor of a heading, as repository browsers and mkdocs make it."""
    return re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-")


def index_of(text: str) -> str:
    """A list of the sections, each with its decisions."""
    lines = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        found = re.findall(r"^### (.*)$", section, re.MULTILINE)
        links = [f"[{heading}](#{anchor(heading)})" for heading in found]
        lines.append(f"- **[{title}](#{anchor(title)})**: {'; '.join(links)}")
    return "\n" + "\n".join(lines) + "\n\n"


def main() -> None:
    """Replaces the index by what the headings are now."""
    text = FILE.read_text(encoding="utf-8")
    FILE.write_text(INDEX.sub(lambda _: index_of(text), text), encoding="utf-8")


if __name__ == "__main__":
    main()
