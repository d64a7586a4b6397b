# SPDX-License-Identifier: Apache-2.0
"""Pages of `quiltmd report` and of profiles: HTML with style and charts inside, nothing to fetch.

Colours are two of Okabe and Ito's, which people with any colour vision tell apart, and grey; no
fact is in a colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from .charts import COLOURS, STYLE, Chart

Row = Sequence[str]


class Html(str):
    """A cell that is HTML already; all other texts are escaped."""


_STYLE = f":root {{ {'; '.join(f'--{name}: {value}' for name, value in COLOURS.items())}; }}"
_STYLE += """
@media (prefers-color-scheme: dark) { :root { --ink: #eee; --soft: #b5b5b5; --paper: #16181b;
  --grid: #34383d; --line: #56b4e9; --level: #e69f00; --range: #56b4e945; --rest: #555; } }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 0 auto; padding: 1.5rem; max-width: 1240px; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
p { margin: .3rem 0; } .soft { color: var(--soft); }
.charts { display: grid; gap: 1.2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(380px, 100%), 1fr)); }
figure { margin: 0; } figcaption { font-weight: 600; }
figcaption span { font-weight: 400; color: var(--soft); }
svg { width: 100%; height: auto; display: block; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: .22rem .9rem .22rem 0; vertical-align: top;
  border-bottom: 1px solid var(--grid); }
td:last-child { overflow-wrap: anywhere; }
th { font-weight: 600; vertical-align: bottom; }
td.number, th.number { text-align: right; } td.number { white-space: nowrap; }
@media (max-width: 44rem) { body { padding: .8rem; } .rows, .rows tbody, .rows tr, .rows td {
  display: block; } .rows thead { display: none; } .rows tr { padding: .5rem 0;
  border-bottom: 1px solid var(--grid); } .rows td, .rows td.number { border: 0; padding: .05rem 0;
  text-align: left; white-space: normal; overflow-wrap: anywhere; }
  .rows td:not(:empty)::before { content: attr(data-label) ": "; color: var(--soft); } }
.bar { display: flex; width: 260px; height: .9rem; border: 1px solid var(--soft); }
.bar i { background: var(--line); } .bar b { flex: 1; background: repeating-linear-gradient(
  45deg, var(--rest) 0 4px, var(--paper) 4px 8px); }
"""
_STYLE += STYLE


def page(title: str, summary: Iterable[str], sections: Iterable[tuple[str, str]]) -> str:
    """A page of sections, each a heading and its HTML."""
    lines = "".join(f'<p class="soft">{escape(line)}</p>' for line in summary)
    body = "".join(f"<section><h2>{escape(name)}</h2>{html}</section>" for name, html in sections)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{escape(title)}</h1>{lines}{body}</body></html>\n"
    )


def charts(shown: Iterable[Chart]) -> str:
    """Charts side by side, as many as there is room for."""
    figures = (
        f"<figure><figcaption>{escape(chart.title)} <span>{escape(chart.unit)}</span></figcaption>"
        f"{chart.svg()}</figure>"
        for chart in shown
    )
    return f'<div class="charts">{"".join(figures)}</div>'


def table(headings: Row, rows: Iterable[Row], numbers: int | None = None) -> str:
    """A table; columns from number `numbers` on are numbers."""
    first = len(headings) if numbers is None else numbers

    def cells(tag: str, row: Row) -> str:
        names = [escape(heading, quote=True) for heading in headings]
        return "".join(
            f"<{tag}{' class=number' if place >= first else ''}"
            + (f' data-label="{names[place]}">' if tag == "td" else ">")
            + f"{text if isinstance(text, Html) else escape(text)}</{tag}>"
            for place, text in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<thead><tr>{cells('th', headings)}</tr></thead>"
    return f'<div class="wide"><table class="rows">{head}<tbody>{body}</tbody></table></div>'


def note(text: str) -> str:
    """A remark."""
    return f'<p class="soft">{escape(text)}</p>'


def bars(rows: Iterable[tuple[str, float]]) -> str:
    """Shares between 0 and 1 as bars with their names: the filled part works, the rest waits."""
    lines = (
        f'<tr><td>{escape(name)}</td><td><div class="bar"><i style="width:{share:.1%}"></i>'
        f"<b></b></div></td><td class=number>{share:.0%} working, {1 - share:.0%} waiting</td></tr>"
        for name, share in rows
    )
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'
