# SPDX-License-Identifier: Apache-2.0
"""The version of the installed package."""

from importlib.metadata import PackageNotFoundError, version


def package_version() -> str:
    """The installed version of quiltmd."""
    try:
        return version("quiltmd")
    except PackageNotFoundError:
        return "unknown"


__version__ = package_version()
