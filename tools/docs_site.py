# SPDX-License-Identifier: Apache-2.0
"""Hooks of mkdocs for the documentation site (mkdocs.yml).

The pages stay readable where they are, in the repository; this makes a site of them:

- files outside of `docs` that a page links to become pages of the site, code as code;
- links to them lead there, so that mkdocs checks every one;
- API pages have the names of whole folders (`api_names.py`);
- equations in TeX become MathML, which browsers show without a script from elsewhere.  A mistake
  in one ends the build;
- the index of the search is a script, too, as browsers read no JSON where pages are opened from a
  folder (`docs/pictures/search.js`).
"""

from __future__ import annotations

import html
import posixpath
import re
import sys
from functools import cache
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs loads hooks by their files
from api_names import with_names

ROOT = Path(__file__).resolve().parents[1]
# Pages with a place of their own in the navigation; all other files outside of `docs` are below
# `source`.
PAGES = {
    "ARCHITECTURE.md": "developer/architecture.md",
    "CONTRIBUTING.md": "developer/contributing.md",
    "src/README.md": "developer/source.md",
    "python/README.md": "developer/python.md",
    "CHANGELOG.md": "developer/changelog.md",
    "SECURITY.md": "developer/security.md",
    "README.md": "developer/readme.md",
    "examples": "tutorials/examples.md",
    "benchmarks/notes": "developer/measurements.md",
}
LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".h": "cpp", ".cpp": "cpp"}
LINK = re.compile(r"\]\((?!\w+:)([^)\s#]+)(#[^)\s]*)?\)")
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# What pages of notebooks would load from other servers: renderers of widgets and diagrams.
FOREIGN = re.compile(
    r"<script(?:(?!</script>).)*?(?:unpkg\.com|cdnjs\.)(?:(?!</script>).)*</script>", re.DOTALL
)
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def place(path: str) -> str:
    """Where the site has the page of a file of the repository."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if (ROOT / path).is_dir():
        return f"source/{path}/README.md"
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.md"


def text_of(path: str) -> str:
    """The Markdown of a file or a folder of the repository."""
    found = ROOT / path
    if found.is_dir():
        files = sorted(p for p in found.iterdir() if p.is_file() and p.name[0] not in "._")
        return "\n".join([f"# {path}", "", *(f"- [{title(p)}]({path}/{p.name})" for p in files)])
    text = found.read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    language = LANGUAGES.get(found.suffix, "text")
    return f"# {found.name}\n\n`{path}`\n\n````{language}\n{text}\n````\n"


def title(file: Path) -> str:
    """What a list of files calls a file: its heading, or its name."""
    heading = re.match("# (.*)", file.read_text(encoding="utf-8")) if file.suffix == ".md" else None
    return heading[1] if heading else file.name


def target(origin: str, link: str) -> str | None:
    """The path, from the root of the repository, of the file or folder that a link leads to."""
    folder = "" if (ROOT / origin).is_dir() else posixpath.dirname(origin)
    path = posixpath.normpath(posixpath.join(folder, link))
    return path if not path.startswith("..") and (ROOT / path).exists() else None


@cache
def origins() -> dict[str, str]:
    """Of each page of the site the file or folder of the repository; followed link by link."""
    todo = [p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md")]
    todo += PAGES
    found: dict[str, str] = {}
    while todo:
        path = todo.pop()
        if place(path) in found:
            continue
        found[place(path)] = path
        if path.endswith(".md") or (ROOT / path).is_dir():
            links = (match[1] for match in LINK.finditer(BLOCK.sub("", text_of(path))))
            targets = [target(path, link) for link in links]
            todo += [t for t in targets if t and not t.startswith("docs/")]
    return found


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the files outside of `docs`; those without a place in the navigation are not missed."""
    for uri, path in origins().items():
        if not path.startswith("docs/"):
            file = File.generated(config, uri, content=text_of(path))
            if uri.startswith("source/") or uri == PAGES["README.md"]:
                file.inclusion = file.inclusion.NOT_IN_NAV
            files.append(file)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links lead to the pages of the site; source code is not searched."""
    uri = page.file.src_uri
    if uri.startswith("source/"):
        page.meta["search"] = {"exclude": True}
    origin = origins().get(uri)
    if origin is None:
        return markdown
    markdown = with_names(markdown)

    def relink(match: re.Match[str]) -> str:
        path = target(origin, match[1])
        if path is None:
            return match[0]
        return f"]({posixpath.relpath(place(path), posixpath.dirname(uri))}{match[2] or ''})"

    return LINK.sub(relink, markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Equations as MathML; nothing from other servers."""

    def formula(match: re.Match[str]) -> str:
        block = match[1] == "div"
        return convert(html.unescape(match[2]), display="block" if block else "inline")

    return FORMULA.sub(formula, FOREIGN.sub("", content))


def on_post_build(config: MkDocsConfig) -> None:
    """The index of the search as a script, from which Material's search takes it in a folder."""
    folder = Path(config.site_dir, "search")
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index}", encoding="utf-8")
