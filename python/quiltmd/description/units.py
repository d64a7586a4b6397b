# SPDX-License-Identifier: Apache-2.0
"""Units of settings: "4 fs", "300 K", and quantities of OpenMM and pint, as plain numbers.

A setting has one unit; `Unit` beside its type lets it take a value in any other unit of the same
dimension.  Strings are converted exactly and rounded once, so "4 fs" is 0.004 ps to the last bit.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

_Dimension = Mapping[str, int]  # exponents of base units


def _exactly(text: str) -> Fraction:
    return Fraction(text)


# Names, each with its size in base units.  Those that may have a prefix come first.
_WITH_PREFIX: dict[str, tuple[Fraction, _Dimension]] = {
    **dict.fromkeys(("s", "second"), (Fraction(1), {"s": 1})),
    **dict.fromkeys(("m", "meter", "metre"), (Fraction(1), {"m": 1})),
    **dict.fromkeys(("J", "joule"), (Fraction(1), {"kg": 1, "m": 2, "s": -2})),
    **dict.fromkeys(("cal", "calorie"), (_exactly("4.184"), {"kg": 1, "m": 2, "s": -2})),
    **dict.fromkeys(
        ("eV", "electronvolt"), (_exactly("1.602176634e-19"), {"kg": 1, "m": 2, "s": -2})
    ),
    **dict.fromkeys(("V", "volt"), (Fraction(1), {"kg": 1, "m": 2, "s": -3, "A": -1})),
    **dict.fromkeys(("Pa", "pascal"), (Fraction(1), {"kg": 1, "m": -1, "s": -2})),
    **dict.fromkeys(("N", "newton"), (Fraction(1), {"kg": 1, "m": 1, "s": -2})),
    **dict.fromkeys(("bar",), (Fraction(10**5), {"kg": 1, "m": -1, "s": -2})),
    **dict.fromkeys(("mol", "mole"), (Fraction(1), {"mol": 1})),
    **dict.fromkeys(("M", "molar"), (Fraction(1000), {"mol": 1, "m": -3})),
    **dict.fromkeys(("l", "L", "liter", "litre"), (Fraction(1, 1000), {"m": 3})),
    **dict.fromkeys(("K", "kelvin"), (Fraction(1), {"K": 1})),
}
_DEGREE = Fraction(math.pi) / 180
_WITHOUT: dict[str, tuple[Fraction, _Dimension]] = {
    **dict.fromkeys(("min", "minute"), (Fraction(60), {"s": 1})),
    **dict.fromkeys(("h", "hour"), (Fraction(3600), {"s": 1})),
    **dict.fromkeys(("d", "day"), (Fraction(86400), {"s": 1})),
    **dict.fromkeys(("A", "\u00c5", "angstrom"), (_exactly("1e-10"), {"m": 1})),
    **dict.fromkeys(("atm", "atmosphere"), (Fraction(101325), {"kg": 1, "m": -1, "s": -2})),
    **dict.fromkeys(("amu", "Da", "dalton"), (Fraction(1), {"amu": 1})),
    "e": (_exactly("1.602176634e-19"), {"A": 1, "s": 1}),
    **dict.fromkeys(("rad", "radian"), (Fraction(1), {"rad": 1})),
    **dict.fromkeys(("deg", "degree", "\u00b0"), (_DEGREE, {"rad": 1})),
}
_PREFIXES = {
    **{"f": -15, "p": -12, "n": -9, "u": -6, "\u00b5": -6, "\u03bc": -6, "m": -3, "c": -2},
    **{"d": -1, "k": 3, "M": 6, "G": 9, "femto": -15, "pico": -12, "nano": -9, "micro": -6},
    **{"milli": -3, "centi": -2, "deci": -1, "kilo": 3, "mega": 6, "giga": 9},
}
# Common names of the units of settings in OpenMM and pint.
_FOREIGN = {
    **{"s": "second", "ps": "picosecond", "ns": "nanosecond", "min": "minute", "h": "hour"},
    **{"nm": "nanometer", "amu": "amu", "e": "elementary_charge"},
    **{"K": "kelvin", "bar": "bar", "kJ": "kilojoule", "mol": "mole", "l": "liter", "V": "volt"},
    **{"degree": "degree", "rad": "radian"},
}
_LONGEST = 80  # characters of a value
_VALUE = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(.*?)\s*")
_DIVISOR = re.compile(r"/\s*\(([^()]*)\)")
_TIMES = re.compile(r"\s*(?<!\*)\*(?!\*)\s*|[\s\u00b7]+")
_FACTOR = re.compile(
    r"\s*(/|\*|\u00b7|per\b)?\s*(1(?=\s*/)|[^\W\d_]+|\u00b0)(?:\s*(?:\^|\*\*)?\s*([+-]?\d{1,2}))?"
)


@dataclass(frozen=True)
class Unit:
    """The unit of a setting, such as "ps" or "kJ/mol/nm^2"; beside a type, it converts values.

    Sources: sizes are exact by the definition of the SI, but for the degree; `cal` is the
    thermochemical calorie, 4.184 J.
    """

    name: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Converts a value before it is checked."""
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def read(self, value: Any) -> Any:
        """A value, or several, in this unit: strings and quantities are converted, others stay.

        Raises
        ------
        ValueError
            If it has a unit that does not convert to this one, or is no number.
        """
        if isinstance(value, str):
            return self._of_text(value)
        if isinstance(value, list | tuple):
            return [self.read(one) for one in value]
        if hasattr(value, "value_in_unit"):
            return self._of_openmm(value)
        if hasattr(value, "magnitude") and hasattr(value, "to"):
            return self._of_pint(value)
        return value

    def _of_text(self, text: str) -> float:
        found = _VALUE.fullmatch(text)
        if found is None or len(text) > _LONGEST:
            raise ValueError(f"must be {self.wanted}")
        number = Fraction(found[1])
        if found[2]:
            size, dimension = _size(found[2], self)
            own, wanted = _size(self.name, self)
            if dimension != wanted:
                raise self._other_dimension(found[2])
            number *= size / own
        try:
            return float(number)
        except OverflowError:
            raise ValueError(f"is too large for a number, in {self.name}") from None

    def _of_openmm(self, quantity: Any) -> Any:
        from openmm import unit

        own = self._made(lambda name: getattr(unit, name), unit.dimensionless)
        if not quantity.unit.is_compatible(own):
            raise self._other_dimension(str(quantity.unit))
        return quantity.value_in_unit(own)

    def _of_pint(self, quantity: Any) -> Any:
        # pint has no exception of its own that a program without pint could name.
        registry = quantity._REGISTRY
        own = self._made(lambda name: getattr(registry, name), registry.dimensionless)
        if not quantity.is_compatible_with(own):
            raise self._other_dimension(str(quantity.units))
        return quantity.to(own).magnitude

    def _made(self, unit: Callable[[str], Any], one: Any) -> Any:
        """The same unit, from those of another program by their names."""
        for name, exponent in _factors(self.name, self):
            one = one * unit(_FOREIGN[name]) ** exponent
        return one

    def _other_dimension(self, found: str) -> ValueError:
        return ValueError(
            f"must be in {self.name}, such as {self.example}: '{found}' does not convert to it"
        )

    @property
    def example(self) -> str:
        """A value in this unit: '1 ps', '1/ps'."""
        return f"'{self.name}'" if self.name.startswith("1/") else f"'1 {self.name}'"

    @property
    def wanted(self) -> str:
        """What a value may be, in the words of an error."""
        return f"a number, in {self.name}, or a value with a unit, such as {self.example}"


OF_BOX = (*[Unit("nm")] * 3, *[Unit("degree")] * 3)  # three lengths, three angles


def read_box(value: Any) -> Any:
    """Lengths and angles of a box, which may have units, in nm and degrees.

    Raises ValueError as `Unit.read`.
    """
    if not isinstance(value, list | tuple):
        return Unit("nm").read(value)
    return [unit.read(one) for unit, one in zip(OF_BOX, value, strict=False)] + list(value[6:])


Picoseconds = Annotated[float, Unit("ps")]
Nanometres = Annotated[float, Unit("nm")]
Kelvins = Annotated[float, Unit("K")]
PerPicosecond = Annotated[float, Unit("1/ps")]
PerNanometre = Annotated[float, Unit("1/nm")]
Bars = Annotated[float, Unit("bar")]
Degrees = Annotated[float, Unit("degree")]
Seconds = Annotated[float, Unit("s")]


@functools.lru_cache(maxsize=256)
def _size(text: str, wanted: Unit) -> tuple[Fraction, dict[str, int]]:
    """Size of a unit in base units, and its dimension."""
    size, dimension = Fraction(1), dict[str, int]()
    for name, exponent in _factors(text, wanted):
        factor, of = _named(name, wanted)
        size *= factor**exponent
        for base, power in of.items():
            dimension[base] = dimension.get(base, 0) + power * exponent
    return size, {base: power for base, power in dimension.items() if power}


def _factors(text: str, wanted: Unit) -> list[tuple[str, int]]:
    """The names in a unit and their exponents: "kJ/(mol nm^2)" -> kJ 1, mol -1, nm -2."""
    text = _DIVISOR.sub(lambda part: "/" + _TIMES.sub("/", part[1].strip()), text)
    found, at = [], 0
    while at < len(text):
        factor = _FACTOR.match(text, at)
        if factor is None:
            raise ValueError(
                f"'{text}' is not a unit; give it in {wanted.name}, such as {wanted.example}"
            )
        sign = -1 if factor[1] in ("/", "per") else 1
        if factor[2] != "1":
            found.append((factor[2], sign * int(factor[3] or 1)))
        at = factor.end()
    return found


def _named(name: str, wanted: Unit) -> tuple[Fraction, _Dimension]:
    """Size of a unit in base units, by its name, also plural or with a prefix."""
    for word in (name, name.removesuffix("s")):
        if (known := (_WITHOUT | _WITH_PREFIX).get(word)) is not None:
            return known
        for prefix, power in _PREFIXES.items():
            rest = word.removeprefix(prefix)
            if rest != word and rest in _WITH_PREFIX and (len(prefix) == 1) == _is_short(rest):
                size, dimension = _WITH_PREFIX[rest]
                return size * Fraction(10) ** power, dimension
    raise ValueError(
        f"the unit '{name}' is not known; give it in {wanted.name}, such as {wanted.example}"
    )


def _is_short(name: str) -> bool:
    return len(name) <= 3
