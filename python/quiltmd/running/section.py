# SPDX-License-Identifier: Apache-2.0
"""Common base of all sections of a configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import is_dataclass
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
        refuse_truth_values(value, found)
        return found


def refuse_truth_values(given: Any, found: Any, name: str = "") -> None:
    """ValueError where a truth value has become a number, in sections within this one, too."""
    if isinstance(given, bool) and isinstance(found, int | float) and found is not given:
        raise ValueError(f"{name}must be a number")
    if isinstance(given, Mapping) and is_dataclass(found):
        for key, value in given.items():
            refuse_truth_values(value, getattr(found, key), f"{key}: ")
    elif isinstance(given, list | tuple) and isinstance(found, tuple):
        for value, one in zip(given, found, strict=False):
            refuse_truth_values(value, one, name)


def absolute(path: str | Path) -> Path:
    """The same path from the root, links as they are; ValueError for what names no file."""
    if "\0" in str(path):
        raise ValueError("a path has no zero bytes")
    return Path(os.path.abspath(path))


AbsolutePath = Annotated[Path, AfterValidator(absolute)]
