# SPDX-License-Identifier: Apache-2.0
"""What all sections of a configuration have in common."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    ValidatorFunctionWrapHandler,
    field_validator,
)


class Section(BaseModel):
    """A section: immutable; unknown keys and numbers that are none are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="wrap")
    @classmethod
    def _no_truth_for_a_number(cls, value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        found = validate(value)
        if isinstance(value, bool) and isinstance(found, int | float) and found is not value:
            raise ValueError("must be a number")
        return found


def absolute(path: str | Path) -> Path:
    """The same path from the root, links as they are."""
    return Path(os.path.abspath(path))


AbsolutePath = Annotated[Path, AfterValidator(absolute)]
