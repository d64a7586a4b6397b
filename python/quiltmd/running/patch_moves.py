# SPDX-License-Identifier: Apache-2.0
"""What load balancing did with patches, in words."""

from __future__ import annotations

from typing import Any


def patch_moves_in_words(about: dict[str, Any]) -> str:
    """The sentence on patches that went to other ranks, from `describe()`; empty: none did."""
    moves = int(about.get("patch_moves", 0))
    if not moves:
        return ""
    before, computes, after = (
        1e3 * about[f"step_{name}"] for name in ("before_move", "by_computes", "by_patches")
    )
    return (
        f"load balancing gave patches to other ranks {moves} time(s), last at step "
        f"{about['patches_moved_at']:.0f}: the busiest rank, which worked {before:.3g} ms a step, "
        f"was predicted to work {after:.3g} ms ({computes:.3g} ms if only computes had moved); the "
        f"move took as long as {about['steps_of_move']:.2g} of these steps"
    )
