# SPDX-License-Identifier: Apache-2.0
"""What all sections of a configuration have in common."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict


class Section(BaseModel):
    """A section: immutable; unknown keys and numbers that are none are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def absolute(path: str | Path) -> Path:
    """The same path from the root, links as they are."""
    return Path(os.path.abspath(path))


AbsolutePath = Annotated[Path, AfterValidator(absolute)]
